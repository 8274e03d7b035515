//! A network namespace with two ports and a slow switch between them.
//!
//! ```text
//!   p0 --- q0 - sw - q1 --- p1        q1 sends at 40 Mbit/s
//! ```
//!
//! The rate is so low that every machine finds it, however busy it is.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{Call, Ends, LONG, ready, root, skip};

/// Two ports and a bridge between them, without anything else that speaks.
pub const BRIDGED: &str = "
set -e
for all in all default; do echo 1 > /proc/sys/net/ipv6/conf/$all/disable_ipv6; done
ip link set lo up
ip link add p0 type veth peer name q0
ip link add p1 type veth peer name q1
ip link add sw type bridge
for port in q0 q1; do ip link set $port master sw; done
for port in sw q0 q1 p0 p1; do ip link set $port up; done
";

const SETUP: &str = "
set -e
for all in all default; do echo 1 > /proc/sys/net/ipv6/conf/$all/disable_ipv6; done
ip link set lo up
ip link add p0 type veth peer name q0
ip link add p1 type veth peer name q1
ip link add sw type bridge
ip address add 192.0.2.1/24 dev p0
for port in q0 q1; do ip link set $port master sw; done
for port in sw q0 q1 p0 p1; do ip link set $port up; done
tc qdisc add dev q1 root tbf rate 40mbit burst 16kb limit 32kb
";

/// Has the kernel kill what follows at the end of whoever started it. Who enters a user namespace loses
/// that (`commit_creds` in kernel/cred.c), so it comes after.
const WITH_PARENT: [&str; 3] = ["setpriv", "--pdeathsig", "KILL"];

/// The namespace; the kernel removes it with the process that holds it.
#[derive(Debug)]
pub struct Lab {
    holder: Ends,
}

impl Lab {
    /// Makes the namespace, as an ordinary user in a user namespace. Says `SKIP` where that
    /// cannot be had.
    pub fn new() -> Option<Self> {
        Self::with(SETUP)
    }

    /// The same with other commands in it.
    pub fn with(setup: &str) -> Option<Self> {
        let unshare = if root() { "-n" } else { "-Urn" };
        let made = Command::new("unshare").args([unshare, "true"]).status();
        if !made.is_ok_and(|status| status.success()) {
            skip(format_args!(
                "unshare {unshare} cannot make a namespace here"
            ));
            return None;
        }
        let mut holder = Command::new("unshare");
        holder
            .arg(unshare)
            .args(WITH_PARENT)
            .args(["sh", "-c"])
            .arg(format!("{setup}\necho ready\nexec sleep 7200"))
            .stdin(Stdio::null());
        let holder = ready(holder);
        Some(Self { holder })
    }

    /// Words that enter it.
    pub fn enter(&self) -> Vec<String> {
        let pid = self.holder.0.id().to_string();
        let mut words = vec!["nsenter".to_owned(), "-t".to_owned(), pid, "-n".to_owned()];
        if !root() {
            words.extend(["-U".to_owned(), "--preserve-credentials".to_owned()]);
        }
        words.extend(WITH_PARENT.map(str::to_owned));
        words
    }

    /// The call inside.
    pub fn inside(&self, call: Call) -> Call {
        call.below(self.enter())
    }

    /// Runs a command inside and returns what it says.
    pub fn sh(&self, command: &str) -> String {
        said(&self.enter(), command)
    }

    /// Everything about the interfaces that must not change, as lines of text.
    pub fn state(&self) -> Vec<String> {
        let mut links = self.settled_links();
        without_timers(&mut links);
        let mut state = Vec::new();
        for link in links.as_array().unwrap() {
            let name = link["ifname"].as_str().unwrap();
            let features = self.sh(&format!("ethtool -k {name}"));
            let qdiscs = self.sh(&format!("tc qdisc show dev {name}"));
            for text in [format!("{link:#}"), features, qdiscs] {
                state.extend(text.lines().map(|line| format!("{name}: {line}")));
            }
        }
        let all = self.sh("ip -o address; ip route show table all");
        state.extend(all.lines().map(str::to_owned));
        state
    }

    /// The links, once the kernel says their states: it waits for up to a second (net/core/link_watch.c).
    fn settled_links(&self) -> Value {
        let end = Instant::now() + LONG;
        loop {
            let links: Value = serde_json::from_str(&self.sh("ip -d -j link")).unwrap();
            if links.as_array().unwrap().iter().all(is_settled) {
                return links;
            }
            assert!(Instant::now() < end, "{links:#}");
            sleep(Duration::from_millis(50));
        }
    }

    /// The interfaces are as they were.
    #[track_caller]
    pub fn assert_state(&self, before: &[String]) {
        let now = self.state();
        let changed: Vec<_> = before
            .iter()
            .zip(&now)
            .filter(|(old, new)| old != new)
            .collect();
        assert!(
            changed.is_empty() && before.len() == now.len(),
            "changed: {changed:#?}"
        );
    }
}

/// What a command of a shell says below the words `enter`.
#[track_caller]
pub fn said(enter: &[String], command: &str) -> String {
    let output = Command::new(&enter[0])
        .args(&enter[1..])
        .args(["sh", "-c", command])
        .output()
        .unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Whether a link's state says what its carrier does.
fn is_settled(link: &Value) -> bool {
    let has = |flag: &str| link["flags"].as_array().unwrap().contains(&flag.into());
    if has("LOWER_UP") {
        !has("NO-CARRIER")
    } else {
        link["operstate"] != "UP"
    }
}

/// Takes out what runs by itself in a bridge.
fn without_timers(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(without_timers),
        Value::Object(map) => {
            // iproute2 from 6.10 on also says how many addresses a bridge has learned.
            map.retain(|key, _| !key.ends_with("timer") && key != "fdb_n_learned");
            map.values_mut().for_each(without_timers);
        }
        _ => {}
    }
}
