//! `nicety tune apply` and the way back, on settings of throw-away namespaces.
//!
//! Plans are written by the test, so that every kind of setting a namespace owns is changed,
//! whatever the rules would say about this machine.

mod boot;
mod faults;
mod kept;
mod killed;
mod measure;
mod path;
mod persist;
mod refused;
mod settings;
mod tuned;

use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Call, Ended, nicety};
use crate::lab::Lab;
use crate::plan_file::plan;

const SETUP: &str = "
set -e
sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
ip link add v0 numtxqueues 2 numrxqueues 2 type veth peer name v1 numtxqueues 2 numrxqueues 2
ip link add br0 type bridge
ip link set v0 master br0
for link in br0 v0 v1; do ip link set $link up; done
sysctl -qw net.ipv4.tcp_moderate_rcvbuf=0 net.ipv4.tcp_rmem='4096 131072 6291456'
";

/// A namespace with a state directory and plans.
struct Bench {
    lab: Lab,
    dir: TempDir,
}

/// What the tests change: setting, old value, new value. The peer of a veth keeps its own MTU.
fn changes() -> Vec<(Value, &'static str, &'static str)> {
    let sysctl = |name: &str| json!({"kind": "sysctl", "name": name});
    let feature = |name: &str| json!({"kind": "feature", "interface": "v0", "feature": name});
    vec![
        (json!({"kind": "mtu", "interface": "v0"}), "1500", "9000"),
        (feature("tx-tcp-segmentation"), "on", "off"),
        (sysctl("net.ipv4.tcp_moderate_rcvbuf"), "0", "1"),
        (
            sysctl("net.ipv4.tcp_rmem"),
            "4096 131072 6291456",
            "4096 131072 8388608",
        ),
    ]
}

impl Bench {
    fn new() -> Option<Self> {
        Self::with(SETUP)
    }

    fn with(setup: &str) -> Option<Self> {
        let lab = Lab::with(setup)?;
        let dir = tempfile::tempdir().unwrap();
        Some(Self { lab, dir })
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    fn write_plan(&self, changes: &[(Value, &str, &str)]) -> PathBuf {
        let path = self.dir.path().join("plan.json");
        fs::write(&path, plan(changes).to_string()).unwrap();
        path
    }

    fn call(&self, arguments: &[&str]) -> Call {
        let state = self.state();
        let call = ["tune"].iter().chain(arguments).copied();
        self.lab
            .inside(nicety(call.chain(["--state", state.to_str().unwrap()])))
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        self.call(arguments).run()
    }

    fn apply(&self, changes: &[(Value, &str, &str)], within: &str) -> Ended {
        let plan = self.write_plan(changes);
        self.run(&["apply", plan.to_str().unwrap(), "--for", within])
    }

    /// The settings of [`changes`], as other programs see them.
    fn settings(&self) -> Vec<String> {
        let text = self.lab.sh(
            "cat /proc/sys/net/ipv4/tcp_moderate_rcvbuf /proc/sys/net/ipv4/tcp_rmem; \
             ip -o link show v0 | grep -o 'mtu [0-9]*'; ethtool -k v0 | grep tx-tcp-segmentation:",
        );
        text.lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    }

    fn phases(&self) -> Vec<String> {
        // Whether all of it holds is not the question.
        let ended = self.run(&["status", "--json"]);
        let status: Value = serde_json::from_str(&ended.stdout).unwrap();
        let transactions = status["history"].as_array().unwrap();
        transactions
            .iter()
            .map(|t| t["phase"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Waits for a phase of the last transaction.
    #[track_caller]
    fn until(&self, phase: &str) {
        let end = Instant::now() + Duration::from_secs(120);
        while self.phases().last().map(String::as_str) != Some(phase) {
            assert!(Instant::now() < end, "not {phase}: {:?}", self.phases());
            sleep(Duration::from_millis(50));
        }
    }

    /// Waits until no guard is left, as after a kill of everything.
    #[track_caller]
    fn until_unguarded(&self) {
        let end = Instant::now() + Duration::from_secs(120);
        while !self.guards().is_empty() {
            assert!(Instant::now() < end, "the guard stays");
            sleep(Duration::from_millis(20));
        }
    }

    /// The guard of the state directory, found by its own command line.
    fn guards(&self) -> Vec<Pid> {
        let state = self.state().canonicalize().unwrap();
        let state = state.to_str().unwrap();
        let processes = fs::read_dir("/proc").unwrap().flatten();
        processes
            .filter_map(|entry| {
                let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
                let line = fs::read_to_string(entry.path().join("cmdline")).ok()?;
                let mut words = line.split('\0');
                let ours = words.any(|w| w == "guard") && line.split('\0').any(|w| w == state);
                ours.then(|| Pid::from_raw(pid)).flatten()
            })
            .collect()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if self.state().exists() {
            for guard in self.guards() {
                // Fails only when it has ended.
                let _ = kill_process(guard, Signal::KILL);
            }
        }
    }
}

const OLD: [&str; 4] = [
    "0",
    "4096 131072 6291456",
    "mtu 1500",
    "tx-tcp-segmentation: on",
];
const NEW: [&str; 4] = [
    "1",
    "4096 131072 8388608",
    "mtu 9000",
    "tx-tcp-segmentation: off",
];
