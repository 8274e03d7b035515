use nicety_model::{PacingReport, StreamCounts};
use nicety_netdev::link::LinkCounters;
use nicety_paths::counters::InterfaceCounters;
use nicety_port::{SenderReport, XdpCounts};

use super::*;

/// A bridge path whose counters all stood at 1000 before.
fn path(moved: &[(&str, u64, u64)]) -> PathCounters {
    let place = |interface: &str, role| {
        let moved = moved.iter().find(|(name, ..)| *name == interface);
        let (tx, rx) = moved.map_or((0, 0), |(_, tx, rx)| (*tx, *rx));
        InterfaceCounters {
            interface: interface.to_owned(),
            role,
            counters: LinkCounters {
                tx_dropped: 1000 + tx,
                rx_dropped: 1000 + rx,
                ..LinkCounters::default()
            },
            qdiscs: Vec::new(),
        }
    };
    PathCounters::from(vec![
        place("a", Role::Port),
        place("d0", Role::Inner),
        place("br0", Role::Bridge),
        place("d1", Role::Inner),
        place("b", Role::Port),
    ])
}

/// A trial with `refused`, `received` and `foreign` frames per stream.
fn report(streams: &[(u64, u64, u64)]) -> EngineReport {
    let sender = |(stream, (refused, ..)): (u8, &(u64, u64, u64))| SenderReport {
        stream,
        intended: 0,
        sent: 0,
        refused_by_path: *refused,
        pacing: PacingReport::default(),
    };
    let counts = |(_, received, foreign): &(u64, u64, u64)| {
        let mut counts = StreamCounts::default();
        (counts.frames.received, counts.frames.foreign) = (*received, *foreign);
        counts
    };
    EngineReport {
        senders: (0..).zip(streams).map(sender).collect(),
        streams: streams.iter().map(counts).collect(),
        latency: None,
        histogram: Default::default(),
        clock_stepped: false,
        tester_drops: 0,
        xdp: XdpCounts {
            refused_twice: true,
            assumed_dropped: vec![true; streams.len()],
        },
        interrupted: false,
        start_spread_s: 0.0,
        workers: Vec::new(),
    }
}

fn lines(lost: u64, moved: &[(&str, u64, u64)], streams: &[(u64, u64, u64)]) -> Vec<String> {
    lines_of(lost, moved, &report(streams))
}

fn lines_of(lost: u64, moved: &[(&str, u64, u64)], report: &EngineReport) -> Vec<String> {
    let before = path(&[]);
    let after = without_xdp(&before, path(moved), report);
    let lines = complete(lost, &before, &after, Vec::new());
    let line = |entry: LossEntry| format!("{} {}", entry.place, entry.frames);
    lines.into_iter().map(line).collect()
}

#[test]
fn a_frame_refused_by_a_veth_is_lost_once() {
    let both = [("a", 7, 0), ("d0", 0, 7)];
    assert_eq!(lines(7, &both, &[(7, 50, 0)]), ["a tx_dropped 7"]);
    // What the far end dropped by itself stays.
    let more = [("a", 7, 0), ("d0", 0, 9)];
    let named = ["a tx_dropped 7", "d0 rx_dropped 2"];
    assert_eq!(lines(9, &more, &[(7, 50, 0)]), named);
    // The other way, the port at the other end.
    let back = [("b", 5, 0), ("d1", 0, 5)];
    let streams = [(0, 50, 0), (5, 50, 0)];
    assert_eq!(lines(5, &back, &streams), ["b tx_dropped 5"]);
}

#[test]
fn what_the_program_dropped_is_not_lost() {
    let none: [&str; 0] = [];
    assert_eq!(lines(0, &[("b", 0, 50)], &[(0, 50, 0)]), none);
    // Foreign frames passed on, or were ours and dropped.
    assert_eq!(lines(0, &[("b", 0, 53)], &[(0, 50, 3)]), none);
    assert_eq!(lines(0, &[("b", 0, 50)], &[(0, 50, 3)]), none);
    assert_eq!(lines(4, &[("b", 0, 57)], &[(0, 50, 3)]), ["b rx_dropped 4"]);
    // A driver that does not count them.
    assert_eq!(lines(4, &[("b", 0, 4)], &[(0, 50, 0)]), ["b rx_dropped 4"]);
    let back = [("a", 0, 60)];
    assert_eq!(lines(0, &back, &[(0, 50, 0), (0, 60, 0)]), none);
}

#[test]
fn what_is_not_counted_that_way_stays() {
    let mut plain = report(&[(7, 50, 0)]);
    plain.xdp = XdpCounts::default();
    // Ordinary frames: the far end's drops are its own, and there may be as many by chance.
    let moved = [("a", 7, 0), ("d0", 0, 7), ("b", 0, 60)];
    let all = ["a tx_dropped 7", "d0 rx_dropped 7", "b rx_dropped 60"];
    assert_eq!(lines_of(74, &moved, &plain), all);
    // XDP frames into a NIC whose ring lost more than arrived.
    plain.xdp.refused_twice = true;
    let named = ["a tx_dropped 7", "b rx_dropped 60"];
    assert_eq!(lines_of(67, &moved, &plain), named);
}
