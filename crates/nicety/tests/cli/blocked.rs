//! A path that carries nothing yet, as a bridge port that spanning tree has just let in.

use std::fs;

use crate::harness::{LONG, lines, nicety};
use crate::lab::{BRIDGED, Lab};
use crate::runs::TINY;

/// The kernel sets a port's state anew whenever one of its bridge changes, so another rule blocks it.
const BLOCK: &str =
    "nft 'table bridge blocked { chain f { type filter hook forward priority 0; policy drop; }; }'";
const PATH: &str = "[[path]]\nkind = \"ports\"\na = \"p0\"\nb = \"p1\"\n";

#[test]
fn a_port_that_learns_is_waited_for() {
    let Some(lab) = Lab::with(BRIDGED) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("plan.toml"), format!("{TINY}{PATH}")).unwrap();
    lab.sh(BLOCK);
    let call = nicety(["bench", "plan.toml", "--out", "run"]).dir(dir.path());
    let mut running = lab.inside(call.limit(LONG)).start();
    running.until("the wait", |running| {
        let said = "nothing comes through from p0 to p1; waiting up to 30 s";
        running.stderr().contains(said)
    });
    lab.sh("nft delete table bridge blocked");
    running.wait();
    let trials = lines(&dir.path().join("run/trials.jsonl"));
    assert!(!trials.is_empty());
    for trial in trials {
        assert_ne!(trial["frames"]["received"], 0, "{trial}");
    }
}
