//! Policies changed while the daemon runs.

use std::fs;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::process::Signal;

use crate::guests::{guest, record, with_guests};

#[test]
fn a_hard_limit_is_changed_under_traffic_and_its_guest_sees_it() {
    let Some(uplink) = with_guests() else { return };
    let file = uplink.path("policy.toml");
    let first = fs::read_to_string(&file).unwrap();
    let reload = || uplink.police(&["reload"]).run();
    let hard = || record(&guest(&uplink, "a", &["status", "--json"]).run())["hard_bps"].clone();
    let before = uplink.lab.state();
    let mut daemon = uplink.daemon(&[]);
    let floods = [uplink.flood("a"), uplink.flood("b")];
    uplink.until(&mut daemon, "both floods", |[a, b, _]| a > 1.6 && b > 1.6);
    assert_eq!(hard(), 40e6);
    guest(&uplink, "a", &["limit", "9mbit", "--for", "1h"])
        .run()
        .assert_code(0);

    // Lowered: the flood is held, a lease stays below it, and an open connection ends.
    let mut open = UnixStream::connect(uplink.path("a.sock")).unwrap();
    open.set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let port = "ports = \"a1\"";
    let lower = first.replace(port, &format!("{port}\ncap = \"1mbit\""));
    fs::write(&file, &lower).unwrap();
    let taken = reload();
    taken.assert_code(0);
    let said = format!("{} is taken: 3 tenants\n", file.display());
    assert_eq!(taken.stderr, said);
    assert_eq!(open.read(&mut [0]).unwrap(), 0);
    assert_eq!(hard(), 1e6);
    uplink.until(&mut daemon, "the lower limit", |[a, b, _]| {
        (0.5..1.2).contains(&a) && b > a
    });
    let seen = record(&guest(&uplink, "a", &["status", "--json"]).run());
    assert_eq!(seen["soft_bps"], 1e6);
    assert!(seen["lease_s"].as_f64().unwrap() > 3_000.0, "{seen}");
    let refused = guest(&uplink, "a", &["limit", "2mbit"]).run();
    refused.assert_code(1);
    assert_eq!(
        refused.only_line(),
        "the host refuses: 2mbit is above the hard limit of 1mbit; write at most that, or none"
    );

    // A wrong one changes nothing.
    let periods = uplink.status()["periods"].as_u64().unwrap();
    for (wrong, why) in [
        (
            lower.replace("b1", "zz"),
            "there is no interface zz in this network namespace",
        ),
        (lower.replace("4mbit", "400mbit"), "guarantees"),
        (
            lower.replace("/b.sock", "/none/b.sock"),
            "cannot make the socket",
        ),
        ("[".to_owned(), "policy.toml"),
    ] {
        fs::write(&file, wrong).unwrap();
        let ended = reload();
        ended.assert_code(1);
        assert!(ended.only_line().starts_with("policy not reloaded: "));
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
        assert_eq!(hard(), 1e6);
    }
    assert!(uplink.status()["periods"].as_u64().unwrap() > periods);
    assert_eq!(uplink.limits(), 3);

    // Raised again, by a hang-up; what it names no more is put back.
    let (raised, _) = first.split_once("[[tenant]]\nname = \"c\"").unwrap();
    fs::write(&file, raised).unwrap();
    guest(&uplink, "a", &["limit", "none"]).run().assert_code(0);
    daemon.signal(Signal::HUP);
    daemon.until("two tenants", |_| {
        uplink.status()["tenants"].as_array().unwrap().len() == 2
    });
    assert_eq!(uplink.limits(), 2);
    let mut rates = Vec::new();
    daemon.until("a's flood again", |_| {
        let status = uplink.status();
        rates.push(status["tenants"][0]["rate_bps"].as_f64().unwrap());
        rates.last().is_some_and(|rate| *rate > 1.6e6)
    });
    assert_eq!(hard(), 40e6);
    drop(floods);
    let ended = daemon.stop();
    assert!(
        ended
            .stderr
            .ends_with("restored the original limits of 2 ports\n"),
        "{}",
        ended.stderr
    );
    uplink.lab.assert_state(&before);
    // Nobody is there to ask.
    reload().assert_code(3);
}

#[test]
fn a_record_is_of_one_policy_and_a_daemon_killed_is_no_other_process_as_any_user() {
    let Some(uplink) = with_guests() else { return };
    let out = uplink.path("record");
    let daemon = uplink.daemon(&["--out", out.to_str().unwrap()]);
    let refused = uplink.police(&["reload"]).run();
    refused.assert_code(1);
    assert!(
        refused
            .only_line()
            .contains("this run is being recorded with --out")
    );
    let refused = uplink.police(&["reload", "--json"]).run();
    let told: serde_json::Value = serde_json::from_str(&refused.assert_code(1).stdout).unwrap();
    assert_eq!(
        (&told["schema"], &told["taken"]),
        (&1.into(), &false.into())
    );
    let why = told["why"].as_str().unwrap();
    assert!(
        why.contains("this run is being recorded with --out"),
        "{told}"
    );
    daemon.kill();
    // Another process has its number now: it gets no signal.
    let file = uplink.state_file();
    let mut state: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    state["pid"] = std::process::id().into();
    fs::write(&file, state.to_string()).unwrap();
    let ended = uplink.police(&["reload"]).run();
    ended.cannot("no nicety police runs");
    let back = uplink.police(&["restore", "--json"]).run().json();
    assert_eq!(back["schema"], 1);
    let ports = back["ports"].as_array().unwrap();
    assert_eq!(ports.len(), 3, "{back}");
    assert_eq!(ports[0]["port"], "a1");
    assert_eq!(ports[0]["value"], "none");
    assert_eq!(ports[0]["result"], "restored");
    let again = uplink.police(&["restore", "--json"]).run().json();
    assert_eq!(again["ports"], serde_json::json!([]));
}
