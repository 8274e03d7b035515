use nicety_model::fate::WayFate;
use nicety_model::hop::{Hop, HopReport, HopStation, HopTime};
use nicety_model::{
    BuiltPath, BuiltPlace, BuiltThread, Ends, FateCause, FateOf, FateReport, Passage, PlaceFrames,
};
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// The waterfall of a trial that has one.
fn only(cell: &CellResult, fate: &CellFate) -> Waterfall {
    let [one] = <[Waterfall; 1]>::try_from(of(cell, fate)).unwrap();
    one
}

/// A cell of a path in words: `vm,nic=e1000`.
fn cell(path: &str, direction: &str) -> CellResult {
    let mut parts = path.split(',');
    let mut words = serde_json::Map::new();
    words.insert("kind".to_owned(), json!(parts.next()));
    for (key, word) in parts.filter_map(|part| part.split_once('=')) {
        words.insert(key.to_owned(), json!(word));
    }
    let mut cell: CellResult = serde_json::from_value(json!({
        "schema": 1, "cell": format!("{path}/64/{direction}"), "repeat": 1, "path": words,
        "frame_size_bytes": 64, "direction": direction, "flows": 1, "engine": "af_packet",
        "loss_goal": 0.0001, "trials": 9, "search_s": 6.3, "verdict": "ok", "notes": [],
    }))
    .unwrap();
    if path == "bridge" {
        let place = |name: &str| BuiltPlace {
            name: name.to_owned(),
            queues: None,
        };
        cell.built = Some(BuiltPath {
            places: ["a", "d0", "br0", "d1", "b"].map(place).into(),
            threads: vec![BuiltThread {
                at: "d0".to_owned(),
                name: "napi/d0".to_owned(),
                cpus: vec![0],
            }],
            tester_cpus: vec![1],
            ..BuiltPath::default()
        });
    }
    cell
}

fn dropped(device: &str, reason: &str, frames: u64) -> LossEntry {
    let cause = FateCause::Dropped {
        device: Some(device.to_owned()),
        function: Some("f".to_owned()),
        reason: Some(reason.to_owned()),
    };
    LossEntry::found(cause, frames)
}

fn fate(sent: u64, ledger: Vec<LossEntry>) -> CellFate {
    CellFate {
        of: FateOf::Overload,
        load_fps: 1e6,
        duration_s: 1.0,
        sent,
        lost: sum(&ledger),
        ledger,
        passage: None,
        report: FateReport::default(),
    }
}

/// What the counters of the bridge's two interfaces saw.
fn counted(fate: &mut CellFate, [d0, d1]: [u64; 2], directions: usize) {
    let place = |place: &str, received, sent| PlaceFrames {
        place: place.to_owned(),
        received,
        sent,
    };
    let ends = Ends {
        sent: fate.sent,
        received: fate.sent - fate.lost,
    };
    fate.passage = Some(Passage {
        ends: vec![ends; directions],
        places: vec![place("d0", d0, 0), place("d1", 0, d1)],
        ..Passage::default()
    });
}

fn hops(ways: &[(&str, &str)]) -> HopReport {
    let time = HopTime {
        mean_ns: 100,
        p50_ns: 100,
        p99_ns: 200,
        p999_ns: 300,
        max_ns: 400,
    };
    HopReport {
        frames: 1000,
        summed: 1000,
        end_to_end: time,
        hops: ways
            .iter()
            .map(|(from, to)| Hop {
                from: (*from).to_owned(),
                to: (*to).to_owned(),
                cpus: vec![3],
                time,
                error_ns: None,
            })
            .collect(),
        ..HopReport::default()
    }
}

const WAY: [(&str, &str); 3] = [
    ("sent at a", "received at d0"),
    ("received at d0", "sent at d1"),
    ("sent at d1", "arrived at b"),
];

type Told<'w> = (&'w str, Option<u64>, Option<u64>, u64);

fn told(waterfall: &Waterfall) -> Vec<Told<'_>> {
    let rows = waterfall.stations.iter();
    rows.map(|row| {
        (
            row.station.as_str(),
            row.frames_in,
            row.frames_out,
            row.lost,
        )
    })
    .collect()
}

#[test]
fn lost_frames_fall_out_at_their_station() {
    let ledger = vec![
        dropped("d0", "NETFILTER_DROP", 20),
        dropped("d1", "QDISC_DROP", 30),
    ];
    let mut fate = fate(1000, ledger);
    counted(&mut fate, [1000, 950], 1);
    fate.report.hops = Some(hops(&WAY));
    let waterfall = only(&cell("bridge", "uni"), &fate);
    let expected = [
        ("a", Some(1000), Some(1000), 0),
        ("d0", Some(1000), Some(980), 20),
        ("br0", Some(980), Some(980), 0),
        ("d1", Some(980), Some(950), 30),
        ("b", Some(950), Some(950), 0),
    ];
    assert_eq!(told(&waterfall), expected);
    assert_eq!((waterfall.off, waterfall.received), (0, 950));
    assert!(waterfall.stations.iter().all(|row| row.off.is_none()));
    let no_time: Vec<_> = waterfall.stations.iter().map(|row| row.no_time).collect();
    assert_eq!(
        no_time,
        [None, None, Some(Unknown::InNextStation), None, None]
    );
    let times: Vec<usize> = waterfall
        .stations
        .iter()
        .map(|row| row.hops.len())
        .collect();
    assert_eq!(times, [0, 1, 0, 1, 1]);
    let cpus: Vec<_> = waterfall
        .stations
        .iter()
        .map(|row| (row.cpus.clone(), row.cpus_seen))
        .collect();
    assert_eq!(cpus[..2], [(vec![1], false), (vec![3], true)]);
    assert_eq!(
        (waterfall.sampled, waterfall.unknown.len()),
        (Some(1000), 0)
    );
}

#[test]
fn without_hops_and_loss_the_frames_are_there_and_the_times_say_why_not() {
    let waterfall = only(&cell("bridge", "uni"), &fate(10, Vec::new()));
    assert!(
        told(&waterfall)
            .iter()
            .all(|of| (of.1, of.2, of.3) == (Some(10), Some(10), 0))
    );
    assert_eq!(waterfall.unknown, [Unknown::HopsNotTaken]);
    assert_eq!((waterfall.sampled, waterfall.end_to_end), (None, None));
    // CPUs are those that threads may use.
    let d0 = &waterfall.stations[1];
    assert_eq!(
        (d0.cpus.as_slice(), d0.cpus_seen, d0.no_time),
        (&[0][..], false, None)
    );
    let mut none = fate(10, Vec::new());
    none.report.hops = Some(HopReport::default());
    let waterfall = only(&cell("bridge", "uni"), &none);
    assert_eq!(waterfall.unknown, [Unknown::NoSampledFrame]);
    assert_eq!(waterfall.stations[1].no_time, Some(Unknown::NotSeen));
}

#[test]
fn counters_that_do_not_fit_say_by_how_much_and_why() {
    let d1 = |counters, ledger: Vec<LossEntry>| {
        let mut fate = fate(1000, ledger);
        counted(&mut fate, counters, 1);
        let waterfall = only(&cell("bridge", "uni"), &fate);
        (
            waterfall.stations[3].off,
            waterfall.stations[4].off,
            waterfall.off,
        )
    };
    let off = |frames, why| Some(Off { frames, why });
    let queue = || dropped("d1", "QDISC_DROP", 100);
    // Before or behind the queue, and all between: it stands somewhere at the station.
    for counted in [1000, 950, 900] {
        assert_eq!(d1([1000, counted], vec![queue()]), (None, None, 0));
    }
    assert_eq!(
        d1([1000, 1003], vec![queue()]).0,
        off(3, OffWhy::OtherFrames)
    );
    let left = LossEntry::counted(UNEXPLAINED, 7);
    let expected = (off(-7, OffWhy::Elsewhere), off(-7, OffWhy::Elsewhere), 0);
    assert_eq!(d1([1000, 893], vec![queue(), left]), expected);
    // A counter that saw fewer frames than arrived does not count them.
    assert_eq!(d1([1000, 5], vec![queue()]), (None, None, 0));
    // Counted too few for what is lost at the last station alone.
    let socket = FateCause::TesterSocket {
        device: "b".to_owned(),
    };
    let lost = vec![LossEntry::found(socket, 100)];
    assert_eq!(d1([1000, 950], lost).0, off(-50, OffWhy::NotCounted));
}

#[test]
fn books_that_do_not_close_say_so() {
    let mut fate = fate(1000, vec![dropped("d0", "NETFILTER_DROP", 20)]);
    fate.lost = 25;
    let waterfall = only(&cell("bridge", "uni"), &fate);
    assert_eq!(waterfall.off, 5);
    let last = waterfall.stations.last().and_then(|row| row.off);
    let off = Off {
        frames: -5,
        why: OffWhy::Unexplained,
    };
    assert_eq!(last, Some(off));
}

#[test]
fn both_ways_and_counters_alone_leave_the_frames_open() {
    let mut both = fate(1000, vec![dropped("d0", "NETFILTER_DROP", 20)]);
    counted(&mut both, [980, 980], 2);
    let waterfall = only(&cell("bridge", "bi"), &both);
    assert_eq!(told(&waterfall)[1], ("d0", None, None, 20));
    assert_eq!(
        waterfall.unknown,
        [Unknown::HopsNotTaken, Unknown::BothWays]
    );
    let entry = LossEntry::counted("d0 rx_dropped", 20);
    let waterfall = only(&cell("bridge", "uni"), &fate(1000, vec![entry]));
    assert_eq!(told(&waterfall)[1], ("d0", None, None, 20));
    assert_eq!(
        waterfall.unknown,
        [Unknown::HopsNotTaken, Unknown::NotFollowed]
    );
}

/// Each way has its own stations in its own order, and its own books.
#[test]
fn a_trial_both_ways_has_two_waterfalls() {
    let mut both = fate(2000, vec![dropped("d0", "NETFILTER_DROP", 50)]);
    counted(&mut both, [1000, 970], 2);
    let mut way = |way, lost, hops| {
        both.report.ways.push(WayFate {
            way,
            sent: 1000,
            lost,
            ledger: vec![dropped("d0", "NETFILTER_DROP", lost)],
            hops: Some(hops),
        });
    };
    way(Way::AToB, 30, hops(&WAY));
    let back = [
        ("sent at b", "received at d1"),
        ("received at d1", "sent at d0"),
        ("sent at d0", "arrived at a"),
    ];
    way(Way::BToA, 20, hops(&back));
    let falls = of(&cell("bridge", "bi"), &both);
    let [there, back] = falls.as_slice() else {
        panic!("{falls:?}");
    };
    let row = |station, came: u64, lost: u64| (station, Some(came), Some(came - lost), lost);
    let rows = [
        row("a", 1000, 0),
        row("d0", 1000, 30),
        row("br0", 970, 0),
        row("d1", 970, 0),
        row("b", 970, 0),
    ];
    assert_eq!(told(there), rows);
    let rows = [
        row("b", 1000, 0),
        row("d1", 1000, 0),
        row("br0", 1000, 0),
        row("d0", 1000, 20),
        row("a", 980, 0),
    ];
    assert_eq!(told(back), rows);
    for fall in &falls {
        assert_eq!((fall.off, fall.unknown.len()), (0, 0), "{fall:?}");
        let timed: Vec<usize> = fall.stations.iter().map(|row| row.hops.len()).collect();
        assert_eq!(timed, [0, 1, 0, 1, 1]);
        assert_eq!(fall.stations[0].no_time, None);
    }
    assert_eq!((there.way, back.way), (Some(Way::AToB), Some(Way::BToA)));
}

/// Between two ports that were there before, interfaces are those at which frames were seen or lost.
#[test]
fn interfaces_of_a_foreign_path_are_found_on_the_way() {
    let cell = cell("ports,a=p0,b=p1", "uni");
    let mut seen = fate(100, vec![dropped("x1", "QDISC_DROP", 9)]);
    let station = |device: &str, frames| HopStation {
        device: device.to_owned(),
        frames,
        cpus: vec![2],
        ..HopStation::default()
    };
    let mut report = hops(&[
        ("sent at p0", "received at x0"),
        ("received at x0", "arrived at p1"),
    ]);
    report.stations = vec![station("x0", 50), station("x1", 4), station("p1", 46)];
    seen.report.hops = Some(report);
    let waterfall = only(&cell, &seen);
    let expected = [
        ("p0", Some(100), Some(100), 0),
        ("x0", Some(100), Some(100), 0),
        ("x1", Some(100), Some(91), 9),
        ("p1", Some(91), Some(91), 0),
    ];
    assert_eq!(told(&waterfall), expected);
    assert_eq!(waterfall.stations[2].no_time, Some(Unknown::NotSeen));
    assert_eq!(
        waterfall.stations[2].sampled.as_ref().map(|of| of.frames),
        Some(4)
    );
    // One alone can only be in between.
    let waterfall = only(&cell, &fate(100, vec![dropped("x0", "QDISC_DROP", 9)]));
    assert_eq!(told(&waterfall)[1], ("x0", Some(100), Some(91), 9));
    // Of two the order is not known.
    let two = vec![
        dropped("x0", "QDISC_DROP", 9),
        dropped("x1", "QDISC_DROP", 1),
    ];
    let waterfall = only(&cell, &fate(100, two));
    assert_eq!(sum(&waterfall.elsewhere), 10);
    let last = waterfall.stations.last().unwrap();
    assert_eq!((last.frames_in, last.frames_out), (Some(100), Some(90)));
    assert_eq!(last.off.unwrap().why, OffWhy::Elsewhere);
    // And none is a path as well.
    let waterfall = only(&cell, &fate(100, Vec::new()));
    assert_eq!(waterfall.stations.len(), 3);
}

#[test]
fn guests_are_stations_whose_kernel_is_their_own() {
    let mut guest = fate(
        100,
        vec![
            dropped("t0", "FULL_RING", 3),
            dropped("eth0", "QDISC_DROP", 1),
        ],
    );
    guest.report.hops = Some(hops(&[
        ("sent at a", "received at d0"),
        ("received at d0", "sent at t0"),
        ("sent at t0", "received at t1"),
        ("received at t1", "arrived at b"),
    ]));
    let waterfall = only(&cell("vm", "uni"), &guest);
    let names: Vec<&str> = waterfall
        .stations
        .iter()
        .map(|row| row.station.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "a",
            "d0",
            "br0",
            "t0",
            "guest eth0",
            "",
            "guest eth1",
            "t1",
            "br1",
            "d1",
            "b"
        ]
    );
    // An interface of the host is not the guest's of the same name.
    assert_eq!(sum(&waterfall.elsewhere), 1);
    assert_eq!(
        (waterfall.stations[3].lost, waterfall.stations[4].lost),
        (3, 0)
    );
    for n in 4..7 {
        assert_eq!(waterfall.stations[n].no_time, Some(Unknown::InGuest));
    }
    // A namespace is of this kernel.
    let waterfall = only(
        &cell("vm,guest=netns", "uni"),
        &fate(100, vec![dropped("g0", "TC_INGRESS", 2)]),
    );
    let row = waterfall
        .stations
        .iter()
        .find(|row| row.station == "guest g0")
        .unwrap();
    assert_eq!(row.lost, 2);
}

#[test]
fn guests_that_were_asked_tell_of_their_own_stations() {
    let mut guest = fate(
        100,
        vec![
            dropped("guest eth1", "QDISC_DROP", 7),
            dropped("t0", "FULL_RING", 3),
        ],
    );
    guest.report.hops = Some(hops(&[
        ("sent at a", "received at d0"),
        ("received at d0", "sent at t0"),
        ("sent at t0", "received at guest eth0"),
        ("received at guest eth0", "sent at guest eth1"),
        ("sent at guest eth1", "received at t1"),
        ("received at t1", "arrived at b"),
    ]));
    let waterfall = only(&cell("vm", "uni"), &guest);
    let rows = &waterfall.stations;
    let of = |name: &str| rows.iter().find(|row| row.station == name).unwrap();
    assert_eq!(of("guest eth1").lost, 7);
    assert_eq!(of("guest eth1").frames_in, Some(97));
    assert_eq!(of("t1").frames_in, Some(90));
    assert_eq!(
        (of("guest eth0").hops.len(), of("guest eth1").hops.len()),
        (1, 1)
    );
    assert_eq!(of("guest eth0").no_time, None);
    // Its bridge stands between them.
    assert_eq!(rows[5].no_time, Some(Unknown::InNextStation));
    assert!(waterfall.elsewhere.is_empty() && waterfall.off == 0);
}

proptest! {
    /// Whatever is lost where: stations follow from one another, and all together are what was sent.
    #[test]
    fn what_comes_goes_on_or_is_lost(
        sent in 1000_u64..1_000_000,
        lost in proptest::collection::vec(0_u64..100, 6),
        directions in 1_usize..3,
    ) {
        let [a, d0, d1, b, x, none] = lost.as_slice() else { panic!() };
        let refused = FateCause::Refused { device: "a".to_owned() };
        let ledger = vec![
            LossEntry::found(refused, *a),
            dropped("d0", "R", *d0),
            dropped("d1", "R", *d1),
            dropped("b", "R", *b),
            dropped("x", "R", *x),
            LossEntry::counted(UNEXPLAINED, *none),
        ];
        let mut fate = fate(sent, ledger);
        counted(&mut fate, [sent, sent], directions);
        let waterfall = only(&cell("bridge", "uni"), &fate);
        let rows = &waterfall.stations;
        let at_stations: u64 = rows.iter().map(|row| row.lost).sum();
        prop_assert_eq!(at_stations + sum(&waterfall.elsewhere) + waterfall.received, sent);
        prop_assert_eq!(waterfall.off, 0);
        if directions > 1 {
            prop_assert!(rows.iter().all(|row| row.frames_in.is_none()));
            return Ok(());
        }
        for row in rows {
            let off = row.off.filter(|off| off.why != OffWhy::OtherFrames).map_or(0, |off| -off.frames);
            let gone = row.frames_out.unwrap() + row.lost + off.cast_unsigned();
            prop_assert_eq!(row.frames_in.unwrap(), gone, "{}", row.station);
        }
        for pair in rows.windows(2) {
            prop_assert_eq!(pair[0].frames_out, pair[1].frames_in);
        }
    }
}
