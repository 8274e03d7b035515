//! Ports that cannot be limited, and what the others notice of it.

use std::fs;

use rustix::process::Signal;

use crate::alerts::CLSACT;
use crate::uplink::{POLICY, Uplink};

/// Bytes that a file may have.
const ROOM: usize = 16_384;

#[test]
fn a_port_that_cannot_be_noted_on_disk_waits_and_the_others_go_on() {
    let Some(uplink) = Uplink::new() else { return };
    let before = uplink.lab.state();
    let policy = uplink.path("policy.toml");
    let smaller = POLICY.split("\n[[tenant]]\nname = \"c\"").next().unwrap();
    fs::write(&policy, smaller).unwrap();
    let daemon = uplink.daemon(&[]);
    daemon.kill();
    // The journal that the next one goes on with has room for the begin of a line only.
    let journal = uplink.path("state/txn-0001.jsonl");
    let mut text = fs::read_to_string(&journal).unwrap();
    let last = text.lines().last().unwrap().to_owned();
    let rest = ROOM - 10 - text.len() - last.len() - 1;
    text += &format!("{last}{}\n", " ".repeat(rest));
    fs::write(&journal, &text).unwrap();
    fs::write(&policy, POLICY).unwrap();
    let full = format!("trap '' XFSZ; exec prlimit --fsize={ROOM} \"$@\"");
    let mut daemon = uplink.daemon_with(&[], |call| call.below(["sh", "-c", &full, "sh"]));
    uplink.periods(&mut daemon, 4);
    let said = daemon.stderr();
    let line = "port c1 waits: what was found there cannot be noted: ";
    assert_eq!(said.matches(line).count(), 1, "{said}");
    assert_eq!(uplink.limits(), 2);
    let status = uplink.status();
    let port = &status["decision"]["ports"][2];
    assert_eq!(port["present"], false, "{port}");
    assert!(port.get("limit_bps").is_none(), "{port}");
    assert!(status["errors"].as_u64().unwrap() >= 4, "{status}");
    let line = uplink.says(&["status", "c"]);
    let begin = "c: none of its ports can be limited now; port c1 waits: what was found there";
    assert!(line.starts_with(begin), "{line}");
    assert_eq!(fs::read_to_string(&journal).unwrap(), text);
    daemon.signal(Signal::TERM);
    // That it is put back cannot be noted either.
    daemon.wait().assert_code(3);
    uplink.lab.assert_state(&before);
    uplink.police(&["restore"]).run().assert_code(0);
}

#[test]
fn a_port_in_somebody_elses_hands_waits_and_says_why() {
    let Some(uplink) = Uplink::new() else { return };
    let mut daemon = uplink.daemon(&[]);
    let port = || uplink.status()["decision"]["ports"][1].clone();
    let sh = |command: &str| uplink.lab.sh(command);
    sh(CLSACT);
    let why = "somebody else's clsact qdisc is in the way";
    daemon.until("the qdisc to be seen", |_| port()["waits"] == why);
    assert!(port().get("limit_bps").is_none());
    let table = uplink.police(&["status"]).run();
    table.assert_code(0);
    let said = table.stdout.split_whitespace().collect::<Vec<_>>();
    assert!(
        said.join(" ").contains("waits: somebody else's clsact"),
        "{}",
        table.stdout
    );
    let line = uplink.police(&["status", "b"]).run();
    assert_eq!(
        line.assert_code(0).stdout,
        format!("b: none of its ports can be limited now; port b1 waits: {why}\n")
    );
    sh("tc qdisc del dev b1 clsact");
    daemon.until("its limit again", |_| port()["limit_bps"].is_u64());
    daemon.until_err("port b1: all right again");
    daemon.stop();
}

#[test]
fn a_port_with_another_name_keeps_no_limit() {
    let Some(uplink) = Uplink::new() else { return };
    let rename = |old: &str, new: &str| {
        uplink.lab.sh(&format!(
            "ip link set {old} down && ip link set {old} name {new} && ip link set {new} up"
        ));
    };
    let links = || {
        uplink
            .lab
            .sh("ip -br link | cut -d' ' -f1 | cut -d@ -f1 | sort")
    };
    let limits = || uplink.limits();
    let before = links();
    let mut daemon = uplink.daemon(&[]);
    // While it runs.
    rename("c1", "c9");
    daemon.until_err("port c1 is called c9 now and has the limit that was found there");
    assert_eq!(limits(), 2);
    rename("c9", "c1");
    daemon.until("its limit again", |_| limits() == 3);
    // Before it is stopped, and after it was killed.
    rename("b1", "b9");
    daemon.stop();
    assert_eq!(limits(), 0);
    rename("b9", "b1");
    let daemon = uplink.daemon(&[]);
    assert_eq!(limits(), 3);
    daemon.kill();
    rename("a1", "a9");
    uplink.police(&["restore"]).run().assert_code(0);
    assert_eq!(limits(), 0);
    rename("a9", "a1");
    // Killed, and a port is made anew before the next one starts.
    let daemon = uplink.daemon(&[]);
    daemon.kill();
    let pid = uplink.pid("a");
    uplink.lab.sh(&format!(
        "ip link del a1; ip link add a1 type veth peer name a0 netns {pid}; ip link set a1 up"
    ));
    let daemon = uplink.daemon(&[]);
    assert_eq!(limits(), 3);
    daemon.stop();
    assert_eq!(limits(), 0);
    assert_eq!(links(), before);
}
