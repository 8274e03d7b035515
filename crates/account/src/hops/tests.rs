use proptest::prelude::*;

use super::*;

fn stations() -> Vec<Station> {
    let of = |name: &str, arrives, loses: bool| {
        let device = name.rsplit(' ').next().unwrap().to_owned();
        Station {
            name: name.to_owned(),
            arrives,
            cause: loses.then(|| FateCause::Dropped {
                device: Some(device.clone()),
                function: Some("nft_do_chain".to_owned()),
                reason: Some("NETFILTER_DROP".to_owned()),
            }),
            device,
            ..Station::default()
        }
    };
    vec![
        of("received at d0", false, false),
        of("sent at d1", false, false),
        of("arrived at b", true, false),
        of("thrown away at d2", false, true),
    ]
}

fn seen(frame: u64, sent_ns: u64, times: &[(usize, u64)]) -> Vec<Seen> {
    let at = |(station, after): &(usize, u64)| Seen {
        frame,
        sent_ns: sent_ns & WRAP_MASK,
        at_ns: sent_ns + after,
        station: *station,
        cpu: 1,
        merged: 0,
    };
    times.iter().map(at).collect()
}

fn joined(all: &[Vec<Seen>]) -> HopReport {
    join(all.concat(), &stations(), "sent at a").unwrap()
}

#[test]
fn hops_are_the_times_between_stations() {
    let frames: Vec<Vec<Seen>> = (0..100)
        .map(|n| seen(n, 1000 * n, &[(0, 100), (1, 400), (2, 1000)]))
        .collect();
    let report = joined(&frames);
    let said: Vec<(&str, &str, u64)> = report
        .hops
        .iter()
        .map(|hop| (hop.from.as_str(), hop.to.as_str(), hop.time.mean_ns))
        .collect();
    assert_eq!(
        said,
        [
            ("sent at a", "received at d0", 100),
            ("received at d0", "sent at d1", 300),
            ("sent at d1", "arrived at b", 600),
        ]
    );
    assert_eq!((report.frames, report.summed), (100, 100));
    assert_eq!(report.end_to_end.mean_ns, 1000);
    assert_eq!(report.hops[0].cpus, [1]);
}

#[test]
fn frames_that_were_not_seen_everywhere_enter_no_figure() {
    let whole = [(0, 100), (1, 400), (2, 1000)];
    let frames = [
        seen(0, 0, &whole),
        seen(1, 0, &whole),
        // Lost, or too slow.
        seen(2, 0, &[(0, 100), (3, 200)]),
        seen(3, 0, &[(0, 100)]),
        // It went around a station.
        seen(4, 0, &[(0, 100), (2, 9_000_000)]),
        // A copy was thrown away, and what comes after its arrival is the tester's.
        seen(5, 0, &[(0, 100), (3, 150), (1, 400), (2, 1000), (2, 5000)]),
    ];
    let report = joined(&frames);
    assert_eq!((report.frames, report.cut, report.other_ways), (3, 2, 1));
    assert_eq!(report.end_to_end.max_ns, 1000);
    let counts: Vec<(&str, [u64; 4])> = report
        .stations
        .iter()
        .map(|of| {
            (
                of.device.as_str(),
                [of.frames, of.passed, of.dropped, of.left],
            )
        })
        .collect();
    // Every frame that was seen somewhere went on, was thrown away or was not seen again.
    let expected = [
        ("d0", [6, 5, 0, 1]),
        ("d2", [2, 1, 1, 0]),
        ("d1", [3, 3, 0, 0]),
        ("b", [4, 4, 0, 0]),
    ];
    assert_eq!(counts, expected);
    assert_eq!(report.stations[0].cpus, [1]);
    assert_eq!(joined(&[]), HopReport::default());
}

#[test]
fn a_clock_that_wraps_or_goes_back_is_noticed() {
    let late = (1 << 48) - 50;
    let report = joined(&[seen(0, late, &[(0, 100), (1, 400), (2, 1000)])]);
    assert_eq!((report.summed, report.end_to_end.mean_ns), (1, 1000));
    // Two CPUs whose clocks differ: by its times the frame came before it was sent.
    let mut back = seen(0, 5000, &[(0, 100), (1, 400), (2, 1000)]);
    back[0].at_ns = 4000;
    let report = joined(&[back]);
    assert_eq!((report.frames, report.summed), (1, 0));
}

/// Two testers at work at once number their frames alike.
#[test]
fn frames_of_another_tester_are_left_out() {
    let mut known = stations();
    let theirs = Station {
        netns: 9,
        ..known[0].clone()
    };
    known.push(theirs);
    let all = [
        seen(0, 0, &[(0, 100), (1, 400), (2, 1000)]),
        seen(0, 77, &[(4, 100)]),
        seen(5, 88, &[(4, 100)]),
        seen(6, 99, &[(0, 100)]),
    ];
    let report = join(all.concat(), &known, "sent at a").unwrap();
    assert_eq!((report.frames, report.cut, report.other_ways), (1, 1, 0));
    assert_eq!(report.stations[0].frames, 2);
    assert_eq!(report.stations.len(), 3);
    // Where none arrives there is no telling.
    let report = join(all[1..].concat(), &known, "sent at a").unwrap();
    assert_eq!((report.cut, report.stations.len()), (3, 2));
}

#[test]
fn merged_frames_are_counted_and_tell_no_times() {
    let alone = seen(1, 0, &[(0, 100), (1, 300), (2, 600)]);
    let mut first = seen(2, 10, &[(0, 100), (1, 300), (2, 600)]);
    first[0].merged = 40;
    first[1].merged = 40;
    // One of those inside is seen again where they are split.
    let inside = seen(3, 20, &[(1, 290), (2, 590)]);
    let report = joined(&[alone, first, inside]);
    assert_eq!((report.merged, report.frames), (40, 1));
    assert_eq!((report.other_ways, report.cut), (1, 0));
}

proptest! {
    #[test]
    fn means_add_up_whatever_the_times(
        all in proptest::collection::vec((0_u64..1 << 48, 0_u64..100_000, 0_u64..100_000, 1_u64..100_000), 1..50)
    ) {
        let frames: Vec<Vec<Seen>> = all
            .iter()
            .enumerate()
            .map(|(n, (sent, a, b, c))| seen(n as u64, *sent, &[(0, *a), (1, a + b + 1), (2, a + b + c + 1)]))
            .collect();
        let report = joined(&frames);
        prop_assert_eq!(report.summed, all.len() as u64);
        let sum: u64 = report.hops.iter().map(|hop| hop.time.mean_ns).sum();
        prop_assert!(sum.abs_diff(report.end_to_end.mean_ns) <= 3);
    }
}
