//! `nicety load`: frames of which it is known which ones are lost, by flow and in a file of their neighbours.

use std::fs;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Call, alone, nicety, once};
use crate::lab::{BRIDGED, Lab};
use crate::soak::{RULE, of};
use crate::streams::stream;

fn load(words: &[&str]) -> Call {
    nicety(["load", "p0", "p1"].iter().chain(words)).limit(Duration::from_secs(60))
}

#[test]
fn flows_and_neighbours_of_lost_frames_are_told() {
    let _alone = alone();
    let test = "flows_and_neighbours_of_lost_frames_are_told";
    if !once(test) {
        return;
    }
    let Some(lab) = Lab::with(test, BRIDGED) else {
        return;
    };
    let before = lab.state();
    lab.sh(RULE);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lost.pcapng");
    let file = file.to_str().unwrap();
    let words = [
        "--rate",
        "4k",
        "--flows",
        "8",
        "--every",
        "300ms",
        "--json",
        "--lost-pcap",
        file,
        "--lost-frames",
        "3",
    ];
    // Without an end of its own the user ends it.
    let mut running = lab.inside(load(&words)).start();
    running.until("four lines", |running| {
        running.stdout().lines().count() >= 4
    });
    running.signal(Signal::INT);
    let ended = running.wait();
    let all = stream(&ended.assert_code(0).stdout, "load");
    let (intervals, summary) = (of(&all, "interval"), all.last().unwrap());
    assert!(intervals.len() >= 2, "{}", ended.stdout);
    let count = |value: &Value, key: &str| value[key].as_u64().unwrap();
    let flows = |key: &str| -> u64 {
        let flows = intervals
            .iter()
            .flat_map(|line| line["flows"].as_array().unwrap());
        flows.map(|flow| count(flow, key)).sum()
    };
    for key in ["sent", "lost"] {
        assert_eq!(flows(key), count(&summary["frames"], key), "{key}");
    }
    assert!(
        intervals
            .iter()
            .all(|line| line["flows"].as_array().unwrap().len() == 8)
    );
    let lost = count(&summary["frames"], "lost");
    let every = count(&summary["frames"], "sent") / 100;
    assert!((every - 2..=every + 2).contains(&lost), "{lost}, {summary}");
    assert!(count(summary, "lossy_flows") >= 1, "{summary}");
    assert!(
        ended.stderr.contains("3 lost frames with their neighbours"),
        "{}",
        ended.stderr
    );
    lab.sh("nft delete table bridge t");
    lab.assert_state(&before);
    captured(file);
}

/// What tcpdump says of the file.
fn captured(file: &str) {
    let bytes = fs::read(file).unwrap();
    let comments = String::from_utf8_lossy(&bytes);
    // The first or the last frame of an interval may be among them, which has one neighbour only.
    for (words, counts) in [
        ("arrived before lost frame", 2..=3),
        (", lost; made again", 3..=3),
        ("arrived after lost frame", 2..=3),
    ] {
        let count = comments.matches(words).count();
        assert!(counts.contains(&count), "{count} {words}");
    }
    let Ok(said) = Command::new("tcpdump").args(["-nr", file]).output() else {
        println!("SKIP captured: no tcpdump here; on Debian: apt-get install tcpdump");
        return;
    };
    assert!(said.status.success(), "{said:?}");
    let said = String::from_utf8(said.stdout).unwrap();
    assert!((7..=9).contains(&said.lines().count()), "{said}");
    assert!(
        said.lines().all(|line| line.contains("IP 198.18.0.")),
        "{said}"
    );
}

#[test]
fn wrong_words_are_one_line() {
    if !once("load::wrong_words_are_one_line") {
        return;
    }
    for (words, line) in [
        (
            &["--rate", "0"][..],
            "--rate: \"0\" is no rate; write frames per second from 1 to 1G, as in 500, 200k or 1.5M",
        ),
        (
            &["--every", "1ms"],
            "--every: \"1ms\" is not between 100ms and 60s",
        ),
        (
            &["--lost-frames", "5"],
            "--lost-pcap is missing; see nicety load --help",
        ),
        (
            &["--lost-pcap", "/nowhere/x"],
            "--lost-pcap: cannot create /nowhere/x: No such file or directory (os error 2); choose a file you may write",
        ),
    ] {
        let ended = load(words).run();
        assert_eq!(ended.assert_code(2).only_line(), line, "{words:?}");
    }
    let same = nicety(["load", "p0", "p0"]).run();
    assert_eq!(
        same.assert_code(2).only_line(),
        "p0 p0: a path needs two different interfaces; name another one"
    );
}
