//! The shipped alerts from end to end: two daemons, a real etcd, a real Prometheus and a real Alertmanager. Every alert
//! is raised by what really causes it, reaches whom the shipped routes name, and ends with its cause.
//!
//! ```text
//!   plain:  a0 ─ a1, b0 ─ b1             ─┐
//!   member: u0 ─ u1, c0 ─ c1, d0 ─ d1    ─┴─ etcd (bridge), where Prometheus and Alertmanager run
//! ```
//!
//! `member` has its part of one cap over many hosts, `plain` has not. All times of rules and routes are a sixtieth of
//! the shipped ones.

mod quick;
mod servers;
mod stage;
mod web;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use nicety_testkit::etcd::Etcd;
use rustix::process::Signal;

use crate::cluster::stage::etcd;
use crate::harness::{as_root, installed, skip};
use servers::{Servers, alertmanager, name};
use stage::{Host, Stage};

const PLAIN: &str = "
[link]
capacity = \"4mbit\"
period = \"500ms\"
[[tenant]]
name = \"a\"
ports = \"a1\"
[[tenant]]
name = \"b\"
ports = \"b1\"
";

/// What the cluster guarantees to `u` and what the host guarantees to `c` do not fit the link together. `d` has no
/// guarantee.
const MEMBER: &str = "
[link]
capacity = \"4mbit\"
period = \"500ms\"
[cluster]
endpoints = ENDPOINTS
prefix = \"/test/\"
period = \"200ms\"
lease = \"5s\"
hosts = 1
[[tenant]]
name = \"u\"
ports = \"u1\"
total_max = \"3800kbit\"
total_guarantee = \"3mbit\"
[[tenant]]
name = \"c\"
ports = \"c1\"
guarantee = \"2mbit\"
[[tenant]]
name = \"d\"
ports = \"d1\"
";

/// Cuts a host off from etcd, and from nothing else.
const CUT: &str = "nft 'add table inet cut; \
    add chain inet cut out { type filter hook output priority 0; }; \
    add rule inet cut out tcp dport 2379 drop'";

/// Another program's own in the place of the limit, before the daemon has set that again.
pub const CLSACT: &str = "until tc qdisc del dev b1 ingress; tc qdisc add dev b1 clsact 2>/dev/null \
    && tc filter add dev b1 ingress pref 1 protocol all u32 match u32 0 0 flowid 1:1 2>/dev/null; \
    do tc qdisc del dev b1 clsact 2>/dev/null; done";

/// How long nothing may fire before anything happens: longer than every `for`, but that of a port that is away.
const CALM: Duration = Duration::from_secs(12);

#[test]
fn every_alert_is_raised_by_its_cause_and_ends_with_it() {
    if !as_root("only root may join namespaces of two hosts") {
        return;
    }
    if !installed("prometheus", "prometheus") {
        return;
    }
    if alertmanager().is_none() {
        skip("no Alertmanager here; on Debian: apt-get install prometheus-alertmanager");
        return;
    }
    let Some(etcd) = etcd(1) else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut stage = begin(&etcd, dir.path());
    calm(&stage);
    full_link(&stage);
    cut_off_and_changed(&mut stage);
    // Nothing has fired but what had a cause, and each once. A busy machine sends unevenly: what traffic raises may
    // have paused.
    let mut firings = stage.servers.firings();
    let mut may_pause = BY_TRAFFIC.to_vec();
    // A metric that is not scraped ends what it has raised.
    if stage.servers.missed(stage.member.name) {
        println!("the machine is so busy that a scrape was missed");
        may_pause.push(STALE);
    }
    for name in may_pause {
        if let Some(count) = firings.get_mut(name) {
            *count = 1;
        }
    }
    firings.retain(|name, _| !is_by_machine(name));
    let once = |name: &&str| ((*name).to_owned(), 1);
    let wanted: BTreeMap<String, usize> = ALL.iter().map(once).collect();
    if firings != wanted {
        stage.fail(&format!("fired: {firings:#?}, wanted: {wanted:#?}"));
    }
    told(&stage);
    for host in [&mut stage.plain, &mut stage.member] {
        let daemon = host.daemon.take().unwrap();
        daemon.stop();
    }
}

/// A daemon that gets no CPU says so rightly. That one which does is not said to stall was seen while all was well.
fn is_by_machine(name: &str) -> bool {
    name.starts_with("Stalled ")
}

const STALE: &str = "ClusterStale member";

/// Every alert that is raised here.
const ALL: [&str; 10] = [
    "GuaranteeNotMet member c",
    "GuaranteesTooLarge member",
    "Starved member d",
    "LinkFull member",
    STALE,
    "PortUnlimited plain b b1",
    "LimitLost plain b b1",
    "LimitLost plain a a1",
    "ReloadRefused plain",
    "Down plain",
];

/// Those that traffic raises.
const BY_TRAFFIC: &[&str] = ALL.split_at(4).0;

fn begin(etcd: &Etcd, dir: &std::path::Path) -> Stage {
    let mut plain = Host::new(etcd, ("plain", 11), &["a", "b"], dir);
    let mut member = Host::new(etcd, ("member", 12), &["u", "c", "d"], dir);
    plain.set(PLAIN);
    member.set(&MEMBER.replace("ENDPOINTS", &format!("{:?}", etcd.endpoints())));
    plain.start();
    member.start();
    let granted =
        |daemon: &crate::harness::Running| daemon.stderr().contains("the leader's grant holds");
    let daemon = member.daemon.as_mut().unwrap();
    daemon.until("a grant", granted);
    let targets = [&plain, &member].map(|host| (host.name, host.listens()));
    let servers = Servers::start(etcd.hub(), dir, &targets);
    let stage = Stage {
        plain,
        member,
        servers,
    };
    stage.until("both hosts scraped, all rules evaluated", |_| {
        stage.servers.scraped() == 2 && stage.servers.good_rules() == 16
    });
    stage
}

/// Idle hosts, and then such as send less than they may.
fn calm(stage: &Stage) {
    let begin = Instant::now();
    while begin.elapsed() < CALM {
        if begin.elapsed() > CALM / 2 {
            stage.member.send(1);
            stage.plain.send(1);
        }
        std::thread::sleep(Duration::from_millis(200));
        let alerts = stage.servers.alerts().unwrap_or_default();
        if !alerts.is_empty() {
            stage.fail(&format!("while all is well: {alerts:#?}"));
        }
    }
    stage.plain.send(0);
}

/// Everybody sends all they can: guarantees do not fit, and who has none starves.
fn full_link(stage: &Stage) {
    let host = &stage.member;
    let [not_met, too_large, starved, full] = [ALL[0], ALL[1], ALL[2], ALL[3]];
    host.send(6);
    stage.until_raised(
        "a guarantee is not met, a tenant starves, the link is full",
        &[not_met, too_large, starved, full],
    );
    // Without `u` everything fits, and `d` has what is left.
    host.senders["u"].send(0);
    stage.until_ended(
        "guarantees are met, nobody starves",
        &[not_met, too_large, starved],
    );
    host.send(0);
    stage.until("the link has room", |alerts| alerts.is_empty());
}

fn cut_off_and_changed(stage: &mut Stage) {
    let [stale, unlimited, lost_b, lost_a, refused, down] =
        [ALL[4], ALL[5], ALL[6], ALL[7], ALL[8], ALL[9]];
    stage.member.sh(CUT);
    // Another program puts its own in the place of the limit.
    let host = &stage.plain;
    host.sh(CLSACT);
    stage.until_raised("a port is without a limit", &[unlimited]);
    host.sh("tc qdisc del dev b1 clsact");
    stage.until_ended("the port has its limit again", &[unlimited]);
    stage.until_raised("a host hears nothing of its cluster", &[stale]);

    // What the daemon mends is told, and so is a policy that it refuses.
    host.sh("tc qdisc del dev a1 ingress");
    host.set("[link]\n");
    assert_ne!(host.run(&["reload"]).code(), 0);
    stage.until_raised("a limit is lost, a policy refused", &[lost_a, refused]);
    host.set(PLAIN);
    // A daemon that is gone silences what it has said, and nobody else.
    let daemon = stage.plain.daemon.take().unwrap();
    daemon.signal(Signal::KILL);
    drop(daemon);
    stage.until("a daemon is gone, and its alerts are silenced", |alerts| {
        let is = |name: &str, state: &str| alerts.get(name).is_some_and(|is| is == state);
        is(down, "active")
            && is(stale, "active")
            && is(lost_a, "suppressed")
            && is(refused, "suppressed")
    });
    stage.plain.start();
    stage.until_ended("the daemon is there again", &[down]);
    stage.until_ended(
        "changes of limits are forgotten",
        &[lost_a, lost_b, refused],
    );
    stage.until_raised("the other host is cut off still", &[stale]);
    stage.member.sh("nft delete table inet cut");
    stage.until("the host is granted again", |alerts| alerts.is_empty());
}

/// Who was told what: critical alerts go to the pager, each message is about one tenant or one host, and its end is
/// told as well.
fn told(stage: &Stage) {
    let begin = Instant::now();
    let (mut told, mut ended) = (BTreeSet::new(), BTreeSet::new());
    // A daemon that is gone has silenced the end of these.
    let silenced = [ALL[7], ALL[8], ALL[6]];
    let wanted: BTreeSet<String> = ALL.iter().map(|name| (*name).to_owned()).collect();
    loop {
        for message in stage.servers.messages() {
            let group = &message.body["groupLabels"];
            for alert in message.body["alerts"].as_array().unwrap() {
                let labels = &alert["labels"];
                for key in ["instance", "tenant"] {
                    let of =
                        |value: &serde_json::Value| value[key].as_str().unwrap_or("").to_owned();
                    assert_eq!(of(labels), of(group), "{message:#?}");
                }
                let critical = labels["severity"] == "critical";
                let path = if critical { "/pager" } else { "/team" };
                assert_eq!(message.path, path, "{message:#?}");
                if is_by_machine(&name(labels)) {
                    continue;
                }
                // One that joins a group and ends before its next message is told with its end alone.
                told.insert(name(labels));
                if alert["status"] == "resolved" {
                    ended.insert(name(labels));
                }
            }
        }
        let is_ended = |name: &String| silenced.contains(&name.as_str()) || ended.contains(name);
        if told == wanted && wanted.iter().all(is_ended) {
            return;
        }
        if begin.elapsed() > Duration::from_secs(60) {
            stage.fail(&format!("told: {told:#?}, ended: {ended:#?}"));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}
