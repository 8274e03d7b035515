//! Burst credits, with real frames.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Running, alone};
use crate::receive::Far;
use crate::uplink::{POLICY, Uplink};

/// What a tenant may send at most, in Mbit/s.
const MAX: f64 = 8.0;
/// What it may save, in Mbit: 3 s at twice that.
const FULL: f64 = 24.0;
/// What may come besides, in Mbit: the account is of whole periods, so that one of half a second at the maximum may be
/// saved before a flood that begins in it; and a bucket.
const SLACK: f64 = 0.5 * MAX + 1.0;

fn policy(keys: &str) -> String {
    POLICY.replace("ports = \"a1\"", &format!("ports = \"a1\"\n{keys}"))
}

/// Mbit on the wire that an interface in a tenant's namespace has taken in, in frames of 1,442 bytes and 24 more.
fn taken(uplink: &Uplink, ns: &str) -> f64 {
    let pid = fs::read_to_string(uplink.path(&format!("{ns}.pid"))).unwrap();
    let show = format!("nsenter -t {} -n ip -s -j link show {ns}0", pid.trim());
    let links: Value = serde_json::from_str(&uplink.lab.sh(&show)).unwrap();
    let bytes = links[0]["stats64"]["rx"]["bytes"].as_f64().unwrap();
    bytes * (1466.0 / 1442.0) * 8e-6
}

/// Where the first tenant's account is in a state.
type Place = fn(&Value) -> &Value;

struct Rig<'a> {
    uplink: &'a Uplink,
    place: Place,
    /// Whose interface takes in what is limited.
    at: &'static str,
}

impl Rig<'_> {
    fn account(&self, key: &str) -> f64 {
        let state = self.uplink.status();
        (self.place)(&state)["burst"][key].as_f64().unwrap()
    }

    /// Waits until so many seconds of a burst are saved.
    fn rest(&self, daemon: &mut Running, seconds: f64) {
        daemon.until("its credit", |_| self.account("lasts_s") >= seconds);
    }

    /// Waits until a flood that has begun just now has spent the credit of a tenant that had rested, for the so many-th
    /// time: what was sent above the maximum, in Mbit.
    fn burst(&self, daemon: &mut Running, times: usize) -> f64 {
        let (begin, before) = (Instant::now(), taken(self.uplink, self.at));
        let said = "burst credit is spent; it ";
        daemon.until("its end", |daemon| {
            daemon.stderr().matches(said).count() == times
        });
        taken(self.uplink, self.at) - before - MAX * begin.elapsed().as_secs_f64()
    }

    /// What is sent above the maximum in two seconds.
    fn above(&self) -> f64 {
        let (begin, before) = (Instant::now(), taken(self.uplink, self.at));
        std::thread::sleep(Duration::from_secs(2));
        taken(self.uplink, self.at) - before - MAX * begin.elapsed().as_secs_f64()
    }
}

#[test]
fn a_tenant_sends_twice_its_cap_until_its_credit_is_spent_and_again_after_a_rest() {
    let _alone = alone();
    let test = "a_tenant_sends_twice_its_cap_until_its_credit_is_spent_and_again_after_a_rest";
    let Some(uplink) = Uplink::new(test) else {
        return;
    };
    let before = uplink.lab.state();
    let keys = "cap = \"8mbit\"\nburst = \"3 s at 2x, refilled at 0.5x\"";
    fs::write(uplink.path("policy.toml"), policy(keys)).unwrap();
    let mut daemon = uplink.daemon(&[]);
    let rig = Rig {
        uplink: &uplink,
        place: |state| &state["tenants"][0],
        at: "u",
    };
    assert!(rig.account("lasts_s") < 1.0);
    rig.rest(&mut daemon, 2.999);
    let table = uplink.police(&["status"]).run();
    let table = table.assert_code(0).stdout.clone();
    assert!(
        table.contains("burst credit") && table.matches("3.0 s").count() >= 2,
        "{table}"
    );
    let explained = uplink.police(&["explain", "a"]).run();
    let explained = &explained.assert_code(0).stdout;
    assert!(
        explained.contains("may send 16.0 Mbit/s, has 3.0 s at 16.0 Mbit/s saved"),
        "{explained}"
    );

    let flood = uplink.flood("a");
    let above = rig.burst(&mut daemon, 1);
    // A period that a busy machine has made longer is owed.
    let owed = (-rig.account("credit_bits") / 1e6).max(0.0);
    assert!(
        above > 0.7 * FULL && above < FULL + owed + SLACK,
        "{above} above, {owed} owed"
    );
    // Once what was owed is saved, and that is little at its maximum, it sends that.
    let above = rig.above();
    assert!(above < SLACK, "{above}");
    daemon.until("its cap", |_| {
        let state = uplink.status();
        let limit = state["tenants"][0]["limit_bps"].as_f64().unwrap();
        limit < 9e6 && state["tenants"][0]["rate_bps"].as_f64().unwrap() > 6e6
    });
    drop(flood);

    rig.rest(&mut daemon, 2.0);
    let saved = rig.account("credit_bits") / 1e6;
    let flood = uplink.flood("a");
    let above = rig.burst(&mut daemon, 2);
    let owed = (-rig.account("credit_bits") / 1e6).max(0.0);
    assert!(
        above > 0.7 * saved && above < FULL + owed + SLACK,
        "{above} of {saved}"
    );
    drop(flood);

    // A reload keeps what is saved; whoever is started anew begins with nothing.
    rig.rest(&mut daemon, 2.0);
    uplink.police(&["reload"]).run().assert_code(0);
    assert!(rig.account("lasts_s") > 1.9);
    daemon.signal(Signal::KILL);
    daemon.wait();
    let daemon = uplink.daemon(&[]);
    assert!(rig.account("lasts_s") < 1.5);
    daemon.signal(Signal::TERM);
    daemon.wait().assert_code(0);
    uplink.lab.assert_state(&before);
}

#[test]
fn what_comes_may_come_in_bursts_too() {
    let _alone = alone();
    let test = "what_comes_may_come_in_bursts_too";
    let keys = "rx_max = \"8mbit\"\nrx_burst = \"3s at 2x, refilled at 0.5x\"";
    let Some(far) = Far::new(test, &policy(keys)) else {
        return;
    };
    let uplink = &far.uplink;
    let before = uplink.lab.state();
    let mut daemon = uplink.daemon(&[]);
    let rig = Rig {
        uplink,
        place: |state| &state["received"]["tenants"][0],
        at: "a",
    };
    rig.rest(&mut daemon, 2.999);
    let flood = far.flood(1);
    let above = rig.burst(&mut daemon, 1);
    let owed = (-rig.account("credit_bits") / 1e6).max(0.0);
    assert!(
        above > 0.7 * FULL && above < FULL + owed + SLACK,
        "{above} above, {owed} owed"
    );
    assert!(
        daemon
            .stderr()
            .contains("tenant a: its burst credit is spent; it receives at most 8mbit")
    );
    let above = rig.above();
    assert!(above < SLACK, "{above}");
    drop(flood);
    daemon.signal(Signal::TERM);
    daemon.wait().assert_code(0);
    uplink.lab.assert_state(&before);
}
