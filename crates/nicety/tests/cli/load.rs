//! `nicety load`: frames of which it is known which ones are lost, by flow and in a file of their neighbours.

use std::fs;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{LONG, nicety, skip, words};
use crate::lab::{BRIDGED, Lab};
use crate::schema::stream;
use crate::soak::{RULE, of};

#[test]
fn flows_and_neighbours_of_lost_frames_are_told() {
    let Some(lab) = Lab::with(BRIDGED) else {
        return;
    };
    let before = lab.state();
    lab.sh(RULE);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lost.pcapng");
    let file = file.to_str().unwrap();
    let line = format!("load p0 p1 --rate 4k --flows 8 --every 300ms --json --lost-pcap {file}");
    // Without an end of its own the user ends it.
    let call = nicety(words(&line)).limit(LONG);
    let mut running = lab.inside(call).start();
    running.until("four lines", |running| {
        running.stdout().lines().count() >= 4
    });
    running.signal(Signal::INT);
    let ended = running.wait();
    // On a busy machine less was sent than asked for.
    let short = ended.stderr.contains("exit 1: sent ");
    ended.assert_code(i32::from(short));
    let all = stream(&ended.stdout, "LoadLine");
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
    let (said, _) = ended
        .stderr
        .split_once(" lost frames with their neighbours")
        .unwrap();
    let written: usize = said.rsplit(' ').next().unwrap().parse().unwrap();
    assert_eq!(written as u64, lost.min(100), "{}", ended.stderr);
    lab.sh("nft delete table bridge t");
    lab.assert_state(&before);
    captured(file, written, intervals.len());
}

/// What tcpdump says of the file with so many lost frames of so many intervals.
fn captured(file: &str, lost: usize, intervals: usize) {
    let bytes = fs::read(file).unwrap();
    let comments = String::from_utf8_lossy(&bytes);
    // The first or the last frame of an interval may be among them, which has one neighbour only.
    let neighbours = lost - intervals.min(lost)..=lost;
    for (words, counts) in [
        ("arrived before lost frame", neighbours.clone()),
        (", lost; made again", lost..=lost),
        ("arrived after lost frame", neighbours),
    ] {
        let count = comments.matches(words).count();
        assert!(counts.contains(&count), "{count} {words}");
    }
    let Ok(said) = Command::new("tcpdump").args(["-nr", file]).output() else {
        skip("no tcpdump here; on Debian: apt-get install tcpdump");
        return;
    };
    assert!(said.status.success(), "{said:?}");
    let said = String::from_utf8(said.stdout).unwrap();
    let lines = 3 * lost - (2 * intervals).min(2 * lost)..=3 * lost;
    assert!(lines.contains(&said.lines().count()), "{said}");
    assert!(
        said.lines().all(|line| line.contains("IP 198.18.0.")),
        "{said}"
    );
}
