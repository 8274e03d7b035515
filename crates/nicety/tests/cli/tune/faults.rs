//! Disks, rights, devices and kernels that do not do what was asked.

use std::fs;

use serde_json::{Value, json};

use super::{Bench, NEW, OLD, SETUP, changes};
use crate::harness::{as_root, nicety, open_dir, own_mounts, words};

/// A sysctl of every interface, twelve of them: a journal of more than a page.
const MANY: [&str; 12] = [
    "accept_local",
    "accept_redirects",
    "arp_announce",
    "arp_filter",
    "arp_ignore",
    "arp_notify",
    "log_martians",
    "proxy_arp",
    "route_localnet",
    "rp_filter",
    "secure_redirects",
    "send_redirects",
];

fn many(bench: &Bench) -> Vec<(Value, &'static str, &'static str)> {
    let names = ["v0", "v1", "br0"]
        .iter()
        .flat_map(|link| MANY.map(|name| format!("net.ipv4.conf.{link}.{name}")));
    names
        .map(|name| {
            let on = bench.lab.sh(&format!("sysctl -n {name}")).trim() == "1";
            let (from, to) = if on { ("1", "0") } else { ("0", "1") };
            (json!({"kind": "sysctl", "name": name}), from, to)
        })
        .collect()
}

/// Runs `apply` with its journals on a file system of its own.
fn on_tmpfs(
    bench: &Bench,
    options: &str,
    changes: &[(Value, &str, &str)],
) -> crate::harness::Ended {
    let full = bench.dir.path().join("full");
    fs::create_dir_all(&full).unwrap();
    let full = full.to_str().unwrap();
    let plan = bench.write_plan(changes);
    let script = format!("mount -t tmpfs -o mode=0700,{options} tmpfs {full} && exec \"$@\"");
    let words = ["tune", "apply", plan.to_str().unwrap(), "--state", full];
    let call = nicety(words).below(["unshare", "-m", "sh", "-c", &script, "sh"]);
    bench.lab.inside(call).run()
}

#[test]
fn a_journal_without_room_puts_everything_back() {
    if !as_root("only root of the host mounts a file system here") || !own_mounts() {
        return;
    }
    let Some(bench) = Bench::new() else { return };
    let many = many(&bench);
    let values = || bench.lab.sh("grep . /proc/sys/net/ipv4/conf/*/*");
    let before = values();
    let ended = on_tmpfs(&bench, "size=4k", &many);
    assert_eq!(ended.code(), 3, "{ended:?}");
    assert!(
        ended.stderr.contains("No space left on device")
            && ended.stderr.contains("all changes were undone"),
        "{}",
        ended.stderr
    );
    assert_eq!(values(), before);
    let ended = on_tmpfs(&bench, "ro", &many);
    let line = ended.assert_code(3).only_line().to_owned();
    assert!(
        line.contains("Read-only file system") && line.contains("--state"),
        "{line}"
    );
    assert_eq!(values(), before);
}

#[test]
fn an_ordinary_user_is_told_what_is_needed() {
    if !as_root("this is an ordinary user's run already") {
        return;
    }
    let Some(bench) = Bench::new() else { return };
    let dir = open_dir();
    let state = dir.path().join("state");
    fs::create_dir(&state).unwrap();
    std::os::unix::fs::chown(&state, Some(65534), Some(65534)).unwrap();
    let plan = dir.path().join("plan.json");
    for change in changes() {
        fs::write(&plan, super::plan(&[change]).to_string()).unwrap();
        let line = format!("tune apply {} --state {}", plan.display(), state.display());
        let apply = nicety(words(&line)).dir(dir.path()).by_nobody();
        let ended = bench.lab.inside(apply).run();
        let said = ended.assert_code(3).only_line();
        assert!(said.contains("root") || said.contains("sudo"), "{said}");
        assert!(!said.contains("undone"), "nothing was begun: {said}");
        let journals = fs::read_dir(&state).unwrap().flatten();
        let names = journals.map(|entry| entry.file_name().into_string().unwrap());
        assert_eq!(names.filter(|name| name.starts_with("txn-")).count(), 0);
        assert_eq!(bench.settings(), OLD);
    }
    // Looking needs nothing.
    let call = nicety(["tune", "plan", "--json"])
        .dir(dir.path())
        .by_nobody();
    bench.lab.inside(call).run().assert_code(0);
}

#[test]
fn a_value_that_reads_back_otherwise_is_undone() {
    let Some(bench) = Bench::new() else { return };
    let ports = "net.ipv4.ip_local_reserved_ports";
    let mut all = changes();
    // The kernel writes it as a range, and had none before.
    all.push((json!({"kind": "sysctl", "name": ports}), "", "8,9,10"));
    let ended = bench.apply(&all, "60s");
    ended.assert_code(1);
    ended.assert_err("wrote 8,9,10, but the kernel reports 8-10");
    assert_eq!(bench.settings(), OLD);
    // A write that was not read back may be anybody's: it is said and left, unless forced.
    bench.run(&["undo", "1", "--force"]);
    assert_eq!(bench.lab.sh(&format!("sysctl -n {ports}")).trim(), "");
}

#[test]
fn an_unplugged_interface_keeps_nothing_else_from_going_back() {
    let Some(bench) = Bench::new() else { return };
    bench.apply(&changes(), "60s").assert_code(0);
    bench.run(&["apply", "--confirm"]).assert_code(0);
    bench.lab.sh("ip link del v0");
    let drifted = bench.run(&["status"]);
    let row = drifted.assert_code(1).stdout.lines();
    let row = row.clone().find(|line| line.starts_with("v0 MTU "));
    assert!(row.unwrap().contains("drifted: "), "{}", drifted.stdout);
    let rolled = bench.run(&["undo"]);
    rolled.assert_code(0).assert_err("v0 MTU is gone");
    let left = bench
        .lab
        .sh("sysctl -n net.ipv4.tcp_moderate_rcvbuf net.ipv4.tcp_rmem");
    let left: Vec<String> = left
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(left, OLD[..2]);
}

/// The power went: the settings with it. What is found is somebody else's, whatever the journal
/// says of it.
#[test]
fn after_a_boot_a_journal_is_closed_and_nothing_is_written() {
    let Some(bench) = Bench::with(SETUP) else {
        return;
    };
    bench.apply(&changes(), "60s").assert_code(0);
    bench.run(&["apply", "--confirm"]).assert_code(0);
    let file = bench.state().join("txn-0001.jsonl");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let text = fs::read_to_string(&file).unwrap();
    bench.until_unguarded();
    let lines: Vec<&str> = text.lines().collect();
    for cut in [1, 2, 3, lines.len() - 1] {
        let head: String = lines[..cut]
            .iter()
            .map(|line| format!("{line}\n"))
            .collect();
        fs::write(&file, head.replace(boot.trim(), "another-boot")).unwrap();
        let next = bench.run(&["undo", "99"]);
        assert!(
            next.assert_code(2)
                .stderr
                .contains("transaction 1: gone with the last boot"),
            "{cut}: {}",
            next.stderr
        );
        assert_eq!(bench.settings(), NEW, "cut after {cut} lines");
        assert_eq!(bench.phases(), ["rolled-back"]);
    }
    // A boot makes settings anew; here somebody has to.
    fs::write(&file, text).unwrap();
    bench.run(&["undo"]).assert_code(0);
    assert_eq!(bench.settings(), OLD);
}
