//! Packets a second, with real frames.

use std::fs;

use serde_json::Value;

use crate::harness::{Running, nicety};
use crate::uplink::{POLICY, Uplink};

fn policy(key: &str) -> String {
    POLICY.replace("ports = \"a1\"", &format!("ports = \"a1\"\n{key}"))
}

/// The mean rate of the first limited tenant over some periods, once it is near its limit.
fn mean(daemon: &mut Running, uplink: &Uplink, of: impl Fn(&Value) -> &Value) -> f64 {
    let (mut last, mut rates) = (0, Vec::new());
    daemon.until("packets at their limit", |_| {
        let status = uplink.status();
        let period = status["periods"].as_u64().unwrap();
        let state = &of(&status)["tenants"][0];
        let (rate, limit) = (&state["rate_pps"], &state["limit_pps"]);
        let (Some(rate), Some(limit)) = (rate.as_f64(), limit.as_f64()) else {
            return false;
        };
        if period != last && (!rates.is_empty() || (rate > 0.9 * limit && rate < 1.1 * limit)) {
            rates.push(rate);
        }
        last = period;
        rates.len() == 10
    });
    rates.iter().sum::<f64>() / rates.len() as f64
}

#[test]
fn a_flood_of_small_packets_is_held_to_its_packets() {
    let Some(uplink) = Uplink::new() else { return };
    let before = uplink.lab.state();
    fs::write(uplink.path("policy.toml"), policy("max_pps = 2000")).unwrap();
    let mut daemon = uplink.daemon(&[]);
    let limits = || uplink.lab.sh("tc qdisc show");
    let flood = uplink.send("a", "192.0.2.99", 18, 50);
    let sent = mean(&mut daemon, &uplink, |status| &status["packets"]);
    // A machine with other work may miss some; more than that, and a burst, never passes.
    assert!((1700.0..2040.0).contains(&sent), "{sent}");
    assert!(limits().contains("peakrate 24608Kbit"), "{}", limits());

    // It is killed: the limit stays, and the next one goes on.
    daemon.kill();
    assert!(limits().contains("peakrate 24608Kbit"), "{}", limits());
    let mut daemon = uplink.daemon(&[]);
    let sent = mean(&mut daemon, &uplink, |status| &status["packets"]);
    assert!((1700.0..2040.0).contains(&sent), "{sent}");

    // Without the key packets are not limited any more, and bits are.
    uplink.reload_with(POLICY);
    daemon.until("no limit of packets", |_| !limits().contains("peakrate"));
    assert!(uplink.status().get("packets").is_none());
    drop(flood);
    daemon.stop();
    uplink.lab.assert_state(&before);
}

#[test]
fn packets_that_come_are_limited_too_and_told() {
    let Some(uplink) = Uplink::new() else { return };
    let before = uplink.lab.state();
    let dir = uplink.dir.path().to_str().unwrap();
    uplink.lab.sh(&crate::receive::FAR.replace("DIR", dir));
    let path = uplink.path("policy.toml");
    fs::write(&path, policy("rx_max_pps = 1000\nmax_pps = 3000")).unwrap();
    let words = ["run", path.to_str().unwrap(), "--dry-run", "--count", "1"];
    let said = uplink.says(&words);
    assert!(said.contains("a1 (a): sends "), "{said}");
    assert!(said.contains(", at most 3000 packets/s\n"), "{said}");
    assert!(said.contains(", at most 1000 packets/s\n"), "{said}");
    let out = uplink.path("record");
    let mut daemon = uplink.daemon(&["--out", out.to_str().unwrap()]);
    let _flood = uplink.send("u", "192.0.2.11", 18, 50);
    let come = mean(
        &mut daemon,
        &uplink,
        |status| &status["received"]["packets"],
    );
    assert!((850.0..1060.0).contains(&come), "{come}");
    let table = uplink.says(&["status"]);
    assert!(table.contains("packets/s"), "{table}");
    daemon.stop();
    recorded(out.to_str().unwrap());
    drop(_flood);
    uplink.lab.assert_state(&before);
}

/// A record has packets of both directions and what was received, of the tenant that is limited and no other.
fn recorded(out: &str) {
    let report = |words: &[&str]| {
        let ended = nicety(["report", out].iter().chain(words)).run();
        ended.assert_code(0);
        ended.stdout
    };
    let record: Value = serde_json::from_str(&report(&["--json"])).unwrap();
    let periods = record["periods"].as_array().unwrap();
    let at_limit = |period: &&Value| {
        let of = &period["tenants"][0];
        let come = of["received"]["packets"]["rate_pps"].as_f64();
        of["packets"]["max_pps"] == 3000.0
            && of["received"]["packets"]["limit_pps"] == 1000.0
            && of["received"]["rate_bps"].as_f64() > Some(0.0)
            && come.is_some_and(|come| (850.0..1060.0).contains(&come))
    };
    assert!(periods.iter().filter(at_limit).count() > 5, "{record}");
    assert!(
        periods
            .iter()
            .all(|period| period["tenants"][1].get("packets").is_none())
    );
    assert!(record["summary"][0]["received_mean_pps"].as_f64() > Some(0.0));
    let csv = report(&["--format", "csv"]);
    assert!(
        csv.starts_with("at_s,") && csv.lines().next().unwrap().ends_with(",received_limit_pps"),
        "{csv}"
    );
    assert!(csv.lines().any(|line| line.ends_with(",1000")), "{csv}");
    let table = report(&[]);
    assert!(table.contains("received packets/s"), "{table}");
}

#[test]
fn numbers_of_packets_that_make_no_sense_are_refused() {
    let Some(uplink) = Uplink::new() else { return };
    for (key, wanted) in [
        ("max_pps = 0", "max_pps = 0"),
        ("max_pps = -5", "max_pps = -5"),
        ("max_pps = \"many\"", "at least 10, as in max_pps = 20000"),
        ("rx_max_pps = 9", "rx_max_pps = 9"),
        (
            "max_pps = 60000",
            "max_pps = 60000 is above the 59523 packets that the link carries a second; lower it",
        ),
        ("max_pp = 5", "did you mean \"max_pps\"?"),
    ] {
        uplink.run_with(&policy(key)).refused_for(wanted);
    }
}
