//! What tenants are billed, beside what the uplink has carried.

mod hour;
mod team;

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::uplink::{POLICY, Uplink};

/// Bytes that the uplink has sent.
fn carried(uplink: &Uplink) -> u64 {
    let text = uplink.lab.sh("ip -j -s link show u1");
    let links: Value = serde_json::from_str(&text).unwrap();
    links[0]["stats64"]["tx"]["bytes"].as_u64().unwrap()
}

fn bill(uplink: &Uplink, words: &[&str]) -> Value {
    let words = [&["bill", "--json"], words].concat();
    uplink.police(&words).run().json()
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

#[test]
fn a_bill_is_what_the_uplink_has_carried_whatever_becomes_of_the_daemon() {
    let Some(uplink) = Uplink::new() else { return };
    let policy = POLICY
        .replacen("[[tenant]]", "[bills]\n\n[[tenant]]", 1)
        .replace("ports = \"a1\"", "ports = \"a1\"\ncap = \"2mbit\"");
    fs::write(uplink.path("policy.toml"), policy).unwrap();
    let before = uplink.lab.state();
    let mut daemon = uplink.daemon(&[]);
    // Nothing of a tenant passes before all ports were seen.
    uplink.periods(&mut daemon, 2);
    let begin = carried(&uplink);
    let flood = uplink.flood("a");
    let others = [uplink.trickle("b"), uplink.trickle("c")];
    uplink.periods(&mut daemon, 6);

    // Killed under traffic: its limits stay, and what they count.
    daemon.kill();
    let mut daemon = uplink.daemon(&[]);
    uplink.periods(&mut daemon, 4);
    drop(flood);
    // What waits in a limiter is dropped with it.
    uplink.periods(&mut daemon, 3);

    // Stopped, while nothing is in a limiter: that would be dropped with it. What passes without limits is billed by
    // the next one.
    others.iter().for_each(|one| one.signal(Signal::STOP));
    uplink.periods(&mut daemon, 2);
    daemon.stop();
    others.iter().for_each(|one| one.signal(Signal::CONT));
    let stopped = carried(&uplink);
    let deadline = Instant::now() + Duration::from_secs(60);
    while carried(&uplink) < stopped + 500_000 {
        assert!(Instant::now() < deadline, "nothing passes without a daemon");
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut daemon = uplink.daemon(&[]);
    uplink.periods(&mut daemon, 2);
    drop(others);
    // Until nothing is on its way any more.
    let mut last = 0;
    while last != carried(&uplink) {
        last = carried(&uplink);
        uplink.periods(&mut daemon, 3);
    }
    daemon.stop();
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
    assert_eq!(
        sums(&bill(&uplink, &["--group-by", "host"])),
        [bytes, unseen]
    );
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
    let Some(uplink) = Uplink::new() else { return };
    let line = |words: &[&str], code: i32| {
        let ended = uplink.police(&[&["bill"], words].concat()).run();
        ended.assert_code(code);
        ended.only_line().to_owned()
    };
    let said = line(&[], 3);
    assert!(said.contains("add [bills] to the policy"), "{said}");
    let ended = uplink.police(&["bill", "--month", "2026-13"]).run();
    ended.assert_code(2);
    let part = "write year and month, as in 2026-11";
    assert!(ended.stderr.contains(part), "{}", ended.stderr);
    let policy = POLICY.replacen("[[tenant]]", "[bills]\nkeep_days = 1\n\n[[tenant]]", 1);
    fs::write(uplink.path("policy.toml"), policy).unwrap();
    let daemon = uplink.daemon(&["--count", "4"]);
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
        let bills = format!("[bills]\n{wrong}\n\n[[tenant]]");
        let ended = uplink.run_with(&POLICY.replacen("[[tenant]]", &bills, 1));
        ended.refused_for(part);
    }
}
