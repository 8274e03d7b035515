use nicety_model::{
    BuiltPath, BuiltPlace, BuiltThread, CellResult, Ends, Passage, PlaceFrames, Run,
};
use serde_json::{Value, json};

use super::*;

/// A cell of a path in words: `vm,nic=e1000`.
fn cell(path: &str, direction: &str) -> CellResult {
    let mut parts = path.split(',');
    let mut words = serde_json::Map::new();
    words.insert("kind".to_owned(), json!(parts.next()));
    for (key, word) in parts.filter_map(|part| part.split_once('=')) {
        words.insert(key.to_owned(), json!(word));
    }
    serde_json::from_value(json!({
        "schema": 1, "cell": format!("{path}/64/{direction}"), "repeat": 1, "path": words,
        "frame_size_bytes": 64, "direction": direction, "flows": 1, "engine": "af_packet",
        "loss_goal": 0.0001, "trials": 9, "search_s": 6.3, "verdict": "ok", "notes": [],
    }))
    .unwrap()
}

fn run(cells: Vec<CellResult>) -> Run {
    let nothing: Value = json!({
        "schema": 1,
        "run": {
            "name": "n", "started": "2026-03-14T15:09:26Z", "elapsed_s": 1.0, "seed": 1, "preset": "quick",
            "loss_goal": 0.0001, "command": "nicety bench", "complete": true,
            "host": nicety_model::Fingerprint::default(),
        },
        "tester_limit_fps": {}, "visits": [], "cells": [],
    });
    let mut run: Run = serde_json::from_value(nothing).unwrap();
    run.visits = cells;
    run
}

fn text(run: &Run, width: usize) -> String {
    let groups = pick::groups(run);
    let routes = Routes::of(run, &groups).unwrap();
    routes.lines(width).join("\n")
}

/// A bridge as it is recorded: loss on the way from `a`, in the trial above the throughput.
fn bridge(direction: &str) -> CellResult {
    let mut cell = cell("bridge", direction);
    let place = |name: &str, queues| BuiltPlace {
        name: name.to_owned(),
        queues,
    };
    let thread = |at: &str, cpu| BuiltThread {
        at: at.to_owned(),
        name: format!("napi/{at}"),
        cpus: vec![cpu],
    };
    let frames = |place: &str, received, sent| PlaceFrames {
        place: place.to_owned(),
        received,
        sent,
    };
    let back = if direction == "bi" { 500_000 } else { 0 };
    let passage = Passage {
        load_fps: 1_020_000.0,
        duration_s: 1.0,
        ends: [(1_000_000, 979_990), (back, back)]
            .into_iter()
            .take(if back > 0 { 2 } else { 1 })
            .map(|(sent, received)| Ends { sent, received })
            .collect(),
        places: vec![
            frames("a", back, 980_000),
            frames("d0", 980_003, back),
            frames("d1", back, 980_003),
            frames("b", 980_000, back),
        ],
    };
    cell.built = Some(BuiltPath {
        places: vec![
            place("a", Some(1)),
            place("d0", Some(2)),
            place("br0", None),
            place("d1", Some(2)),
            place("b", Some(1)),
        ],
        threads: vec![thread("d0", 0), thread("d0", 2), thread("d1", 0)],
        tester_cpus: vec![1],
        confirm: None,
        overload: Some(passage),
    });
    cell.overload_ledger = serde_json::from_value(json!([
        {"where": "a tx_dropped", "frames": 20_000}, {"where": "unexplained", "frames": 10},
    ]))
    .unwrap();
    cell.cpu = serde_json::from_value(json!({
        "busy_ratio": [0.95, 0.51], "cores": [], "who": {"napi/d0": 0.95, "napi/d1": 0.002, "tester": 0.51},
    }))
    .unwrap();
    cell
}

#[test]
fn a_recorded_path_tells_what_passed_and_what_was_lost_where() {
    let mut told = String::new();
    for direction in ["uni", "bi"] {
        let run = run(vec![bridge(direction)]);
        for width in [80, 30] {
            told.push_str(&format!("{direction} {width}\n{}\n\n", text(&run, width)));
        }
    }
    insta::assert_snapshot!(told);
}

/// What older runs show: the stations of every kind of path by its parameters.
#[test]
fn every_kind_of_path_has_a_picture() {
    let mut told = String::new();
    for path in [
        "bridge",
        "vlan-bridge",
        "vlan-bridge,tagging=filtering",
        "ovs",
        "ovs-dpdk,cores=2",
        "testpmd",
        "testpmd,a=eth1,b=eth2,pci=0000:03:00.0+0000:03:00.1",
        "ports,a=eth1,b=eth2",
        "vm",
        "vm,vms=2",
        "vm,vms=8",
        "vm,switch=vlan-bridge",
        "vm,nic=macvtap",
        "vm,switch=ovs",
        "vm,switch=ovs-bridge",
        "vm,switch=ovs-dpdk",
        "vm,switch=testpmd",
        "vm,guest=netns",
        "vm,nic=sriov,pf=eth0",
        "vm,nic=sriov-macvtap,pf=eth0,vms=2",
        "wormhole,length=3",
    ] {
        let run = run(vec![cell(path, "uni")]);
        told.push_str(&format!("{path}\n{}\n\n", text(&run, 80)));
    }
    insta::assert_snapshot!(told);
}

#[test]
fn lines_fit_any_width_and_paths_that_look_alike_are_told_once() {
    let paths = ["vm", "vm,vcpus=2", "vm,vcpus=4", "bridge"];
    let mut cells: Vec<CellResult> = paths.iter().map(|path| cell(path, "uni")).collect();
    cells.push(bridge("bi"));
    let run = run(cells);
    for width in 20..120 {
        for line in text(&run, width).lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
    let told = text(&run, 100);
    assert_eq!(told.matches("[bridge br0] t0").count(), 1, "{told}");
}

/// The frames of a wire are those of counters beside it, or the tester's own: never more.
#[test]
fn wires_never_carry_more_than_was_counted() {
    let names = ["a", "d0", "d1", "b"];
    // All the ways in which four places and two ends may have counted 0, 5 or 9 frames.
    for number in 0..3_usize.pow(6) {
        let digit = |at: u32| [0, 5, 9][number / 3_usize.pow(at) % 3];
        let places = names.iter().zip(0..).map(|(name, at)| PlaceFrames {
            place: (*name).to_owned(),
            received: digit(at),
            sent: digit(at),
        });
        let mut cell = bridge("uni");
        if let Some(passage) = cell
            .built
            .as_mut()
            .and_then(|built| built.overload.as_mut())
        {
            passage.places = places.collect();
            passage.ends = vec![Ends {
                sent: digit(4),
                received: digit(5),
            }];
        }
        let run = run(vec![cell]);
        let groups = pick::groups(&run);
        let routes = Routes::of(&run, &groups).unwrap();
        let flows = |wire: usize| routes.first.wires[wire].flows[0];
        assert!(
            [digit(1), digit(2), digit(5)].contains(&flows(0).received),
            "{number}"
        );
        assert!(flows(0).received <= digit(1).max(digit(2)).max(digit(5)));
        assert_eq!(flows(1).received, digit(5));
        assert_eq!(flows(0).sent, digit(4));
        // A counter that saw fewer frames than arrived does not count them.
        assert!(flows(0).received >= digit(5), "{number}");
    }
}
