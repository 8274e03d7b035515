//! Deaths at every moment.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Signal, kill_process};

use super::{Bench, OLD, changes};

#[test]
fn a_killed_guard_is_made_up_for_by_the_next_start() {
    let Some(bench) = Bench::new("a_killed_guard_is_made_up_for_by_the_next_start") else {
        return;
    };
    bench.apply(&changes(), "1s").assert_code(0);
    for guard in bench.guards() {
        kill_process(guard, Signal::KILL).unwrap();
    }
    sleep(Duration::from_millis(1200));
    let next = bench.run(&["confirm"]);
    assert!(
        next.stderr
            .contains("transaction 1 undone, not confirmed in time"),
        "{next:?}"
    );
    assert_eq!(next.code(), 2, "nothing is left to confirm");
    assert_eq!(bench.settings(), OLD);
}

/// Every moment at which the program can be killed is a journal cut after some line, with the
/// last intended write done or not done.
#[test]
fn a_kill_between_any_two_steps_is_undone() {
    let Some(bench) = Bench::new("a_kill_between_any_two_steps_is_undone") else {
        return;
    };
    bench.apply(&changes(), "60s").assert_code(0);
    bench.run(&["confirm"]).assert_code(0);
    let file = bench.state().join("txn-0001.jsonl");
    let journal = fs::read_to_string(&file).unwrap();
    bench.run(&["rollback"]).assert_code(0);
    bench.until_unguarded();
    let lines: Vec<&str> = journal.lines().collect();
    let applied = lines
        .iter()
        .position(|line| line.contains("\"applied\""))
        .unwrap();
    assert_eq!(applied, 1 + 2 * changes().len());
    let set = [
        "ip link set v0 mtu 9000",
        "ethtool -K v0 tx-tcp-segmentation off",
        "sysctl -qw net.ipv4.tcp_moderate_rcvbuf=1",
        "sysctl -qw net.ipv4.tcp_rmem='4096 131072 8388608'",
    ];
    for cut in 0..applied {
        let intents = lines[..cut]
            .iter()
            .filter(|line| line.contains("\"intent\""))
            .count();
        let written = lines[..cut]
            .iter()
            .filter(|line| line.contains("\"written\""))
            .count();
        for done in written..=intents {
            for command in &set[..done] {
                bench.lab.sh(command);
            }
            let torn = &lines[cut][..lines[cut].len() / 2];
            fs::write(
                &file,
                lines[..cut]
                    .iter()
                    .map(|l| format!("{l}\n"))
                    .collect::<String>()
                    + torn,
            )
            .unwrap();
            // Any start recovers; this one then finds nothing to verify.
            bench.run(&["verify"]).assert_code(2);
            assert_eq!(
                bench.settings(),
                OLD,
                "cut after {cut} lines, {done} written"
            );
            assert_eq!(bench.phases(), ["rolled-back"], "cut after {cut} lines");
        }
    }
}

#[test]
fn a_killed_apply_is_undone_by_its_guard() {
    let Some(bench) = Bench::new("a_killed_apply_is_undone_by_its_guard") else {
        return;
    };
    let plan = bench.write_plan(&changes());
    let mut call = bench
        .call(&["apply", plan.to_str().unwrap(), "--confirm-within", "60s"])
        .start();
    let file = bench.state().join("txn-0001.jsonl");
    call.until("first write", |_| {
        fs::read_to_string(&file).is_ok_and(|text| text.contains("\"intent\""))
    });
    call.signal(Signal::KILL);
    let ended = call.wait();
    if ended.status.code() == Some(0) {
        // It was done before the kill came: then only the confirmation is missing.
        bench.run(&["rollback"]).assert_code(0);
    }
    bench.until("rolled-back");
    assert_eq!(bench.settings(), OLD);
}
