//! Two hosts, their daemons and who sends, and the servers that watch them.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nicety_netdev::link::{Links, VethEnd};
use nicety_netdev::netns::NetNs;
use nicety_testkit::etcd::Etcd;

use super::servers::{Alerts, Servers};
use crate::harness::{Call, Ended, Running, nicety};
use crate::sender::Sender;

/// How long anything is waited for.
const LIMIT: Duration = Duration::from_secs(120);

const QUIET: &str =
    "for all in all default; do echo 1 > /proc/sys/net/ipv6/conf/$all/disable_ipv6; done\n";

/// A host; the port of tenant `x` is `x1`, behind which `x0` sends.
pub struct Host {
    pub name: &'static str,
    pub daemon: Option<Running>,
    pub senders: BTreeMap<&'static str, Sender>,
    number: u8,
    ns: NetNs,
    state: PathBuf,
    policy: PathBuf,
}

impl Host {
    pub fn new(
        etcd: &Etcd,
        (name, number): (&'static str, u8),
        tenants: &[&'static str],
        dir: &Path,
    ) -> Self {
        let [ns, guest] = ["host", "guest"].map(|name| NetNs::create(name).unwrap());
        sh(&ns, QUIET);
        sh(&guest, QUIET);
        etcd.join(&ns, number).unwrap();
        let links = Links::open(&ns).unwrap();
        let mut senders = BTreeMap::new();
        for (at, tenant) in tenants.iter().enumerate() {
            let (near, far) = (format!("{tenant}1"), format!("{tenant}0"));
            links
                .add_veth(VethEnd::plain(&ns, &near), VethEnd::plain(&guest, &far))
                .unwrap();
            sh(&ns, &format!("ip link set {near} up"));
            // To nobody: what is sent has passed the limit when the host drops it.
            let net = format!("198.18.{at}");
            sh(
                &guest,
                &format!(
                    "ip link set {far} up && ip address add {net}.1/24 dev {far} && \
                     ip neighbour add {net}.99 lladdr 02:00:00:00:00:99 dev {far}"
                ),
            );
            let sender = Sender::start(&guest, &format!("{net}.1:0"), &format!("{net}.99:9"));
            senders.insert(*tenant, sender);
        }
        Self {
            name,
            daemon: None,
            senders,
            number,
            ns,
            state: dir.join(format!("{name}.state")),
            policy: dir.join(format!("{name}.toml")),
        }
    }

    /// Writes its policy.
    pub fn set(&self, policy: &str) {
        fs::write(&self.policy, policy).unwrap();
    }

    /// Where its metrics are.
    pub fn listens(&self) -> String {
        format!("198.51.100.{}:9471", self.number)
    }

    pub fn start(&mut self) {
        let policy = self.policy.to_str().unwrap().to_owned();
        let listens = self.listens();
        let words = ["run", &policy, "--label", self.name, "--listen", &listens];
        let call = self.police(&words, &["setpriv", "--pdeathsig", "KILL"]);
        self.daemon = Some(call.limit(Duration::from_secs(300)).start());
    }

    /// Runs `nicety police` with these words here.
    pub fn run(&self, words: &[&str]) -> Ended {
        self.police(words, &[]).run()
    }

    fn police(&self, words: &[&str], below: &[&str]) -> Call {
        let state = ["--state", self.state.to_str().unwrap()];
        let words = ["police"].iter().chain(words).chain(&state);
        let (id, fd) = (std::process::id(), self.ns.as_fd().as_raw_fd());
        let ns = format!("--net=/proc/{id}/fd/{fd}");
        nicety(words).below(["nsenter", &ns].iter().chain(below))
    }

    /// Runs a shell command on the host.
    pub fn sh(&self, script: &str) {
        sh(&self.ns, script);
    }

    /// Has all its tenants send so many Mbit/s.
    pub fn send(&self, mbit: u64) {
        for sender in self.senders.values() {
            sender.send(mbit);
        }
    }

    pub fn said(&self) -> String {
        let said = self
            .daemon
            .as_ref()
            .map_or_else(String::new, Running::stderr);
        format!("{}: {said}", self.name)
    }
}

fn sh(ns: &NetNs, script: &str) {
    let output = ns
        .run(|| Command::new("sh").args(["-c", script]).output())
        .unwrap()
        .unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
}

pub struct Stage {
    pub plain: Host,
    pub member: Host,
    pub servers: Servers,
}

impl Stage {
    /// Waits until Alertmanager has what is wanted.
    pub fn until(&self, what: &str, wanted: impl Fn(&Alerts) -> bool) {
        let begin = Instant::now();
        let mut last = None;
        loop {
            let alerts = self.servers.alerts();
            if alerts.as_ref().is_some_and(&wanted) {
                println!("{what}: {:.1} s", begin.elapsed().as_secs_f64());
                return;
            }
            last = alerts.or(last);
            if begin.elapsed() > LIMIT {
                self.fail(&format!("never {what}: {last:#?}"));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Waits until all of these are there, none of them suppressed.
    pub fn until_raised(&self, what: &str, names: &[&str]) {
        let raised = |alerts: &Alerts| {
            let is = |name: &&str| alerts.get(*name).is_some_and(|state| state == "active");
            names.iter().all(is)
        };
        self.until(what, raised);
    }

    /// Waits until none of these is there any more.
    pub fn until_ended(&self, what: &str, names: &[&str]) {
        let ended = |alerts: &Alerts| !names.iter().any(|name| alerts.contains_key(*name));
        self.until(what, ended);
    }

    pub fn fail(&self, what: &str) -> ! {
        let hosts = [&self.plain, &self.member].map(Host::said).join("\n");
        panic!("{what}\n{hosts}\n{}", self.servers.said());
    }
}
