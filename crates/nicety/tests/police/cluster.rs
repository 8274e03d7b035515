//! One cap over three hosts: a real etcd, three daemons, real packets. What arrives behind the hosts is counted
//! all the while, and its sum stays below the cap whoever dies.
//!
//! ```text
//!   sender: a0 --- a1 ─┬─ u1 --- u0: counted     three times, each host in a namespace of its own
//!                      sw (bridge)   eth0 ─── etcd
//! ```

mod alone;
pub mod stage;

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{as_root, each};
use stage::{Host, Stage};

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

#[test]
fn one_cap_holds_over_three_hosts_whoever_dies() {
    if !as_root("only root may join namespaces of three hosts") {
        return;
    }
    let Some(etcd) = stage::etcd(3) else { return };
    let dir = tempfile::tempdir().unwrap();
    let policy = POLICY.replace("ENDPOINTS", &format!("{:?}", etcd.endpoints()));
    std::fs::write(dir.path().join("policy.toml"), policy).unwrap();
    let mut stage = Stage::new(&etcd, dir.path());
    stage
        .hosts
        .iter_mut()
        .for_each(|host| host.start(dir.path()));
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
    let policy = dir.path().join("policy.toml");
    let words = ["status", "--cluster", "--json", "--policy"];
    let ended = stage.hosts[0].run(&[&words[..], &[policy.to_str().unwrap()]].concat());
    let report = ended.json();
    let tenant = &report["tenants"][0];
    let held = |host: &Value| host["held_bps"].as_u64().unwrap();
    let held = each(&tenant["hosts"], held);
    assert_eq!(held.len(), 3, "{report:#}");
    assert!(held.iter().sum::<u64>() <= 12_000_000, "{report:#}");
    let led = stage.hosts.iter().find(|host| host.is("leads", true));
    assert_eq!(report["leader"], led.unwrap().name.as_str(), "{report:#}");

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
    stage.hosts[leader].start(dir.path());
    stage.until("all are granted again", |hosts, rates| {
        hosts.iter().all(granted) && full(rates) && rates.iter().all(|rate| *rate > 3.0)
    });

    // A new policy begins with safe shares.
    stage.hosts[cut].run(&["reload"]).assert_code(0);
    stage.until("all are granted after a reload", |hosts, rates| {
        hosts.iter().all(granted) && full(rates) && rates.iter().all(|rate| *rate > 3.0)
    });

    // One stands still with nearly everything: its guard has lowered its port when its lease ends.
    let frozen = cut;
    stage.send([0, 1, 2].map(|host| host == frozen));
    stage.until("one takes nearly everything", |_, rates| {
        rates[frozen] > 0.8 * WISH_MBIT as f64
    });
    assert!(stage.hosts[frozen].limit() > 2.0 * SAFE);
    let daemon = stage.hosts[frozen].daemon.as_ref().unwrap();
    daemon.signal(Signal::STOP);
    let entry = format!("/test/member/{}", stage.hosts[frozen].name);
    let begin = Instant::now();
    while !etcd.told(&["get", &entry]).unwrap().is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(120), "{entry} stays");
        std::thread::sleep(Duration::from_millis(50));
    }
    let lowered = stage.hosts[frozen].limit();
    assert!(lowered < 1.05 * SAFE, "{lowered} Mbit/s after the lease");
    stage.send([true, true, true]);
    stage.until("the guard of one that stands still", |_, rates| {
        rates[frozen] < 1.15 * SAFE && full(rates)
    });
    let daemon = stage.hosts[frozen].daemon.as_ref().unwrap();
    daemon.signal(Signal::CONT);
    stage.until("it goes on", |hosts, rates| {
        hosts.iter().all(granted) && full(rates) && rates.iter().all(|rate| *rate > 3.0)
    });
    println!(
        "most in two seconds: {:.1} of {TOTAL} Mbit/s",
        stage.highest
    );
    for host in &mut stage.hosts {
        let daemon = host.daemon.take().unwrap();
        daemon.stop();
    }
}
