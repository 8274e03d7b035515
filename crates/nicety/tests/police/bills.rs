//! What tenants are billed, beside what the uplink has carried.

mod collectors;
mod hour;
mod team;

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Running, alone};
use crate::uplink::{POLICY, Uplink};

/// Bytes that the uplink has sent.
fn carried(uplink: &Uplink) -> u64 {
    let text = uplink.lab.sh("ip -j -s link show u1");
    let links: Value = serde_json::from_str(&text).unwrap();
    links[0]["stats64"]["tx"]["bytes"].as_u64().unwrap()
}

fn bill(uplink: &Uplink, words: &[&str]) -> Value {
    let words = [&["bill", "--json"], words].concat();
    let ended = uplink.police(&words).run();
    ended.assert_code(0);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// Bytes billed, and those that may have passed unseen, of all tenants.
fn sums(bill: &Value) -> [u64; 2] {
    ["bytes", "unseen_bytes"].map(|of| {
        let tenants = bill["tenants"].as_array().unwrap().iter();
        tenants
            .map(|tenant| tenant["sent"][of].as_u64().unwrap())
            .sum()
    })
}

/// Waits until the daemon has done so many more periods.
fn periods(uplink: &Uplink, daemon: &mut Running, more: u64) {
    let begin = uplink.status()["periods"].as_u64().unwrap();
    daemon.until("some periods", |_| {
        uplink.status()["periods"].as_u64().unwrap() >= begin + more
    });
}

#[test]
fn a_bill_is_what_the_uplink_has_carried_whatever_becomes_of_the_daemon() {
    let _alone = alone();
    let test = "a_bill_is_what_the_uplink_has_carried_whatever_becomes_of_the_daemon";
    let Some(uplink) = Uplink::new(test) else {
        return;
    };
    let policy = POLICY
        .replacen("[[tenant]]", "[bills]\n\n[[tenant]]", 1)
        .replace("ports = \"a1\"", "ports = \"a1\"\ncap = \"2mbit\"");
    fs::write(uplink.path("policy.toml"), policy).unwrap();
    let before = uplink.lab.state();
    let mut daemon = uplink.daemon(&[]);
    // Nothing of a tenant passes before all ports were seen.
    periods(&uplink, &mut daemon, 2);
    let begin = carried(&uplink);
    let flood = uplink.flood("a");
    let others = [uplink.trickle("b"), uplink.trickle("c")];
    periods(&uplink, &mut daemon, 6);

    // Killed under traffic: its limits stay, and what they count.
    daemon.signal(Signal::KILL);
    daemon.wait();
    let mut daemon = uplink.daemon(&[]);
    periods(&uplink, &mut daemon, 4);
    drop(flood);
    // What waits in a limiter is dropped with it.
    periods(&uplink, &mut daemon, 3);

    // Stopped: what passes without limits is billed by the next one.
    daemon.signal(Signal::TERM);
    daemon.wait().assert_code(0);
    let stopped = carried(&uplink);
    let deadline = Instant::now() + Duration::from_secs(60);
    while carried(&uplink) < stopped + 500_000 {
        assert!(Instant::now() < deadline, "nothing passes without a daemon");
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut daemon = uplink.daemon(&[]);
    periods(&uplink, &mut daemon, 2);
    drop(others);
    // Until nothing is on its way any more.
    let mut last = carried(&uplink);
    daemon.until("silence", |_| {
        std::thread::sleep(Duration::from_millis(600));
        std::mem::replace(&mut last, carried(&uplink)) == last
    });
    periods(&uplink, &mut daemon, 2);
    daemon.signal(Signal::TERM);
    daemon.wait().assert_code(0);
    let truth = carried(&uplink) - begin;

    let whole = bill(&uplink, &[]);
    let [bytes, unseen] = sums(&whole);
    let share = bytes as f64 / truth as f64;
    assert!(
        (0.999..=1.0).contains(&share),
        "{bytes} of {truth} billed: {whole}"
    );
    assert!(
        bytes + unseen >= truth,
        "{bytes} and {unseen} unseen of {truth}"
    );
    let limited = |tenant: usize| whole["tenants"][tenant]["limited_s"].as_f64().unwrap();
    assert!(limited(0) > 1.0, "{whole}");
    // One tenant, one host, and every sample say the same.
    let one = bill(&uplink, &["a"]);
    assert_eq!(one["tenants"].as_array().unwrap().len(), 1);
    assert_eq!(one["tenants"][0]["sent"], whole["tenants"][0]["sent"]);
    assert_eq!(sums(&bill(&uplink, &["--by-host"])), [bytes, unseen]);
    let samples = bill(&uplink, &["--samples"]);
    let rows = samples["samples"].as_array().unwrap().iter();
    let sum: u64 = rows
        .map(|row| row["usage"]["sent"]["bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(sum, bytes);
    uplink.lab.assert_state(&before);
}

#[test]
fn what_cannot_be_billed_is_said_in_one_line() {
    let _alone = alone();
    let test = "what_cannot_be_billed_is_said_in_one_line";
    let Some(uplink) = Uplink::new(test) else {
        return;
    };
    let line = |words: &[&str], code: i32| {
        let ended = uplink.police(&[&["bill"], words].concat()).run();
        ended.assert_code(code);
        ended.only_line().to_owned()
    };
    let said = line(&[], 3);
    assert!(said.contains("add [bills] to the policy"), "{said}");
    for (words, part) in [
        (
            &["--month", "2026-13"][..],
            "write year and month, as in 2026-11",
        ),
        (
            &["--ipfix", "tcp://a:1"],
            "write udp://127.0.0.1:4739 or a path",
        ),
    ] {
        let ended = uplink.police(&[&["bill"], words].concat()).run();
        ended.assert_code(2);
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
    let policy = POLICY.replacen("[[tenant]]", "[bills]\nkeep_days = 1\n\n[[tenant]]", 1);
    fs::write(uplink.path("policy.toml"), policy).unwrap();
    let daemon = uplink.daemon(&["--periods", "4"]);
    daemon.wait().assert_code(0);
    let said = line(&["nobody"], 2);
    assert!(said.ends_with("it has a, b, c"), "{said}");
    for (wrong, part) in [
        (
            "store = \"bills.sqlite\"",
            "neither an absolute path nor a PostgreSQL server",
        ),
        ("keep_days = 0", "keep_days"),
        ("stores = \"/a\"", "store"),
    ] {
        let policy = POLICY.replacen("[[tenant]]", &format!("[bills]\n{wrong}\n\n[[tenant]]"), 1);
        fs::write(uplink.path("policy.toml"), policy).unwrap();
        let file = uplink.path("policy.toml");
        let ended = uplink.police(&["run", file.to_str().unwrap()]).run();
        ended.assert_code(2);
        assert!(ended.only_line().contains(part), "{}", ended.stderr);
    }
}
