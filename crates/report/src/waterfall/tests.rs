use nicety_model::fate::Way;
use nicety_model::hop::Hop;
use nicety_model::waterfall::{Off, OffWhy, Unknown};
use nicety_model::{FateCause, FateOf, LossEntry};

use super::*;

fn station(name: &str, frames: [u64; 3]) -> WaterfallStation {
    WaterfallStation {
        station: name.to_owned(),
        kind: "veth".to_owned(),
        frames_in: Some(frames[0]),
        frames_out: Some(frames[1]),
        lost: frames[2],
        ..WaterfallStation::default()
    }
}

fn time(p50_ns: u64) -> HopTime {
    HopTime {
        mean_ns: p50_ns,
        p50_ns,
        p99_ns: 2 * p50_ns,
        p999_ns: 3 * p50_ns,
        max_ns: 4 * p50_ns,
    }
}

/// A bridge whose second interface has a full queue; `<` is in a name.
fn made() -> Waterfall {
    let hop = |to: &str, ns| Hop {
        from: String::new(),
        to: to.to_owned(),
        cpus: vec![0],
        time: time(ns),
        error_ns: None,
    };
    let cause = FateCause::Dropped {
        device: Some("d1".to_owned()),
        function: Some("__dev_queue_xmit".to_owned()),
        reason: Some("QDISC_DROP".to_owned()),
    };
    Waterfall {
        cell: "bridge/64/uni".to_owned(),
        repeat: 1,
        of: FateOf::Overload,
        way: None,
        load_fps: 1_020_000.0,
        duration_s: 1.0,
        sent: 1_020_000,
        received: 1_000_000,
        stations: vec![
            WaterfallStation {
                cpus: vec![1],
                ..station("a", [1_020_000, 1_020_000, 0])
            },
            WaterfallStation {
                hops: vec![hop("received at d0", 1500)],
                cpus: vec![0, 2],
                cpus_seen: true,
                ..station("d0<", [1_020_000, 1_020_000, 0])
            },
            WaterfallStation {
                no_time: Some(Unknown::InNextStation),
                kind: "bridge".to_owned(),
                ..station("br0", [1_020_000, 1_020_000, 0])
            },
            WaterfallStation {
                hops: vec![hop("sent at d1", 900)],
                causes: vec![LossEntry::found(cause, 19_990)],
                off: Some(Off {
                    frames: 3,
                    why: OffWhy::OtherFrames,
                }),
                ..station("d1", [1_020_000, 1_000_010, 19_990])
            },
            WaterfallStation {
                off: Some(Off {
                    frames: -10,
                    why: OffWhy::Elsewhere,
                }),
                ..station("b", [1_000_010, 1_000_000, 0])
            },
        ],
        elsewhere: vec![LossEntry::counted("unexplained", 10)],
        off: 0,
        sampled: Some(19_000),
        end_to_end: Some(time(4000)),
        unknown: Vec::new(),
    }
}

fn cells(waterfall: &Waterfall) -> Vec<Vec<String>> {
    let table = table(waterfall);
    let row = |row: &Vec<Cell>| row.iter().map(|cell| cell.text.clone()).collect();
    table.rows.iter().map(row).collect()
}

#[test]
fn a_row_for_every_station_and_one_for_the_whole() {
    let rows = cells(&made());
    assert_eq!(rows.len(), 6);
    let d1 = ["d1", "1,020,000", "1,000,010", "19,990", "0.9", "1.8"];
    assert_eq!(rows[3][..6], d1);
    assert_eq!(rows[1][6], "0,2");
    assert_eq!(rows[0][6], "[1]");
    assert_eq!(rows[2][4], number::ABSENT);
    assert_eq!(rows[5][..4], ["all", "1,020,000", "1,000,000", "20,000"]);
}

#[test]
fn why_and_what_is_not_known_is_said_below() {
    let lines = words::lines(&made());
    #[rustfmt::skip]
    let table = [
        (0, "d1: 19,990 lost in __dev_queue_xmit at d1 (QDISC_DROP): the queueing discipline"),
        (1, "d1: its counter saw 3 more; it counts frames of others too."),
        (2, "b: 10 fewer were here; they were lost where no station is known."),
        (3, "At no station that is known: 10 lost without a trace"),
        (4, "No time of br0: no tracepoint; the time is included"),
    ];
    for (at, part) in table {
        assert!(lines[at].starts_with(part), "{lines:#?}");
    }
    assert_eq!(lines.len(), 5);
    let remark = words::remark(&made());
    assert!(
        remark.contains("19,000 sampled frames") && remark.contains("[n] is an allowed CPU"),
        "{remark}"
    );
}

#[test]
fn what_was_not_taken_leaves_no_empty_columns() {
    let mut plain = made();
    plain.unknown = vec![Unknown::HopsNotTaken, Unknown::BothWays];
    (plain.sampled, plain.end_to_end, plain.off) = (None, None, -4);
    for station in &mut plain.stations {
        station.hops.clear();
        (station.frames_in, station.frames_out) = (None, None);
        station.no_time = None;
    }
    let head: Vec<String> = table(&plain)
        .head
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    // The whole is known in any case.
    assert_eq!(head, ["station", "in", "out", "lost", "CPU"]);
    let lines = words::lines(&plain);
    assert!(
        lines.contains(&"No times: take them with --fate hops.".to_owned()),
        "{lines:#?}"
    );
    assert!(
        lines.iter().any(|line| line.contains("went both ways")),
        "{lines:#?}"
    );
    assert!(
        lines.iter().any(|line| line.contains("have 4 frames more")),
        "{lines:#?}"
    );
    assert!(!words::remark(&plain).contains("by its number"));
    let drawn = drawn::figure(&plain).into_string();
    assert!(!drawn.contains("99th"), "{drawn}");
}

#[test]
fn each_way_is_named() {
    let back = Waterfall {
        way: Some(Way::BToA),
        ..made()
    };
    let title = words::title(&back);
    assert!(
        title.starts_with("bridge/64/uni, B to A, just above"),
        "{title}"
    );
    let [there, back] = [made(), back].map(|fall| drawn::figure(&fall).into_string());
    let id = |drawn: &str| {
        drawn
            .split("id=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next().map(str::to_owned))
    };
    assert!(id(&there).is_some() && id(&there) != id(&back), "{there}");
}

#[test]
fn bars_say_their_numbers_and_escape_names() {
    let drawn = drawn::figure(&made()).into_string();
    assert!(drawn.contains("1,000,010 on, 19,990 lost"), "{drawn}");
    assert!(drawn.contains("role=\"img\" aria-label="));
    assert!(!drawn.contains("d0<") && drawn.contains("d0&lt;"));
    // Three widths, each with a bar for the few lost frames.
    assert_eq!(drawn.matches("<svg").count(), 3);
    assert_eq!(drawn.matches("var(--bad)").count(), 6);
    assert!(!drawn.contains("NaN") && !drawn.contains("inf"));
    let mut nothing = made();
    nothing.sent = 0;
    assert!(!drawn::figure(&nothing).into_string().contains("NaN"));
}
