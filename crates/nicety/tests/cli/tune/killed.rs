//! Deaths at every moment.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;

use rustix::process::{Signal, kill_process};

use super::{Bench, NEW, OLD, changes};
use crate::harness::{Ended, skip};

#[test]
fn a_killed_guard_is_made_up_for_by_the_next_start() {
    let Some(bench) = Bench::new() else { return };
    bench.apply(&changes(), "60s").assert_code(0);
    for guard in bench.guards() {
        kill_process(guard, Signal::KILL).unwrap();
    }
    // Its time is over.
    let file = bench.state().join("txn-0001.jsonl");
    let journal = fs::read_to_string(&file).unwrap();
    let (before, after) = journal.split_once("\"deadline_s\":").unwrap();
    let after = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    fs::write(&file, format!("{before}\"deadline_s\":0.0{after}")).unwrap();
    let next = bench.run(&["apply", "--confirm"]);
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
    let Some(bench) = Bench::new() else { return };
    bench.apply(&changes(), "60s").assert_code(0);
    bench.run(&["apply", "--confirm"]).assert_code(0);
    let file = bench.state().join("txn-0001.jsonl");
    let journal = fs::read_to_string(&file).unwrap();
    bench.run(&["undo"]).assert_code(0);
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
            // Any start recovers; this one then finds nothing to do.
            bench.run(&["undo", "99"]).assert_code(2);
            assert_eq!(
                bench.settings(),
                OLD,
                "cut after {cut} lines, {done} written"
            );
            assert_eq!(bench.phases(), ["rolled-back"], "cut after {cut} lines");
        }
    }
}

/// System calls by which an apply goes forward: a line of the journal, the wait for the disk, a
/// setting by netlink, ethtool or a file.
const STEPS: &str = "fsync,fdatasync,write,sendto,ioctl";

/// An apply under strace(1), which may `inject` something into its system calls.
fn traced(bench: &Bench, inject: &[String]) -> Ended {
    let plan = bench.write_plan(&changes());
    let log = bench.dir.path().join("trace");
    let words = ["apply", plan.to_str().unwrap(), "--for", "60s"];
    let mut below: Vec<String> = ["strace", "-qq", "-o", log.to_str().unwrap()]
        .map(str::to_owned)
        .to_vec();
    below.extend(["-e".to_owned(), format!("trace={STEPS}")]);
    for what in inject {
        below.extend(["-e".to_owned(), format!("inject={what}")]);
    }
    bench.call(&words).below(below).run()
}

/// The steps of an apply that nobody disturbs, from the making of the journal on: name of the
/// system call, and which one of that name it is. `None` where strace cannot be had.
fn steps(bench: &Bench) -> Option<Vec<(String, usize)>> {
    let tried = std::process::Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "true"])
        .status();
    if !tried.is_ok_and(|status| status.success()) {
        skip("strace cannot trace a program here");
        return None;
    }
    traced(bench, &[]).assert_code(0);
    let log = fs::read_to_string(bench.dir.path().join("trace")).unwrap();
    bench.run(&["undo"]).assert_code(0);
    forget(bench);
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut steps = Vec::new();
    for name in log.lines().filter_map(|line| Some(line.split_once('(')?.0)) {
        let count = seen.entry(name.to_owned()).or_default();
        *count += 1;
        if name == "fsync" || !steps.is_empty() {
            steps.push((name.to_owned(), *count));
        }
    }
    // Two for each line of the journal, and at least one for each setting.
    assert!(steps.len() > 2 * (2 + 2 * changes().len()), "{log}");
    Some(steps)
}

/// Empties the state directory when nobody works there any more.
fn forget(bench: &Bench) {
    bench.until_unguarded();
    fs::remove_dir_all(bench.state()).unwrap();
}

/// Killed before every step in turn. Every other time the guard is killed as well; then nobody
/// but the next start can undo what was done.
#[test]
fn a_kill_at_every_step_leaves_the_old_or_the_new_state() {
    let Some(bench) = Bench::new() else { return };
    let Some(steps) = steps(&bench) else { return };
    let (mut old, mut new) = (0, 0);
    for (at, (call, nth)) in steps.iter().enumerate() {
        let what = format!("killed before {call} {nth}, step {at} of {}", steps.len());
        let ended = traced(&bench, &[format!("{call}:signal=KILL:when={nth}")]);
        assert_eq!(ended.status.signal(), Some(9), "{what}: {ended:?}");
        if at % 2 == 1 {
            for guard in bench.guards() {
                // Fails when it has done its work already.
                let _ = kill_process(guard, Signal::KILL);
            }
        }
        bench.run(&["undo", "99"]).assert_code(2);
        match bench.phases().last().map(String::as_str) {
            // All was done, only the program's last words are missing.
            Some("unconfirmed") => {
                bench.run(&["status"]).assert_code(0);
                assert_eq!(bench.settings(), NEW, "{what}");
                bench.run(&["undo"]).assert_code(0);
                new += 1;
            }
            None | Some("rolled-back") => old += 1,
            other => panic!("{what}: {other:?}"),
        }
        assert_eq!(bench.settings(), OLD, "{what}");
        forget(&bench);
    }
    assert!(old > 0 && new > 0, "{old} old, {new} new");
}

/// What the kernel may say to a write: the driver is busy, the device is gone, the disk is broken.
#[test]
fn an_error_at_any_setting_undoes_the_ones_before() {
    let Some(bench) = Bench::new() else { return };
    let Some(steps) = steps(&bench) else { return };
    let last = |name: &str| {
        let nth = steps.iter().rev().find(|(call, _)| call == name);
        nth.unwrap_or_else(|| panic!("no {name}")).1
    };
    // A setting in a file and the line about it are two writes in a row, before the last sync.
    let end = steps.iter().rposition(|(call, _)| call == "fdatasync");
    let mut pairs = steps[..end.unwrap()].windows(2).rev();
    let pair = pairs.find(|pair| pair.iter().all(|(call, _)| call == "write"));
    let write = pair.unwrap()[0].1;
    for (inject, code, said) in [
        // The last message but one is the change, the last one reads it back.
        (
            format!("sendto:error=EBUSY:when={}", last("sendto") - 1),
            1,
            "busy",
        ),
        (
            format!("ioctl:error=ENODEV:when={}", last("ioctl")),
            1,
            "v0",
        ),
        (format!("write:error=EIO:when={write}"), 1, "tcp_rmem"),
        (
            format!("fdatasync:error=ENOSPC:when={}", last("fdatasync")),
            3,
            "no space left",
        ),
    ] {
        let ended = traced(&bench, std::slice::from_ref(&inject));
        assert_eq!(ended.code(), code, "{inject}: {ended:?}");
        assert!(
            ended.stderr.to_lowercase().contains(said),
            "{inject}: {}",
            ended.stderr
        );
        assert_eq!(bench.settings(), OLD, "{inject}");
        assert_eq!(bench.phases(), ["rolled-back"], "{inject}");
        forget(&bench);
    }
}
