//! The session of a run comes before others while it measures, and is as it was afterwards, also after a kill.

use std::process::Command;

use crate::harness::{NICETY, as_root, skip};

/// In a session of its own: a run that is killed once it has raised the session, and another one. The session's share
/// is printed before, after the kill, and at the end.
const SCRIPT: &str = "
group() { cat /proc/self/autogroup; }
group
$0 load --rate 1k --for 60s >/dev/null 2>&1 &
until group | grep -q 'nice -20'; do kill -0 $! || exit 1; sleep 0.05; done
kill -9 $!
wait $!
group
$0 load --rate 1k --for 100ms >/dev/null 2>&1
group
";

#[test]
fn a_session_has_its_share_back_after_a_kill() {
    let switch = std::fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled");
    if !as_root("only root may raise a session") {
        return;
    }
    if !switch.is_ok_and(|on| on.trim() == "1") {
        skip("the kernel shares CPUs among no sessions (kernel.sched_autogroup_enabled)");
        return;
    }
    let mut setsid = Command::new("setsid");
    let output = setsid
        .args(["--wait", "bash", "-c", SCRIPT, NICETY])
        .output();
    let output = output.unwrap();
    let told = String::from_utf8(output.stdout.clone()).unwrap();
    let nice: Vec<&str> = told
        .lines()
        .filter_map(|line| Some(line.split_once(" nice ")?.1))
        .collect();
    assert_eq!(nice, ["0", "-20", "0"], "{output:?}");
}
