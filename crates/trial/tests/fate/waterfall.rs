//! The path as a waterfall, of real frames of which it is known where they fall out.

use nicety_account::waterfall;
use nicety_fate::{Fates, Hops, TesterPorts};
use nicety_model::waterfall::{Off, OffWhy, Unknown, Waterfall};
use nicety_model::{CellFate, CellResult, Direction, FateOf, Purpose, TrialRecord};
use nicety_paths::{BridgePath, Path};
use nicety_port::Stop;
use nicety_testkit::runner::Skip;
use nicety_trial::{TrialSpec, Trials};

use crate::case::{FRAMES, LOAD, commands, skip};
use crate::commands::run;
use crate::stage::{self, Tester, spec};

/// A trial with both kinds of programs after `trouble`, and its waterfall.
fn fall(
    path: &BridgePath,
    tester: Tester,
    trouble: impl FnOnce() -> Result<(), Skip>,
) -> Result<(TrialRecord, Waterfall), Skip> {
    let (record, falls) = falls(path, tester, Direction::Uni, trouble)?;
    let [waterfall] = <[Waterfall; 1]>::try_from(falls).unwrap();
    Ok((record, waterfall))
}

/// The same with the waterfall of each way.
fn falls(
    path: &BridgePath,
    tester: Tester,
    direction: Direction,
    trouble: impl FnOnce() -> Result<(), Skip>,
) -> Result<(TrialRecord, Vec<Waterfall>), Skip> {
    let traffic = stage::traffic(direction);
    let mut engine = tester.open(path, traffic)?;
    let streams = match direction {
        Direction::Uni => 1,
        Direction::Bi => 2,
    };
    // Stream 0 arrives at B.
    let receiving = path.ports().iter().rev().take(streams);
    let ports = TesterPorts {
        ports: receiving
            .map(|port| (port.name.clone(), port.ns.inode()))
            .collect(),
        by_socket: engine.receives_by_socket(),
        mark: engine.mark(),
    };
    let mut fates = Fates::new(traffic.frame_size, streams as u32, ports.clone()).map_err(skip)?;
    let mut hops = Hops::new(streams as u32, ports).map_err(skip)?;
    let mut trials = Trials::new(engine.as_mut(), path, 0)
        .noting(Some(&mut fates))
        .hopping(Some(&mut hops));
    stage::first(&mut trials);
    trouble()?;
    let of = FateOf::Overload;
    let spec = TrialSpec {
        purpose: Purpose::Fate { of },
        ..spec(LOAD, FRAMES)
    };
    let record = trials.run(&spec, &Stop::default()).unwrap();
    assert!(record.fate.is_some(), "{:?}", record.notes);
    let fate = CellFate::of(&record).unwrap();
    let falls = waterfall::of(&cell(), &fate);
    println!("{}", serde_json::to_string_pretty(&falls).unwrap());
    Ok((record, falls))
}

fn cell() -> CellResult {
    serde_json::from_value(serde_json::json!({
        "schema": 1, "cell": "bridge/64/uni", "repeat": 1, "path": {"kind": "bridge"},
        "frame_size_bytes": 64, "direction": "uni", "flows": 1, "engine": "xdp",
        "loss_goal": 0.0, "trials": 1, "search_s": 1.0, "verdict": "ok", "notes": [],
    }))
    .unwrap()
}

/// What comes to each station goes on or is lost there, from what was sent to what arrived.
fn adds_up(record: &TrialRecord, waterfall: &Waterfall) {
    let rows = &waterfall.stations;
    let names: Vec<&str> = rows.iter().map(|row| row.station.as_str()).collect();
    assert_eq!(names, ["a", "d0", "br0", "d1", "b"]);
    let [first, .., last] = rows.as_slice() else {
        panic!("{rows:?}");
    };
    assert_eq!(first.frames_in, Some(record.frames.sent));
    assert_eq!(last.frames_out, Some(record.frames.received));
    assert_eq!((waterfall.off, waterfall.elsewhere.len()), (0, 0));
    for row in rows {
        let gone = row.frames_out.map(|out| out + row.lost);
        assert_eq!(row.frames_in, gone, "{row:?}");
        // Neighbours of the namespace may talk meanwhile.
        let others = |off: Off| off.why == OffWhy::OtherFrames;
        assert!(row.off.is_none_or(others), "{row:?}");
    }
    for pair in rows.windows(2) {
        assert_eq!(pair[0].frames_out, pair[1].frames_in);
    }
}

/// A rule takes every seventh frame at the first interface, and a bucket some of the others at the second.
pub fn two() -> Result<(), Skip> {
    stage::needs_root()?;
    let path = stage::bridge();
    let rules = "table netdev fate {
        chain frames {
            type filter hook ingress device d0 priority 0; policy accept;
            numgen inc mod 7 0 drop
        }
    }";
    let (record, waterfall) = fall(&path, Tester::Xdp, || {
        run(path.dut(), "nft", &["-f", "-"], rules)?;
        let tbf = "tc qdisc add dev d1 root tbf rate 4mbit burst 3000b limit 6000b";
        commands(&path, &[tbf])
    })?;
    adds_up(&record, &waterfall);
    let rows = &waterfall.stations;
    // A busy machine loses some at rings before.
    let by = |row: usize, reasons: &[&str]| -> u64 {
        let entries = rows[row].causes.iter();
        let named = entries.filter(|entry| {
            let cause = serde_json::to_value(&entry.cause).unwrap();
            let is = |key: &str| reasons.iter().any(|reason| cause[key] == *reason);
            is("reason") || is("function")
        });
        named.map(|entry| entry.frames).sum()
    };
    let ruled = by(1, &["NETFILTER_DROP", "nft_do_chain", "nf_hook_slow"]);
    let before = rows[0].lost + rows[1].lost - ruled;
    let came = record.frames.sent - before;
    let seventh = came / 7;
    assert!(ruled.abs_diff(seventh) <= 1, "{ruled} of {came}");
    // The bucket's own count is the truth of what it dropped.
    let counters = &record.fate.as_ref().unwrap().counters;
    let counted = counters.iter().find(|entry| entry.place == "d1 qdisc tbf");
    assert_eq!(counted.map(|entry| entry.frames), Some(rows[3].lost));
    assert!(rows[3].lost > 0);
    // Times of sampled frames, and their own books.
    for row in [1, 3, 4] {
        assert_eq!(rows[row].hops.len(), 1, "{:?}", rows[row]);
        assert!(rows[row].cpus_seen && !rows[row].cpus.is_empty());
        let of = rows[row].sampled.as_ref().unwrap();
        assert_eq!(of.frames, of.passed + of.dropped + of.left);
    }
    let dropped = |row: usize| rows[row].sampled.as_ref().map(|of| of.dropped);
    assert!(dropped(1) > Some(0) && dropped(3) > Some(0));
    assert_eq!(
        dropped(4),
        Some(rows[4].sampled.as_ref().map_or(0, |of| of.dropped))
    );
    assert_eq!(rows[2].no_time, Some(Unknown::InNextStation));
    Ok(())
}

/// Every seventh frame from A is taken at the first interface, every fifth from B at the second.
pub fn both_ways() -> Result<(), Skip> {
    stage::needs_root()?;
    let path = stage::bridge();
    let chain = |device: &str, every: u32| {
        format!(
            "chain {device} {{ type filter hook ingress device {device} priority 0; policy accept;
            numgen inc mod {every} 0 drop; }}"
        )
    };
    let chains = [chain("d0", 7), chain("d1", 5)].join("\n");
    let rules = format!("table netdev fate {{\n{chains}\n}}");
    let (record, falls) = falls(&path, Tester::Xdp, Direction::Bi, || {
        run(path.dut(), "nft", &["-f", "-"], &rules).map(drop)
    })?;
    let ways = [
        (["a", "d0", "br0", "d1", "b"], 7),
        (["b", "d1", "br0", "d0", "a"], 5),
    ];
    assert_eq!(falls.len(), 2);
    let lost: u64 = falls.iter().map(|fall| fall.sent - fall.received).sum();
    assert_eq!(lost, record.frames.lost);
    for (fall, (names, every)) in falls.iter().zip(ways) {
        let rows = &fall.stations;
        let known: Vec<&str> = rows.iter().map(|row| row.station.as_str()).collect();
        assert_eq!(known, names);
        assert_eq!((fall.off, fall.elsewhere.len()), (0, 0), "{fall:?}");
        assert_eq!(rows[0].frames_in, Some(fall.sent));
        // A busy machine loses some at rings.
        let ruled = rows[1]
            .causes
            .iter()
            .filter(|entry| entry.place.contains("nf"));
        let ruled: u64 = ruled.map(|entry| entry.frames).sum();
        let came = fall.sent - rows[0].lost - (rows[1].lost - ruled);
        assert!(ruled.abs_diff(came / every) <= 1, "{ruled} of {came}");
        let timed = [1, 3, 4].map(|row| rows[row].hops.len());
        assert_eq!(timed, [1, 1, 1], "{rows:?}");
    }
    Ok(())
}

/// Interfaces without a queueing discipline are stations as well.
pub fn nothing() -> Result<(), Skip> {
    stage::needs_root()?;
    let path = stage::bridge();
    let queues = run(path.dut(), "tc", &["qdisc", "show", "dev", "d1"], "")?;
    assert!(queues.contains("noqueue"), "{queues}");
    let (record, waterfall) = fall(&path, Tester::AfPacket, || Ok(()))?;
    adds_up(&record, &waterfall);
    if record.frames.lost > 0 {
        return Err(Skip(format!(
            "the machine was too busy: {:?}",
            record.loss_ledger
        )));
    }
    let seen: Vec<bool> = waterfall
        .stations
        .iter()
        .map(|row| !row.hops.is_empty())
        .collect();
    assert_eq!(seen, [false, true, false, true, true]);
    assert!(waterfall.unknown.is_empty() && waterfall.end_to_end.is_some());
    Ok(())
}
