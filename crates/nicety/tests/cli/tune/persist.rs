//! `nicety tune persist`: files below a recorded host, never this one's.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Ended, nicety};
use crate::hosts::Tree;

/// A recorded host with a state directory beside it.
struct Recorded {
    tree: TempDir,
    state: TempDir,
}

impl Recorded {
    fn new() -> Self {
        let mut tree = Tree::of_case("oracle-large-kvm");
        tree.put("etc/sysctl.d/50-admin.conf", "net.core.rmem_max = 131071\n");
        tree.put("etc/sysctl.conf", "net.core.wmem_max = 131071\n");
        Self {
            tree: tree.written(),
            state: tempfile::tempdir().unwrap(),
        }
    }

    fn tune(&self, arguments: &[&str]) -> Ended {
        let state = ["--state", self.state.path().to_str().unwrap()];
        let words = ["tune"].iter().chain(arguments).chain(&state).copied();
        nicety(words).run()
    }

    fn persist(&self, arguments: &[&str]) -> Ended {
        let root = ["persist", "--sysroot", self.tree.path().to_str().unwrap()];
        self.tune(&[&root, arguments].concat())
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.tree.path().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    /// Everything below `etc`.
    fn files(&self) -> BTreeMap<PathBuf, String> {
        fn walk(folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(&path, found);
                } else {
                    drop(found.insert(path.clone(), fs::read_to_string(path).unwrap()));
                }
            }
        }
        let mut found = BTreeMap::new();
        walk(&self.tree.path().join("etc"), &mut found);
        found
    }
}

#[test]
fn files_come_say_whose_keys_they_take_and_go() {
    let host = Recorded::new();
    let before = host.files();
    let shown = host.persist(&["--rtt", "100ms", "--dry-run"]);
    shown.assert_code(0);
    shown.assert_out("==> /etc/sysctl.d/99-nicety.conf\n");
    assert_eq!(host.files(), before);

    let written = host.persist(&["--rtt", "100ms", "--json"]);
    let report = written.json();
    assert_eq!(report["transaction"], 1);
    for (key, part) in [
        (
            "owners",
            "/etc/sysctl.d/50-admin.conf sets net.core.rmem_max = 131071",
        ),
        ("owners", "/etc/sysctl.conf sets"),
        ("by_hand", "irqbalance"),
    ] {
        let lines = report[key].as_array().unwrap();
        let has = |line: &Value| line.as_str().unwrap().contains(part);
        assert!(lines.iter().any(has), "no {part} in {report:#}");
    }
    let sysctl = host.text("etc/sysctl.d/99-nicety.conf");
    for line in [
        "net.core.rmem_max = 134217728\n",
        "net.ipv4.tcp_rmem = 4096 87380 134217728\n",
        "net.bridge.bridge-nf-call-iptables = 0\n",
    ] {
        assert!(sysctl.contains(line), "{sysctl}");
    }
    assert!(
        host.text("etc/udev/rules.d/90-nicety.rules")
            .contains("br_netfilter")
    );
    let link = host.text("etc/systemd/network/10-nicety-eth4.link");
    assert!(link.contains("Path=pci-0000:01:00.0\n") && link.contains("LargeReceiveOffload=no\n"));
    assert!(
        host.text("etc/nicety/libvirt/web.xml")
            .contains("<vcpupin vcpu='0' cpuset='")
    );
    let kept: Value = serde_json::from_str(&host.text("etc/nicety/tune.json")).unwrap();
    let interrupt = |setting: &Value| setting["target"]["name"] == "eth4-TxRx-3";
    assert!(kept["settings"].as_array().unwrap().iter().any(interrupt));
    let unit = host.text("etc/systemd/system/nicety-tune.service");
    assert!(unit.contains(&format!("ExecStart={} tune boot\n", crate::harness::NICETY)));

    let again = host.persist(&["--rtt", "100ms"]);
    again
        .assert_code(0)
        .assert_err("everything is kept already");
    let all = host.files();
    host.persist(&["--remove"]).assert_code(0);
    assert_eq!(host.files(), before);
    assert!(!host.tree.path().join("etc/nicety").exists());
    // The removal is a transaction like any other, and so was the writing.
    // Only who names it gets the files back.
    host.tune(&["undo", "2"]).assert_code(0);
    assert_eq!(host.files(), all);
    host.persist(&["--remove"]).assert_code(0);
    let ended = host.tune(&["undo"]);
    let said = &ended.assert_code(0).stderr;
    assert!(
        said.starts_with("skipped transaction 3: it removed kept files"),
        "{said}"
    );
    assert_eq!(host.files(), before);
    host.tune(&["undo", "3"]).assert_code(0);
    assert_eq!(host.files(), all);
    host.tune(&["undo", "1", "--force"]).assert_code(0);
    assert_eq!(host.files(), before);
}

#[test]
fn later_settings_join_earlier_ones() {
    let host = Recorded::new();
    host.persist(&["--only", "T21"]).assert_code(0);
    host.persist(&["--only", "T12"]).assert_code(0);
    assert!(
        host.text("etc/sysctl.d/99-nicety.conf")
            .contains("bridge-nf")
    );
    assert!(
        host.text("etc/systemd/network/10-nicety-eth4.link")
            .contains("LargeReceive")
    );
}

#[test]
fn a_profile_of_tuned_stands_alone() {
    let host = Recorded::new();
    let ended = host.persist(&["--rtt", "100ms", "--format", "tuned"]);
    ended.assert_code(0);
    ended.assert_out("by hand: tuned-adm profile nicety\n");
    ended.assert_out("not kept: interrupt eth4-TxRx-0");
    let old = host.text("etc/tuned/nicety/tuned.conf");
    // tuned 2.23 and newer read another folder.
    std::fs::create_dir(host.tree.path().join("etc/tuned/profiles")).unwrap();
    host.persist(&["--rtt", "100ms", "--format", "tuned"])
        .assert_code(0);
    let profile = host.text("etc/tuned/profiles/nicety/tuned.conf");
    assert_eq!(profile, old);
    assert!(profile.contains("features=lro off\n") && profile.contains("[sysctl]\n"));
    assert!(!host.tree.path().join("etc/nicety").exists());
    host.persist(&["--remove"]).assert_code(0);
    for folder in ["etc/tuned", "etc/tuned/profiles"] {
        assert!(!host.tree.path().join(folder).join("nicety").exists());
    }
}

/// A journal cut after any line, found by a later boot: files do not go with the boot.
#[test]
fn a_kill_between_any_two_files_is_undone_even_after_a_boot() {
    let host = Recorded::new();
    let before = host.files();
    host.persist(&[]).assert_code(0);
    let all = host.files();
    let journal = host.state.path().join("txn-0001.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    host.tune(&["undo"]).assert_code(0);
    let lines: Vec<&str> = text.lines().collect();
    let applied = lines
        .iter()
        .position(|line| line.contains("\"applied\""))
        .unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    for cut in 1..applied {
        let head: Vec<&str> = lines[..cut].to_vec();
        // As if every file that was intended had been written.
        let intended = |path: &&PathBuf| {
            head.iter()
                .any(|l| l.contains("\"intent\"") && l.contains(path.to_str().unwrap()))
        };
        for path in all
            .keys()
            .filter(|path| !before.contains_key(*path))
            .filter(intended)
        {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &all[path]).unwrap();
        }
        let cut_text: String = head.iter().map(|l| format!("{l}\n")).collect();
        fs::write(&journal, cut_text.replace(boot.trim(), "another-boot")).unwrap();
        host.tune(&["undo", "99"]).assert_code(2);
        assert_eq!(host.files(), before, "cut after {cut} lines");
    }
}

#[test]
fn bad_calls_are_one_line() {
    let host = Recorded::new();
    let kept = host.tree.path().join("etc/nicety/tune.json");
    fs::create_dir_all(kept.parent().unwrap()).unwrap();
    fs::write(&kept, "{\"schema\": 1, \"settings\": 7}").unwrap();
    let ended = host.persist(&[]);
    let line = ended.assert_code(2).only_line();
    assert!(
        line.contains("tune.json") && line.contains("--remove"),
        "{line}"
    );
    host.persist(&["--remove"]).assert_code(0);
    let nothing = host.persist(&["--only", "T18"]);
    assert!(
        nothing
            .assert_code(1)
            .only_line()
            .contains("there is nothing to keep")
    );
    let absent = host.tune(&["persist", "--sysroot", "/nowhere"]);
    assert!(absent.assert_code(2).only_line().contains("/nowhere"));
}
