//! The Ansible collection against three real sshd, one of which loses its network by the change.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::dashboards;
use crate::harness::{Ends, NICETY, as_root, own_mounts, ready, skip};
use crate::lab::Lab;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Where set-up puts ansible-core.
fn playbook() -> PathBuf {
    dashboards::tool("ansible", "ansible-playbook")
}

/// Three hosts, and the controller's namespace and files.
struct Fleet {
    hosts: Ends,
    lab: Lab,
    dir: TempDir,
}

/// What a playbook said, and how each host counted.
struct Played {
    said: String,
    recap: BTreeMap<String, BTreeMap<String, u32>>,
}

impl Played {
    fn count(&self, host: &str, what: &str) -> u32 {
        let counts = self.recap.get(host);
        let counts = counts.unwrap_or_else(|| panic!("{host} was not played: {}", self.said));
        counts[what]
    }
}

impl Fleet {
    /// Says `SKIP` where something is missing.
    fn new() -> Option<Self> {
        if !as_root("sshd lets others log in for root only") {
            return None;
        }
        for need in [
            &playbook(),
            Path::new("/usr/sbin/sshd"),
            Path::new("/usr/bin/python3"),
        ] {
            if !need.exists() {
                skip(format_args!(
                    "no {}; scripts/setup.sh test installs it",
                    need.display()
                ));
                return None;
            }
        }
        if !own_mounts() {
            return None;
        }
        let lab = Lab::with("set -e")?;
        let dir = tempfile::tempdir().unwrap();
        let collections = dir.path().join("collections/ansible_collections/nicety");
        fs::create_dir_all(&collections).unwrap();
        let ours = Path::new(REPOSITORY).join("packaging/ansible");
        symlink(ours.canonicalize().unwrap(), collections.join("network")).unwrap();
        let enter = lab.enter();
        let mut hosts = Command::new(&enter[0]);
        hosts
            .args(&enter[1..])
            .args([
                "sh",
                concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/ansible.sh"),
            ])
            .arg(dir.path())
            .stdin(Stdio::piped());
        let hosts = ready(hosts);
        Some(Self { hosts, lab, dir })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Plays a playbook of this text, or one of the collection.
    fn play(&self, words: &[&str]) -> Played {
        let enter = self.lab.enter();
        let own = |name: &str| self.path(name).into_os_string();
        let output = Command::new(&enter[0])
            .args(&enter[1..])
            .arg(playbook())
            .arg("-i")
            .arg(self.path("inventory"))
            .args(["-e", "ansible_python_interpreter=/usr/bin/python3"])
            .args(["-e", &format!("nicety_executable={NICETY}")])
            .args(words)
            .env("ANSIBLE_COLLECTIONS_PATH", own("collections"))
            .env("ANSIBLE_HOME", own("home"))
            .env("ANSIBLE_LOCAL_TEMP", own("local"))
            .env("ANSIBLE_SSH_CONTROL_PATH_DIR", own("control"))
            .env("ANSIBLE_PRIVATE_KEY_FILE", own("key"))
            .env("ANSIBLE_HOST_KEY_CHECKING", "False")
            .env("ANSIBLE_REMOTE_USER", "root")
            .env("ANSIBLE_TIMEOUT", "2")
            .env("ANSIBLE_NOCOLOR", "1")
            .env("ANSIBLE_SSH_TRANSFER_METHOD", "piped")
            .env(
                "ANSIBLE_SSH_ARGS",
                "-o ControlMaster=auto -o ControlPersist=30s -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR \
                 -o ServerAliveInterval=1 -o ServerAliveCountMax=3",
            )
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        let said = said.into_owned();
        let recap = said.lines().filter_map(|line| {
            let (host, counts) = line.split_once(" : ok=")?;
            let counts = format!("ok={counts}");
            let counts = counts.split_whitespace().filter_map(|count| {
                let (what, number) = count.split_once('=')?;
                Some((what.to_owned(), number.parse().ok()?))
            });
            Some((host.trim().to_owned(), counts.collect()))
        });
        let recap = recap.collect();
        Played { said, recap }
    }

    fn written(&self, text: &str) -> String {
        let path = self.path("playbook.yml");
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The setting that is tuned, on every host.
    fn settings(&self) -> Vec<String> {
        let setting = "cat /proc/sys/net/ipv4/tcp_moderate_rcvbuf";
        let ask = |n: u32| {
            let key = self.path("key");
            self.lab.sh(&format!(
                "ssh -i {} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR \
                 192.0.2.{n} {setting}",
                key.display()
            ))
        };
        (1..=3).map(|n| ask(n).trim().to_owned()).collect()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        // Its input ends, and with the script all hosts do.
        drop(self.hosts.0.stdin.take());
    }
}

/// Options that every task of these tests has.
const OURS: &str = "executable: \"{{ nicety_executable }}\", state_dir: \"{{ nicety_state_dir }}\"";

#[test]
fn a_fleet_is_tuned_and_a_lost_host_comes_back_by_itself() {
    let Some(fleet) = Fleet::new() else { return };
    // The host that will be lost goes first: the playbook stops there.
    let canary = |within: u32, more: &[&str]| {
        let within = format!("confirm_within={within}");
        let words = [
            "nicety.network.canary",
            "-e",
            "canary_become=false",
            "-e",
            &within,
            "-e",
            r#"{"only": ["T18"]}"#,
        ];
        fleet.play(&[&words, more].concat())
    };
    let stopped = canary(8, &["-e", "canary_order=reverse_inventory"]);
    assert_eq!(stopped.count("host3", "failed"), 1, "{}", stopped.said);
    assert!(
        stopped
            .said
            .contains("has undone the change and is back (rolled-back)"),
        "{}",
        stopped.said
    );
    assert!(!stopped.recap.contains_key("host1"), "{}", stopped.said);
    assert_eq!(fleet.settings(), ["0", "0", "0"]);

    // The others are tuned and keep it.
    let tuned = canary(60, &["--limit", "host1,host2"]);
    for host in ["host1", "host2"] {
        assert_eq!(
            (tuned.count(host, "changed"), tuned.count(host, "failed")),
            (2, 0),
            "{}",
            tuned.said
        );
    }
    assert_eq!(fleet.settings(), ["1", "1", "0"]);

    // A second time there is nothing to do; then it is taken back.
    let playbook = fleet.written(&format!(
        "
- hosts: fleet
  gather_facts: false
  tasks:
    - nicety.network.nicety_tune: {{only: [T18], {OURS}}}
      register: again
    - ansible.builtin.assert: {{that: [not again.changed, not again.settings]}}
    - nicety.network.nicety_tune: {{state: undone, {OURS}}}
      check_mode: true
      register: would
    - nicety.network.nicety_tune: {{state: undone, {OURS}}}
      register: undone
    - ansible.builtin.assert: {{that: [would.changed, undone.changed, would.settings | length == 1]}}
    - nicety.network.nicety_facts: {{goal: throughput, {OURS}}}
    - ansible.builtin.assert:
        that: [\"'T18' in (ansible_facts.nicety_findings | map(attribute='id'))\", ansible_facts.nicety.interfaces | length > 0]
"
    ));
    let undone = fleet.play(&[&playbook, "--limit", "host1,host2"]);
    assert_eq!(
        undone.count("host1", "failed") + undone.count("host2", "failed"),
        0,
        "{}",
        undone.said
    );
    assert_eq!(fleet.settings(), ["0", "0", "0"]);
}

#[test]
fn a_policy_is_replaced_whole_or_not_at_all_and_a_loss_is_a_failure() {
    let Some(fleet) = Fleet::new() else { return };
    // A program that measures a loss, which a real one does not do on demand.
    let fake = fleet.path("fake");
    let script = format!(
        r#"#!/bin/sh
case "$*" in
*--measure*)
    while [ $# -gt 0 ]; do [ "$1" != --out ] || out=$2; shift; done
    echo '{{"decision": "worse", "gain": {{"gain": -0.2, "sigma": 0.01}}}}' >"$out/measured.json"
    echo '{{"transaction": 1, "phase": "rolled-back", "settings": []}}' ;;
*) exec {NICETY} "$@" ;;
esac
"#
    );
    fs::write(&fake, script).unwrap();
    fs::set_permissions(&fake, Permissions::from_mode(0o755)).unwrap();
    let policy = Path::new(REPOSITORY).join("policies/two-shared.toml");
    let policy = policy.canonicalize().unwrap();
    let at = fleet.path("police.toml");
    let (fake, policy, path) = (fake.display(), policy.display(), at.display());
    let playbook = fleet.written(&format!(
        "
- hosts: host1
  gather_facts: false
  vars: {{good: \"{{{{ lookup('ansible.builtin.file', '{policy}') }}}}\"}}
  tasks:
    - nicety.network.nicety_police: {{policy: \"{{{{ good }}}}\", path: {path}, absent_ok: true, {OURS}}}
      register: first
    - nicety.network.nicety_police: {{policy: \"{{{{ good }}}}\", path: {path}, absent_ok: true, {OURS}}}
      register: again
    - nicety.network.nicety_police: {{policy: \"{{{{ good }}}}x = 1\", path: {path}, absent_ok: true, {OURS}}}
      register: wrong
      ignore_errors: true
    - ansible.builtin.assert:
        that: [first.changed, not again.changed, wrong.failed, \"'The policy is refused' in wrong.msg\"]
    - nicety.network.nicety_tune: {{only: [T18], measure: plan.toml, executable: {fake}, state_dir: \"{{{{ nicety_state_dir }}}}\"}}
      register: worse
      ignore_errors: true
    - ansible.builtin.assert: {{that: [worse.failed, not worse.changed, \"worse.decision == 'worse'\"]}}
"
    ));
    let played = fleet.play(&[&playbook]);
    assert_eq!(
        (
            played.count("host1", "failed"),
            played.count("host1", "ignored")
        ),
        (0, 2),
        "{}",
        played.said
    );
    let kept = fs::read_to_string(&at).unwrap();
    assert_eq!(
        kept.trim_end(),
        fs::read_to_string(policy.to_string()).unwrap().trim_end()
    );
}

#[test]
fn a_module_takes_the_options_that_it_shows() {
    let doc = dashboards::tool("ansible", "ansible-doc");
    if !doc.exists() {
        let doc = doc.display();
        skip(format_args!("no {doc}; scripts/setup.sh test installs it"));
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let collections = dir.path().join("ansible_collections/nicety");
    fs::create_dir_all(&collections).unwrap();
    let ours = Path::new(REPOSITORY).join("packaging/ansible");
    symlink(ours.canonicalize().unwrap(), collections.join("network")).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/ansible_options.py");
    let said = Command::new(dashboards::tool("ansible", "python"))
        .args([script.as_ref(), doc.as_os_str(), dir.path().as_os_str()])
        .env("ANSIBLE_COLLECTIONS_PATH", dir.path())
        .env("ANSIBLE_HOME", dir.path().join("home"))
        // No file beside the sources.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(said.status.success(), "{said:?}");
    assert_eq!(String::from_utf8_lossy(&said.stdout), "");
}
