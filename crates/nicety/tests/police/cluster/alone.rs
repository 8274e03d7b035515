//! One host: etcd comes later than it, its policy is read twice at once, its daemon is killed, and what it recorded.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::stage::{Host, etcd};
use super::{NUMBERS, POLICY, SAFE};
use crate::harness::{as_root, nicety};

/// What the leader keeps free for the two hosts that it does not know, and what is left for this one, in Mbit/s.
const GRANT: f64 = super::TOTAL - 2.0 * SAFE;

fn until(host: &Host, what: &str, wanted: impl Fn(&Host) -> bool) {
    let begin = Instant::now();
    while !wanted(host) {
        // The reserve of the other hosts is never given away.
        let limit = host.shaped().unwrap_or_default();
        assert!(limit < 1.01 * GRANT, "{what}: {limit} Mbit/s of {GRANT}");
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "never {what}: {limit}\n{}",
            host.said()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    println!("{what}: {:.1} s", begin.elapsed().as_secs_f64());
}

fn is_granted(host: &Host) -> bool {
    host.is("stands", "granted") && host.shaped().is_some_and(|limit| limit > 0.95 * GRANT)
}

fn is_safe(host: &Host) -> bool {
    let limit = host.shaped().unwrap_or_default();
    limit > 0.9 * SAFE && limit < 1.01 * SAFE
}

/// Processes that guard ports of the host's namespace.
fn guards(host: &Host) -> usize {
    let inode = host.namespace().inode();
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let guards = processes.filter(|process| {
        let path = process.path();
        let words = fs::read(path.join("cmdline")).unwrap_or_default();
        let inside = fs::metadata(path.join("ns/net")).is_ok_and(|ns| ns.ino() == inode);
        inside && words.starts_with(b"nicety\0police\0guard")
    });
    guards.count()
}

#[test]
fn a_host_begins_without_etcd_and_its_guard_outlives_it() {
    if !as_root("only root may join the namespace of a host") {
        return;
    }
    let Some(mut etcd) = etcd(1) else { return };
    let dir = tempfile::tempdir().unwrap();
    let policy = POLICY.replace("ENDPOINTS", &format!("{:?}", etcd.endpoints()));
    fs::write(dir.path().join("policy.toml"), policy).unwrap();
    etcd.kill(0);

    // It shares its link all the same, says what is wrong and what to do, once, and tries again.
    let mut host = Host::new(&etcd, NUMBERS[0], dir.path());
    let record = dir.path().join("record");
    host.start_with(dir.path(), &["--out", record.to_str().unwrap()]);
    until(&host, "the safe share without etcd", |host| {
        is_safe(host) && host.is("stands", "alone")
    });
    until(&host, "a line about etcd", |host| {
        host.said().contains("cannot reach etcd")
    });
    let first = host.periods();
    until(&host, "ten periods more", |host| {
        host.periods() > first + 10
    });
    let said = host.said();
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("etcd")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    assert!(lines[0].contains("check endpoints of [cluster]"), "{said}");
    etcd.run(0).unwrap();
    until(&host, "a grant once etcd is there", is_granted);
    let daemon = host.daemon.take().unwrap();
    daemon.stop();
    recorded(&record);

    // Two reloads in one period: the second comes before the first has been carried out.
    host.start(dir.path());
    until(&host, "a grant", is_granted);
    let reloads = [0, 1].map(|_| host.police(&["reload"], &[]).start());
    for reload in reloads {
        reload.wait().assert_code(0);
    }
    until(&host, "a grant after two reloads", is_granted);
    assert_eq!(guards(&host), 1);

    // The daemon is killed: its guard lowers the port when the grant's time is over, and ends.
    let daemon = host.daemon.take().unwrap();
    daemon.kill();
    assert_eq!(guards(&host), 1);
    until(&host, "the guard alone", is_safe);
    until(&host, "the guard's end", |host| guards(host) == 0);
    assert!(is_safe(&host), "{:?}", host.shaped());
    host.start(dir.path());
    until(&host, "a grant for the next daemon", is_granted);
    let daemon = host.daemon.take().unwrap();
    daemon.stop();
    until(&host, "no guard", |host| guards(host) == 0);
}

/// The record has what the cluster gave, from nothing to a grant.
fn recorded(record: &std::path::Path) {
    let ended = nicety(["report", record.to_str().unwrap(), "--json"]).run();
    let report = ended.json();
    let periods = report["periods"].as_array().unwrap();
    let stands: Vec<&str> = periods
        .iter()
        .map(|period| period["cluster"]["stands"].as_str().unwrap())
        .collect();
    assert_eq!((stands[0], *stands.last().unwrap()), ("alone", "granted"));
    let granted = |period: &Value| period["tenants"][0]["granted"].clone();
    assert_eq!(granted(&periods[0])["max_bps"], SAFE * 1e6);
    let last = granted(periods.last().unwrap());
    assert_eq!(last["safe_bps"], SAFE * 1e6, "{last}");
    // It sends nothing.
    assert!(last["demand_bps"].as_f64().unwrap() < 1e6, "{last}");
    assert!(last["max_bps"].as_f64().unwrap() > 0.95e6 * GRANT, "{last}");
    assert!(
        periods.last().unwrap()["cluster"]["grant"]
            .as_u64()
            .unwrap()
            > 0
    );
}
