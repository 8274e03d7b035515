//! `tune apply` and `tune persist`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use crate::campaign::{self, Scene};
use crate::harness::{Call, nicety};
use crate::lab::Lab;
use crate::plan_file::plan;

const SETUP: &str = "
set -e
echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
ip link add v0 type veth peer name v1
for link in v0 v1; do ip link set $link up; done
echo '4096 131072 6291456' >/proc/sys/net/ipv4/tcp_rmem
";

pub struct Apply {
    lab: Lab,
    pub dir: TempDir,
}

impl Apply {
    pub fn new() -> Option<Self> {
        let lab = Lab::with(SETUP)?;
        let dir = tempfile::tempdir().unwrap();
        Some(Self { lab, dir })
    }

    pub fn tune(&self, words: &[&str]) -> Call {
        let state = self.dir.path().join("state");
        let words = ["tune"].iter().chain(words).copied();
        self.lab
            .inside(nicety(words.chain(["--state", state.to_str().unwrap()])))
    }
}

impl Apply {
    pub fn inside(&self, call: Call) -> Call {
        self.lab.inside(call)
    }

    /// Undone after so long unless it is confirmed.
    pub fn apply(&self, confirm_within: &str) -> Call {
        let file = self.dir.path().join("plan.json");
        let feature =
            json!({"kind": "feature", "interface": "v0", "feature": "tx-tcp-segmentation"});
        let rmem = json!({"kind": "sysctl", "name": "net.ipv4.tcp_rmem"});
        let changes = [
            (json!({"kind": "mtu", "interface": "v0"}), "1500", "9000"),
            (feature, "on", "off"),
            (rmem, "4096 131072 6291456", "4096 131072 8388608"),
        ];
        fs::write(&file, plan(&changes).to_string()).unwrap();
        self.tune(&["apply", file.to_str().unwrap(), "--for", confirm_within])
    }
}

impl Scene for Apply {
    fn call(&self) -> Call {
        self.apply("60s")
    }

    fn span(&self) -> Duration {
        Duration::from_millis(80)
    }

    fn recover(&self) {
        self.tune(&["undo", "--all"]).run();
    }

    fn state(&self) -> Vec<String> {
        let mut state = self.lab.state();
        state.push(self.lab.sh("cat /proc/sys/net/ipv4/tcp_rmem"));
        state
    }
}

#[test]
fn tune_apply_killed() {
    if let Some(scene) = Apply::new() {
        campaign::killed("tune apply", &scene);
    }
}

#[test]
fn tune_apply_refused() {
    if let Some(scene) = Apply::new() {
        campaign::refused("tune apply", &scene);
    }
}

/// Files below a recorded host.
pub struct Persist(pub TempDir);

impl Persist {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("proc/sys/kernel/osrelease", "6.1.0\n"),
            ("proc/sys/net/core/rmem_max", "212992\n"),
            ("etc/sysctl.d/50-admin.conf", "net.core.rmem_max = 131071\n"),
            ("etc/systemd/system/own.service", "[Unit]\n"),
        ] {
            let path = dir.path().join("host").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(dir)
    }

    pub fn tune(&self, words: &[&str]) -> Call {
        let (root, state) = (self.0.path().join("host"), self.0.path().join("state"));
        let more = [
            "--sysroot",
            root.to_str().unwrap(),
            "--state",
            state.to_str().unwrap(),
        ];
        nicety(["tune"].iter().chain(words).copied().chain(more))
    }
}

impl Scene for Persist {
    fn call(&self) -> Call {
        let file = self.0.path().join("plan.json");
        let knob = json!({"kind": "sysctl", "name": "net.core.rmem_max"});
        fs::write(&file, plan(&[(knob, "212992", "16777216")]).to_string()).unwrap();
        self.tune(&["persist", file.to_str().unwrap()])
    }

    fn span(&self) -> Duration {
        Duration::from_millis(50)
    }

    fn recover(&self) {
        self.tune(&["persist", "--remove"]).run();
    }

    fn state(&self) -> Vec<String> {
        let mut state = Vec::new();
        files(&self.0.path().join("host/etc"), &mut state);
        state.sort();
        state
    }
}

fn files(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(format!(
                "{}: {}",
                path.display(),
                fs::read_to_string(&path).unwrap()
            ));
        }
    }
}

#[test]
fn tune_persist_killed() {
    campaign::killed("tune persist", &Persist::new());
}

#[test]
fn tune_persist_refused() {
    campaign::refused("tune persist", &Persist::new());
}
