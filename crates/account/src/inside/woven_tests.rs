use super::*;
use crate::hops::join;

/// The guest's clock at a moment of the host's.
fn guest_clock(at: u64) -> u64 {
    at - 40_000_000_000 + at / 20_000
}

fn station(does: &str, device: &str) -> Station {
    Station {
        name: format!("{does} at {device}"),
        device: device.to_owned(),
        arrives: does == "arrived",
        ..Station::default()
    }
}

fn stations() -> (Vec<Station>, Vec<Station>) {
    let host = vec![
        station("sent", "t0"),
        station("received", "t1"),
        station("arrived", "b"),
    ];
    let guest = vec![
        station("received", "guest eth0"),
        station("sent", "guest eth1"),
        Station {
            cause: Some(nicety_model::FateCause::Merged),
            ..station("thrown away", "guest eth1")
        },
    ];
    (host, guest)
}

const BEGIN: u64 = 70_000_000_000_000;

/// Frame `n`, and when it was at t0, in the guest, out of it, at t1 and at b.
fn frame(n: u64) -> (u64, [u64; 5]) {
    let sent = BEGIN + 250_000 * n;
    let wait = n * 7919 % 100 * 1_000;
    let t0 = sent + 5_000;
    let eth0 = t0 + 50_000 + wait;
    let eth1 = eth0 + 12_000;
    let t1 = eth1 + 30_000 + (n * 31 % 100) * 1_000;
    (sent, [t0, eth0, eth1, t1, t1 + 9_000])
}

fn at(n: u64, sent: u64, (station, at_ns): (usize, u64)) -> Seen {
    Seen {
        frame: n,
        sent_ns: sent & ((1 << 48) - 1),
        at_ns,
        station,
        cpu: 0,
        merged: 0,
    }
}

fn seen(frames: u64) -> (Vec<Seen>, Inside) {
    let mut host = Vec::new();
    let mut guest = Vec::new();
    for n in 0..frames {
        let (sent, [t0, eth0, eth1, t1, b]) = frame(n);
        let eths = [(0, eth0), (1, eth1)].map(|(place, when)| (place, guest_clock(when)));
        host.extend([(0, t0), (1, t1), (2, b)].map(|of| at(n, sent, of)));
        guest.extend(eths.map(|of| at(n, sent, of)));
    }
    // A frame that the host did not sample.
    guest.push(at(99_999, 5, (0, 77)));
    let inside = Inside {
        guest: "guest".to_owned(),
        seen: guest,
        stations: stations().1,
        exchanges: Default::default(),
    };
    (host, inside)
}

#[test]
fn hops_through_a_guest_add_up_to_the_whole() {
    let (host, inside) = seen(2_000);
    let woven = weave(host, stations().0, &inside, &|device| device == "t0");
    let report = join(woven.seen, &woven.stations, "sent at a").unwrap();
    let hops: Vec<(&str, u64, Option<u64>)> = report
        .hops
        .iter()
        .map(|hop| (hop.to.as_str(), hop.time.mean_ns, hop.error_ns))
        .collect();
    let clock = woven.clock.unwrap();
    // Half of the fastest ways in and out, and what the drift leaves open.
    assert!((40_000..60_000).contains(&clock.error_ns), "{clock:?}");
    assert!(clock.drift_ppb.abs_diff(50_000) < 3_000, "{clock:?}");
    let error = Some(clock.error_ns);
    let told: Vec<_> = hops.iter().map(|(to, _, error)| (*to, *error)).collect();
    assert_eq!(
        told,
        [
            ("sent at t0", None),
            ("received at guest eth0", error),
            ("sent at guest eth1", None),
            ("received at t1", error),
            ("arrived at b", None),
        ]
    );
    // The guest's own time needs no comparison.
    assert!(hops[2].1.abs_diff(12_000) < 10, "{hops:?}");
    // In and out each within the error, and together as they were.
    let (into, out) = (hops[1].1, hops[3].1);
    assert!(into.abs_diff(50_000 + 49_500) <= clock.error_ns, "{hops:?}");
    assert!((into + out).abs_diff(80_000 + 99_000) < 20, "{hops:?}");
    assert_eq!((report.frames, report.summed), (2_000, 2_000));
    let all: u64 = hops.iter().map(|(_, mean, _)| mean).sum();
    assert!(all.abs_diff(report.end_to_end.mean_ns) < 5);
}

/// With few frames the comparison may be off by more than a fast frame took.
#[test]
fn no_frame_comes_before_it_left() {
    let (host, mut inside) = seen(500);
    // The guest's clock runs unevenly, which a line does not follow.
    for of in &mut inside.seen {
        of.at_ns += of.frame % 250 * 700;
    }
    let woven = weave(host, stations().0, &inside, &|device| device == "t0");
    let report = join(woven.seen, &woven.stations, "sent at a").unwrap();
    assert_eq!((report.frames, report.summed), (500, 500));
}

#[test]
fn what_is_lost_in_a_guest_was_there() {
    let (mut host, mut inside) = seen(400);
    // Frame 7 was thrown away where it left the guest.
    host.retain(|of| of.frame != 7 || of.station == 0);
    for of in inside
        .seen
        .iter_mut()
        .filter(|of| of.frame == 7 && of.station == 1)
    {
        of.station = 2;
    }
    let woven = weave(host, stations().0, &inside, &|device| device == "t0");
    let report = join(woven.seen, &woven.stations, "sent at a").unwrap();
    assert_eq!((report.frames, report.cut), (399, 1));
    let counts: Vec<_> = report
        .stations
        .iter()
        .map(|of| (of.device.as_str(), of.passed, of.dropped))
        .collect();
    assert_eq!(counts[2], ("guest eth1", 399, 1), "{counts:?}");
}

#[test]
fn without_frames_in_common_the_host_stands_alone() {
    let ((host, _), (_, inside)) = (seen(3), seen(0));
    let woven = weave(host.clone(), stations().0, &inside, &|_| true);
    assert_eq!((woven.seen, woven.clock), (host, None));
    assert_eq!(woven.stations, stations().0);
}

/// A guest may say anything.
#[test]
fn senseless_times_do_no_harm() {
    let (host, mut inside) = seen(50);
    for (n, of) in inside.seen.iter_mut().enumerate() {
        of.at_ns = [0, u64::MAX, 1 << 63, 5][n % 4];
        of.station = n * 1_000;
    }
    let woven = weave(host, stations().0, &inside, &|device| device == "t0");
    assert!(join(woven.seen, &woven.stations, "sent at a").is_ok());
}
