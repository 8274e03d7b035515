//! One cap over three hosts: a real etcd, three daemons, real packets. What arrives behind the hosts is counted
//! all the while, and its sum stays below the cap whoever dies.
//!
//! ```text
//!   sender: a0 --- a1 ─┬─ u1 --- u0: counted     three times, each host in a namespace of its own
//!                      sw (bridge)   eth0 ─── etcd
//! ```

use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nicety_netdev::link::{Links, VethEnd};
use nicety_netdev::netns::NetNs;
use nicety_testkit::etcd::{Etcd, Options};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Running, alone, nicety, root};

/// The cap of all hosts, and the safe share of one, in Mbit/s.
const TOTAL: f64 = 12.0;
const SAFE: f64 = 3.0;
/// What each sender sends when it is on.
const WISH_MBIT: u64 = 10;
/// Numbers of the hosts on etcd's bridge.
const NUMBERS: [u8; 3] = [11, 12, 13];

const POLICY: &str = "
[link]
capacity = \"40mbit\"
period = \"200ms\"
[cluster]
endpoints = ENDPOINTS
prefix = \"/test/\"
period = \"200ms\"
lease = \"5s\"
hosts = 3
safe_share = 0.75
[[tenant]]
name = \"blue\"
ports = \"a1\"
total_max = \"12mbit\"
total_guarantee = \"9mbit\"
";

const SETUP: &str = "
set -e
for all in all default; do echo 1 > /proc/sys/net/ipv6/conf/$all/disable_ipv6; done
ip link add sw type bridge
for port in a1 u1; do ip link set $port master sw; done
for port in sw a1 u1; do ip link set $port up; done
bridge fdb add 02:00:00:00:00:99 dev u1 master static
";

/// Sends to where its host counts, at a rate that can be changed.
struct Sender {
    mbit: Arc<AtomicU64>,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sender {
    fn start(ns: &NetNs) -> Self {
        let socket = ns.run(|| UdpSocket::bind("192.0.2.1:0")).unwrap().unwrap();
        let (mbit, end) = (
            Arc::new(AtomicU64::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let (rate, ending) = (Arc::clone(&mbit), Arc::clone(&end));
        let thread = std::thread::spawn(move || {
            let packet = [0; 1200];
            let mut owed = 0.0;
            let mut last = Instant::now();
            while !ending.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
                let elapsed = last.elapsed().as_secs_f64();
                last = Instant::now();
                // What a busy machine has kept it from is not sent at once.
                owed = (owed + elapsed * rate.load(Ordering::Relaxed) as f64 * 1e6 / 8.0)
                    .min(50_000.0);
                while owed >= 1200.0 {
                    owed -= 1200.0;
                    let _ = socket.send_to(&packet, "192.0.2.99:9");
                }
            }
        });
        Self {
            mbit,
            end,
            thread: Some(thread),
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

struct Host {
    name: String,
    ns: NetNs,
    sink: NetNs,
    sender: Sender,
    daemon: Option<Running>,
    state: PathBuf,
}

impl Host {
    fn new(etcd: &Etcd, number: u8, dir: &TempDir) -> Self {
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
            sender: Sender::start(&guest),
            state: dir.path().join(&name),
            name,
            ns,
            sink,
            daemon: None,
        }
    }

    fn start(&mut self, dir: &TempDir) {
        let policy = dir.path().join("policy.toml");
        let words = [
            "police",
            "run",
            policy.to_str().unwrap(),
            "--label",
            &self.name,
        ];
        let words = words
            .iter()
            .copied()
            .chain(["--state", self.state.to_str().unwrap()]);
        let ns = format!(
            "--net=/proc/{}/fd/{}",
            std::process::id(),
            self.ns.as_fd().as_raw_fd()
        );
        let call = nicety(words).below(["nsenter", &ns, "setpriv", "--pdeathsig", "KILL"]);
        self.daemon = Some(call.limit(Duration::from_secs(150)).start());
    }

    /// The host's part in the cluster, as its daemon has written it down.
    fn cluster(&self) -> Option<Value> {
        let text = std::fs::read(self.state.join("state.json")).ok()?;
        let state: Value = serde_json::from_slice(&text).ok()?;
        Some(state["cluster"].clone())
    }

    fn is(&self, key: &str, wanted: impl Into<Value>) -> bool {
        let wanted = wanted.into();
        self.cluster().is_some_and(|cluster| cluster[key] == wanted)
    }

    fn arrived(&self) -> u64 {
        Links::open(&self.sink).unwrap().counters().unwrap()["u0"].rx_bytes
    }

    fn said(&self) -> String {
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

/// What arrives, and when.
struct Watch {
    samples: Vec<(Instant, Vec<u64>)>,
}

impl Watch {
    /// Rates of the last `window` in Mbit/s, by host.
    fn rates(&self, window: Duration) -> Vec<f64> {
        let (now, last) = self.samples.last().unwrap();
        let from = self
            .samples
            .iter()
            .rev()
            .find(|(at, _)| *now - *at >= window);
        let (then, first) = from.unwrap_or(&self.samples[0]);
        let seconds = (*now - *then).as_secs_f64().max(0.001);
        let bits = |(a, b): (&u64, &u64)| (b - a) as f64 * 8.0 / seconds / 1e6;
        first.iter().zip(last).map(bits).collect()
    }
}

struct Stage {
    hosts: Vec<Host>,
    watch: Watch,
    highest: f64,
}

impl Stage {
    /// Counts until the hosts and what arrives of each are as wanted.
    fn until(&mut self, what: &str, wanted: impl Fn(&[Host], &[f64]) -> bool) {
        let begin = Instant::now();
        let mut row = 0;
        while row < 3 {
            std::thread::sleep(Duration::from_millis(200));
            let arrived = self.hosts.iter().map(Host::arrived).collect();
            self.watch.samples.push((Instant::now(), arrived));
            let sum: f64 = self.watch.rates(Duration::from_secs(2)).iter().sum();
            // Frames are counted with their headers; a period of the limiters may be cut off at either end.
            self.highest = self.highest.max(sum);
            assert!(
                sum <= 1.1 * TOTAL,
                "{what}: {sum:.1} Mbit/s arrive of {TOTAL}"
            );
            let rates = self.watch.rates(Duration::from_secs(1));
            row = if wanted(&self.hosts, &rates) {
                row + 1
            } else {
                0
            };
            if begin.elapsed() > Duration::from_secs(40) {
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

    fn send(&self, on: [bool; 3]) {
        for (host, on) in self.hosts.iter().zip(on) {
            let mbit = if on { WISH_MBIT } else { 0 };
            host.sender.mbit.store(mbit, Ordering::Relaxed);
        }
    }
}

#[test]
fn one_cap_holds_over_three_hosts_whoever_dies() {
    const NAME: &str = "one_cap_holds_over_three_hosts_whoever_dies";
    let _alone = alone();
    if !root() {
        println!("SKIP {NAME}: only root may join namespaces of three hosts");
        return;
    }
    let etcd = match Etcd::start(Options::default()) {
        Ok(etcd) => etcd,
        Err(skip) => {
            println!("SKIP {NAME}: {}", skip.0);
            return;
        }
    };
    let dir = tempfile::tempdir().unwrap();
    let policy = POLICY.replace("ENDPOINTS", &format!("{:?}", etcd.endpoints()));
    std::fs::write(dir.path().join("policy.toml"), policy).unwrap();
    // The prefix is known, so that no grant waits for the end of what an older etcd may have granted.
    etcd.told(&["put", "/test/schema", "nicety cluster 1"])
        .unwrap();
    let mut stage = Stage {
        hosts: NUMBERS.map(|number| Host::new(&etcd, number, &dir)).into(),
        watch: Watch {
            samples: Vec::new(),
        },
        highest: 0.0,
    };
    stage.hosts.iter_mut().for_each(|host| host.start(&dir));
    let granted = |host: &Host| host.is("stands", "granted");
    stage.until("all are granted", |hosts, _| hosts.iter().all(granted));

    stage.send([true, true, true]);
    let full = |rates: &[f64]| rates.iter().sum::<f64>() > 0.85 * TOTAL;
    stage.until("equal shares", |_, rates| {
        full(rates) && rates.iter().all(|rate| *rate > 3.0)
    });
    stage.send([true, false, false]);
    stage.until("one takes what the others leave", |_, rates| {
        rates[0] > 0.8 * WISH_MBIT as f64
    });
    stage.send([true, true, true]);
    stage.until("equal shares again", |_, rates| {
        full(rates) && rates.iter().all(|rate| *rate > 3.0)
    });

    // Everybody sees the same, by their own words.
    let first = &stage.hosts[0];
    let state = first.state.to_str().unwrap();
    let policy = dir.path().join("policy.toml");
    let words = [
        "police",
        "status",
        "--cluster",
        "--json",
        "--policy",
        policy.to_str().unwrap(),
    ];
    let ns = format!(
        "--net=/proc/{}/fd/{}",
        std::process::id(),
        first.ns.as_fd().as_raw_fd()
    );
    let ended = nicety(words.iter().copied().chain(["--state", state]))
        .below(["nsenter", &ns])
        .run();
    ended.assert_code(0);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let granted_bps: u64 = rows
        .iter()
        .map(|row| row["max_bps"].as_u64().unwrap())
        .sum();
    assert!(rows.len() == 3 && granted_bps <= 12_000_000, "{report:#}");

    // The leader is killed: its guard lowers its port, and another one leads.
    let leader = stage
        .hosts
        .iter()
        .position(|host| host.is("leads", true))
        .unwrap();
    let daemon = stage.hosts[leader].daemon.take().unwrap();
    daemon.signal(Signal::KILL);
    let left: Vec<usize> = (0..3).filter(|host| *host != leader).collect();
    let others = left.clone();
    stage.until(
        "the killed leader's guard and another leader",
        move |hosts, rates| {
            let safe = rates[leader] > 0.5 * SAFE && rates[leader] < 1.15 * SAFE;
            let led = others
                .iter()
                .any(|host| hosts[*host].is("leads", true) && granted(&hosts[*host]));
            safe && led && full(rates)
        },
    );

    // A host without etcd falls back by itself, and comes back.
    let cut = *left
        .iter()
        .find(|host| !stage.hosts[**host].is("leads", true))
        .unwrap();
    etcd.cut(NUMBERS[cut], true).unwrap();
    stage.until(
        "a host that hears nobody has its safe share",
        |hosts, rates| hosts[cut].is("stands", "alone") && rates[cut] < 1.15 * SAFE,
    );
    etcd.cut(NUMBERS[cut], false).unwrap();
    stage.until("it is granted again", |hosts, rates| {
        granted(&hosts[cut]) && full(rates)
    });

    // The killed one comes back as well.
    stage.hosts[leader].start(&dir);
    stage.until("all are granted again", |hosts, rates| {
        hosts.iter().all(granted) && full(rates) && rates.iter().all(|rate| *rate > 3.0)
    });
    println!(
        "most in two seconds: {:.1} of {TOTAL} Mbit/s",
        stage.highest
    );
    for host in &mut stage.hosts {
        let daemon = host.daemon.take().unwrap();
        daemon.signal(Signal::TERM);
        daemon.wait().assert_code(0);
    }
}
