//! Three hosts with a daemon and a sender each; what arrives behind them is counted.

use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nicety_netdev::link::{Links, VethEnd};
use nicety_netdev::netns::NetNs;
use nicety_netdev::shaper::{PortLimit, Shapers};
use nicety_testkit::etcd::{Etcd, Options};
use serde_json::Value;

use super::{NUMBERS, TOTAL, WISH_MBIT};
use crate::harness::{Call, Ended, Running, nicety, skip};
use crate::sender::Sender;

const SETUP: &str = "
set -e
for all in all default; do echo 1 > /proc/sys/net/ipv6/conf/$all/disable_ipv6; done
ip link add sw type bridge
for port in a1 u1; do ip link set $port master sw; done
for port in sw a1 u1; do ip link set $port up; done
bridge fdb add 02:00:00:00:00:99 dev u1 master static
";

/// A real etcd of so many members; says `SKIP` where there is none. The prefix is known, so that no grant waits for the
/// end of what an older one may have granted.
pub fn etcd(members: usize) -> Option<Etcd> {
    let options = Options {
        members,
        ..Options::default()
    };
    let etcd = Etcd::start(options).map_err(|why| skip(why.0)).ok()?;
    etcd.told(&["put", "/test/schema", "nicety cluster 1"])
        .unwrap();
    Some(etcd)
}

pub struct Host {
    pub name: String,
    pub daemon: Option<Running>,
    ns: NetNs,
    sink: NetNs,
    sender: Sender,
    state: PathBuf,
}

impl Host {
    pub fn new(etcd: &Etcd, number: u8, dir: &Path) -> Self {
        let [ns, guest, sink] = ["host", "guest", "sink"].map(|name| NetNs::create(name).unwrap());
        etcd.join(&ns, number).unwrap();
        let links = Links::open(&ns).unwrap();
        for (near, far, there) in [("a1", "a0", &guest), ("u1", "u0", &sink)] {
            links
                .add_veth(VethEnd::plain(&ns, near), VethEnd::plain(there, far))
                .unwrap();
        }
        sh(&ns, SETUP);
        sh(
            &guest,
            "ip link set a0 up && ip address add 192.0.2.1/24 dev a0 && \
             ip neighbour add 192.0.2.99 lladdr 02:00:00:00:00:99 dev a0",
        );
        sh(&sink, "ip link set u0 address 02:00:00:00:00:99 up");
        let name = format!("h{number}");
        Self {
            sender: Sender::start(&guest, "192.0.2.1:0", "192.0.2.99:9"),
            state: dir.join(&name),
            name,
            ns,
            sink,
            daemon: None,
        }
    }

    /// Starts its daemon with `dir/policy.toml`.
    pub fn start(&mut self, dir: &Path) {
        self.start_with(dir, &[]);
    }

    /// The same with more words.
    pub fn start_with(&mut self, dir: &Path, more: &[&str]) {
        let policy = dir.join("policy.toml");
        let words = ["run", policy.to_str().unwrap(), "--label", &self.name];
        let words = [&words[..], more].concat();
        let call = self.police(&words, &["setpriv", "--pdeathsig", "KILL"]);
        self.daemon = Some(call.limit(Duration::from_secs(900)).start());
    }

    /// Its network namespace.
    #[allow(dead_code, reason = "the tests of accidents do without")]
    pub fn namespace(&self) -> &NetNs {
        &self.ns
    }

    /// Sends as much, in Mbit/s.
    pub fn send(&self, mbit: u64) {
        self.sender.send(mbit);
    }

    /// Runs `nicety police` with these words here.
    #[allow(dead_code, reason = "the tests of accidents do without")]
    pub fn run(&self, words: &[&str]) -> Ended {
        self.police(words, &[]).run()
    }

    pub fn police(&self, words: &[&str], below: &[&str]) -> Call {
        let state = ["--state", self.state.to_str().unwrap()];
        let words = ["police"].iter().chain(words).chain(&state);
        let (id, fd) = (std::process::id(), self.ns.as_fd().as_raw_fd());
        let ns = format!("--net=/proc/{id}/fd/{fd}");
        nicety(words).below(["nsenter", &ns].iter().chain(below))
    }

    /// What the kernel lets pass, in Mbit/s.
    pub fn limit(&self) -> f64 {
        self.shaped()
            .unwrap_or_else(|| panic!("{} has no limit", self.name))
    }

    /// The same; none before the first daemon has set one.
    pub fn shaped(&self) -> Option<f64> {
        match Shapers::open(&self.ns).unwrap().read("a1").unwrap() {
            PortLimit::Limited(shape) => Some(shape.rate.bps() / 1e6),
            _ => None,
        }
    }

    /// The host's part in the cluster, as its daemon has written it down.
    fn cluster(&self) -> Option<Value> {
        let text = std::fs::read(self.state.join("state.json")).ok()?;
        let state: Value = serde_json::from_slice(&text).ok()?;
        Some(state["cluster"].clone())
    }

    pub fn is(&self, key: &str, wanted: impl Into<Value>) -> bool {
        let wanted = wanted.into();
        self.cluster().is_some_and(|cluster| cluster[key] == wanted)
    }

    /// How many periods its daemon has done.
    #[allow(dead_code, reason = "the tests of accidents do without")]
    pub fn periods(&self) -> u64 {
        let text = std::fs::read(self.state.join("state.json")).unwrap();
        let state: Value = serde_json::from_slice(&text).unwrap();
        state["periods"].as_u64().unwrap()
    }

    fn arrived(&self) -> u64 {
        Links::open(&self.sink).unwrap().counters().unwrap()["u0"].rx_bytes
    }

    pub fn said(&self) -> String {
        self.daemon
            .as_ref()
            .map_or_else(String::new, Running::stderr)
    }
}

fn sh(ns: &NetNs, script: &str) {
    let output = ns
        .run(|| Command::new("sh").args(["-c", script]).output())
        .unwrap()
        .unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
}

/// What arrives, and between which moments it was counted.
struct Watch {
    samples: Vec<([Instant; 2], Vec<u64>)>,
}

impl Watch {
    /// Rates of the last `window` in Mbit/s, by host: at least these, however slowly it was counted.
    fn rates(&self, window: Duration) -> Vec<f64> {
        let ([.., now], last) = self.samples.last().unwrap();
        let from = self
            .samples
            .iter()
            .rev()
            .find(|([at, _], _)| *now - *at >= window);
        let ([then, _], first) = from.unwrap_or(&self.samples[0]);
        let seconds = (*now - *then).as_secs_f64().max(0.001);
        let bits = |(a, b): (&u64, &u64)| (b - a) as f64 * 8.0 / seconds / 1e6;
        first.iter().zip(last).map(bits).collect()
    }
}

pub struct Stage {
    pub hosts: Vec<Host>,
    /// Most of all hosts in two seconds, in Mbit/s.
    pub highest: f64,
    /// Longest time in which the ports together let more pass than the cap and 1 %.
    pub over: Duration,
    over_since: Option<Instant>,
    watch: Watch,
}

impl Stage {
    /// Hosts without daemons, on etcd's bridge.
    pub fn new(etcd: &Etcd, dir: &Path) -> Self {
        Self {
            hosts: NUMBERS.map(|number| Host::new(etcd, number, dir)).into(),
            highest: 0.0,
            over: Duration::ZERO,
            over_since: None,
            watch: Watch {
                samples: Vec::new(),
            },
        }
    }

    /// Counts until the hosts and what arrives of each are as wanted.
    pub fn until(&mut self, what: &str, wanted: impl Fn(&[Host], &[f64]) -> bool) {
        let begin = Instant::now();
        let mut row = 0;
        while row < 3 {
            self.look(what);
            let rates = self.watch.rates(Duration::from_secs(1));
            row = if wanted(&self.hosts, &rates) {
                row + 1
            } else {
                0
            };
            if begin.elapsed() > Duration::from_secs(120) {
                let said: Vec<String> = self.hosts.iter().map(Host::said).collect();
                let states: Vec<_> = self.hosts.iter().map(Host::cluster).collect();
                panic!(
                    "never {what}: {rates:?}\n{}\n{states:#?}",
                    said.join("\n--\n")
                );
            }
        }
        let rates = self.watch.rates(Duration::from_secs(1));
        println!(
            "{what}: {:.1} s, {rates:.1?} Mbit/s",
            begin.elapsed().as_secs_f64()
        );
    }

    /// Counts once, a fifth of a second after the last time.
    pub fn look(&mut self, what: &str) {
        std::thread::sleep(Duration::from_millis(200));
        let begin = Instant::now();
        let arrived = self.hosts.iter().map(Host::arrived).collect();
        self.watch.samples.push(([begin, Instant::now()], arrived));
        let sum: f64 = self.watch.rates(Duration::from_secs(2)).iter().sum();
        // Frames are counted with their headers; a period of the limiters may be cut off at either end.
        self.highest = self.highest.max(sum);
        assert!(
            sum <= 1.1 * TOTAL,
            "{what}: {sum:.1} Mbit/s arrive of {TOTAL}"
        );
        let limits: Option<f64> = self.hosts.iter().map(Host::shaped).sum();
        self.over_since = if limits.is_some_and(|sum| sum > 1.01 * TOTAL) {
            Some(self.over_since.unwrap_or_else(Instant::now))
        } else {
            None
        };
        let over = self.over_since.map(|since| since.elapsed());
        self.over = self.over.max(over.unwrap_or_default());
    }

    pub fn send(&self, on: [bool; 3]) {
        for (host, on) in self.hosts.iter().zip(on) {
            host.send(if on { WISH_MBIT } else { 0 });
        }
    }
}
