//! `nicety trace` over a bridge made for it, with real frames of which it is known what becomes of them.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Call, becomes_nobody, nicety, open_dir, root, skip};
use crate::lab::{BRIDGED, Lab};
use crate::schema;

/// Every fifth frame.
const RULE: &str = "nft 'table bridge t { chain f { type filter hook forward priority 0; policy accept;                     numgen inc mod 5 0 counter drop; }; }'";

fn lab() -> Option<Lab> {
    if !root() {
        skip("only root may load the programs");
        return None;
    }
    Lab::with(BRIDGED)
}

fn call(words: &[&str]) -> Call {
    nicety(["trace", "p0", "p1"].iter().chain(words)).limit(Duration::from_secs(240))
}

/// Lines of a stream, each as the schema has it: the frames, and the summary.
fn stream(text: &str) -> (Vec<Value>, Value) {
    let mut lines = schema::stream(text, "TraceLine");
    let summary = lines.pop().unwrap();
    assert_eq!(summary["kind"], "summary");
    assert!(lines.iter().all(|line| line["kind"] == "frame"));
    (lines, summary)
}

#[test]
fn every_frame_tells_where_it_was_and_where_it_ended() {
    let Some(lab) = lab() else {
        return;
    };
    let ended = lab
        .inside(call(&["--count", "20", "--json", "--quiet"]))
        .run();
    let (frames, summary) = stream(&ended.assert_code(0).stdout);
    assert_eq!(
        (frames.len(), &summary["sent"], &summary["lost"]),
        (20, &20.into(), &0.into())
    );
    for frame in &frames {
        let stations: Vec<&str> = frame["stations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|of| of["station"].as_str().unwrap())
            .collect();
        assert_eq!(
            stations,
            ["received at q0", "sent at q1", "arrived at p1"],
            "{frame}"
        );
        let sum: u64 = frame["stations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|of| of["after_ns"].as_u64().unwrap())
            .sum();
        assert_eq!(frame["end"]["total_ns"], sum, "{frame}");
    }

    lab.sh(RULE);
    let ended = lab
        .inside(call(&["--count", "200", "--only", "lost", "--json"]))
        .run();
    let (lost, summary) = stream(&ended.assert_code(0).stdout);
    assert_eq!(
        (&summary["sent"], &summary["lost"]),
        (&200.into(), &40.into()),
        "{summary}"
    );
    assert_eq!(lost.len(), 40);
    for frame in &lost {
        let cause = &frame["end"]["cause"];
        assert_eq!(
            (&frame["end"]["is"], &cause["device"]),
            (&"dropped".into(), &"q1".into()),
            "{frame}"
        );
    }
    // As the rule itself counts them.
    let counted = lab.sh("nft list table bridge t");
    let (_, counted) = counted.split_once("packets ").unwrap();
    let counted: u64 = counted.split(' ').next().unwrap().parse().unwrap();
    // Frames that show the bridge where the ports are meet it too.
    assert!((40..=44).contains(&counted), "{counted}");

    let ended = lab.inside(call(&["--count", "10"])).run();
    let text = ended.assert_code(0).stdout.clone();
    assert_eq!(text.lines().count(), 11, "{text}");
    assert_eq!(text.matches("  dropped in ").count(), 2, "{text}");
    assert!(
        text.lines().last().unwrap().starts_with("10 frames in "),
        "{text}"
    );
    assert!(
        ended
            .stderr
            .contains("sending 64-byte frames from p0 to p1"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_path_of_a_plan_is_traced_over() {
    let Some(lab) = lab() else {
        return;
    };
    let dir = open_dir();
    let plan = "[[path]]\nkind = \"macvlan\"\n[[path]]\nkind = \"bridge\"\n";
    std::fs::write(dir.path().join("two.toml"), plan).unwrap();
    let trace = |words: &[&str]| {
        let all = ["trace", "two.toml", "--count", "5", "--json"];
        let call = nicety(all.iter().chain(words)).dir(dir.path());
        lab.inside(call.limit(Duration::from_secs(240))).run()
    };
    let ended = trace(&[]);
    let line = "the plan has 2 cells, and a trace follows the frames of one; name it with --cell: 1 (macvlan/64/uni), 2 (bridge/64/uni)";
    assert_eq!(ended.assert_code(2).only_line(), line);
    let ended = trace(&["--cell", "bridge", "-q"]);
    let (frames, _) = stream(&ended.assert_code(0).stdout);
    assert_eq!(frames.len(), 5);
    let stations = frames[4]["stations"].as_array().unwrap().iter();
    let stations: Vec<_> = stations.map(|of| of["station"].as_str().unwrap()).collect();
    assert_eq!(stations, ["received at d0", "sent at d1", "arrived at b"]);
}

/// Packets of sockets that ask for a port where nobody listens, and behind a rule.
#[test]
fn first_packets_of_sockets_are_followed() {
    let Some(lab) = lab() else {
        return;
    };
    let words = ["trace", "--follow-flow", "any,any,127.0.0.1:4444"];
    let bounds = ["--count", "3", "--json"];
    let follow = nicety(words.iter().chain(&bounds)).limit(Duration::from_secs(240));
    let mut running = lab.inside(follow).start();
    running.until("the programs", |running| {
        running.stderr().contains("following")
    });
    let rule = "nft 'table inet t { chain c { type filter hook input priority 0; policy accept; tcp dport 4444 drop; }; }'";
    let connect = "timeout 0.3 bash -c 'exec 3<>/dev/tcp/127.0.0.1/4444' || true";
    lab.sh(connect);
    // The second is not the first between its ends.
    lab.sh("bash -c 'exec 3>/dev/udp/127.0.0.1/4444; echo first >&3; sleep 0.1; echo second >&3; true' || true");
    lab.sh(&format!("{rule}; {connect}"));
    let ended = running.wait();
    let told: Vec<Value> = (ended.assert_code(0).stdout.lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&Value> = told.iter().map(|of| &of["packet"]).collect();
    assert_eq!(kinds, ["syn", "datagram", "syn"], "{told:?}");
    for (packet, reason) in told
        .iter()
        .zip(["NO_SOCKET", "NO_SOCKET", "NETFILTER_DROP"])
    {
        assert_eq!(packet["to"], "127.0.0.1:4444");
        let stations: Vec<&str> = (packet["stations"].as_array().unwrap().iter())
            .map(|of| of["station"].as_str().unwrap())
            .collect();
        let way = [
            "queued at lo",
            "sent at lo",
            "received at lo",
            "thrown away at lo",
        ];
        assert_eq!(stations, way, "{packet}");
        assert_eq!(packet["end"]["is"], "dropped", "{packet}");
        assert_eq!(packet["end"]["cause"]["reason"], reason, "{packet}");
    }
}

#[test]
fn the_user_ends_it_and_gets_the_summary() {
    let Some(lab) = lab() else {
        return;
    };
    let before = lab.state();
    // Without an end of its own that is how it ends.
    for (words, code) in [(&["--json"][..], 0), (&["--json", "--for", "1h"], 4)] {
        let mut running = lab.inside(call(words)).start();
        running.until("some frames", |running| {
            running.stdout().lines().count() >= 20
        });
        running.signal(Signal::INT);
        let ended = running.wait();
        let (frames, summary) = stream(&ended.assert_code(code).stdout);
        assert!(frames.len() as u64 <= summary["sent"].as_u64().unwrap());
        assert_eq!(summary["lost"], 0, "{summary}");
    }
    let ended = lab.inside(call(&["--for", "300ms", "--rate", "50"])).run();
    assert!(ended.assert_code(0).stdout.lines().count() >= 2);
    lab.assert_state(&before);
}

#[test]
fn wrong_words_and_rights_are_one_line() {
    for (words, line) in [
        (
            &["p0"][..],
            "cannot read the plan p0: No such file or directory (os error 2); name a TOML file or two interfaces, or nothing for a bridge",
        ),
        (
            &["p0", "p1", "--rate", "0"],
            "--rate: \"0\" is not between 1 and 10k frames per second",
        ),
        (
            &["p0", "p1", "--rate", "11k"],
            "--rate: \"11k\" is not between 1 and 10k frames per second",
        ),
        (
            &["p0", "p1", "--for", "1ms"],
            "--for: \"1ms\" is not between 100ms and 24h",
        ),
        (
            &["p0", "p1", "--only", "x"],
            "--only: unknown kind of frames \"x\"; write all or lost",
        ),
        (
            &["p0", "p1", "--size", "x"],
            "--size: \"x\" is not a frame size; write bytes with the FCS, as in 64 or 1518",
        ),
        (
            &["--follow-flow", "tcp,any"],
            "--follow-flow: write a transport and two ends with commas between, as in tcp,any,192.0.2.1:443 or udp,10.0.0.1,any:53",
        ),
        (
            &["p0", "p0"],
            "p0 p0: a path needs two different interfaces; name another one",
        ),
    ] {
        let ended = nicety(["trace"].iter().chain(words)).run();
        assert_eq!(ended.assert_code(2).only_line(), line);
    }
    if !root() || !becomes_nobody() {
        skip("only root becomes another user");
        return;
    }
    let ended = nicety(["trace", "--count", "1"]).by_nobody().run();
    let line = "frames cannot be traced: it needs BPF programs and packet sockets: run it as root";
    assert_eq!(ended.assert_code(3).only_line(), line);
}
