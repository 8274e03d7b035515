//! Burst credits, with real frames.

use std::fs;
use std::time::Instant;

use serde_json::Value;

use crate::harness::Running;
use crate::receive::Far;
use crate::uplink::{POLICY, Sender, Uplink};

/// What a tenant may send at most, in Mbit/s.
const MAX: f64 = 8.0;
/// What it may save, in Mbit: 2 s at twice that.
const FULL: f64 = 16.0;
/// What may come besides, in Mbit: the account is of whole periods, so that one of a fifth of a second at the maximum
/// may be saved before a flood that begins in it; and a bucket.
const SLACK: f64 = 0.2 * MAX + 1.0;

fn policy(keys: &str) -> String {
    POLICY.replace("ports = \"a1\"", &format!("ports = \"a1\"\n{keys}"))
}

/// Mbit on the wire that an interface in a tenant's namespace has taken in, in frames of 1,442 bytes and 24 more, and the
/// moments between which that was read.
struct Taken {
    mbit: f64,
    read: [Instant; 2],
}

impl Taken {
    fn now(uplink: &Uplink, ns: &str) -> Self {
        let begin = Instant::now();
        let mbit = taken(uplink, ns);
        Self {
            mbit,
            read: [begin, Instant::now()],
        }
    }

    /// What was taken above the maximum since then: at least, and at most.
    fn above(&self, before: &Self) -> [f64; 2] {
        let longest = self.read[1] - before.read[0];
        let shortest = self.read[0] - before.read[1];
        [longest, shortest].map(|time| self.mbit - before.mbit - MAX * time.as_secs_f64())
    }
}

fn taken(uplink: &Uplink, ns: &str) -> f64 {
    let pid = uplink.pid(ns);
    let show = format!("nsenter -t {pid} -n ip -s -j link show {ns}0");
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

    /// Waits until a flood has spent the credit of a tenant that had rested, for the so many-th time: what was sent above
    /// the maximum, in Mbit, at least and at most.
    fn burst(
        &self,
        daemon: &mut Running,
        times: usize,
        flood: impl FnOnce() -> Sender,
    ) -> ([f64; 2], Sender) {
        let before = Taken::now(self.uplink, self.at);
        let flood = flood();
        let said = "burst credit is spent; it ";
        daemon.until("its end", |daemon| {
            daemon.stderr().matches(said).count() == times
        });
        (Taken::now(self.uplink, self.at).above(&before), flood)
    }

    /// What is sent above the maximum in ten periods, at least.
    fn above(&self, daemon: &mut Running) -> f64 {
        let before = Taken::now(self.uplink, self.at);
        self.uplink.periods(daemon, 10);
        Taken::now(self.uplink, self.at).above(&before)[0]
    }
}

#[test]
fn a_tenant_sends_twice_its_cap_until_its_credit_is_spent_and_again_after_a_rest() {
    let Some(uplink) = Uplink::new() else { return };
    let before = uplink.lab.state();
    let keys = "cap = \"8mbit\"\nburst = \"2 s at 2x, refilled at 1x\"";
    fs::write(uplink.path("policy.toml"), policy(keys)).unwrap();
    let mut daemon = uplink.daemon(&[]);
    let rig = Rig {
        uplink: &uplink,
        place: |state| &state["tenants"][0],
        at: "u",
    };
    assert!(rig.account("lasts_s") < 1.0);
    rig.rest(&mut daemon, 1.999);
    let table = uplink.says(&["status"]);
    assert!(
        table.contains("burst credit") && table.matches("2.0 s").count() >= 2,
        "{table}"
    );
    let explained = uplink.says(&["status", "a"]);
    assert!(
        explained.contains("may send 16.0 Mbit/s, has 2.0 s at 16.0 Mbit/s saved"),
        "{explained}"
    );

    let ([least, most], flood) = rig.burst(&mut daemon, 1, || uplink.flood("a"));
    // A period that a busy machine has made longer is owed.
    let owed = (-rig.account("credit_bits") / 1e6).max(0.0);
    assert!(
        most > 0.7 * FULL && least < FULL + owed + SLACK,
        "{least} to {most} above, {owed} owed"
    );
    // Once what was owed is saved, and that is little at its maximum, it sends that.
    let above = rig.above(&mut daemon);
    assert!(above < SLACK, "{above}");
    daemon.until("its cap", |_| {
        let state = uplink.status();
        let limit = state["tenants"][0]["limit_bps"].as_f64().unwrap();
        limit < 9e6 && state["tenants"][0]["rate_bps"].as_f64().unwrap() > 6e6
    });
    drop(flood);

    rig.rest(&mut daemon, 1.5);
    let saved = rig.account("credit_bits") / 1e6;
    let ([least, most], flood) = rig.burst(&mut daemon, 2, || uplink.flood("a"));
    let owed = (-rig.account("credit_bits") / 1e6).max(0.0);
    assert!(
        most > 0.7 * saved && least < FULL + owed + SLACK,
        "{least} to {most} of {saved}"
    );
    drop(flood);

    // A reload keeps what is saved; whoever is started anew begins with nothing.
    rig.rest(&mut daemon, 1.5);
    uplink.police(&["reload"]).run().assert_code(0);
    assert!(rig.account("lasts_s") > 1.4);
    daemon.kill();
    let daemon = uplink.daemon(&[]);
    assert!(rig.account("lasts_s") < 1.0);
    daemon.stop();
    uplink.lab.assert_state(&before);
}

#[test]
fn what_comes_may_come_in_bursts_too() {
    let keys = "rx_max = \"8mbit\"\nrx_burst = \"2s at 2x, refilled at 1x\"";
    let Some(far) = Far::new(&policy(keys)) else {
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
    rig.rest(&mut daemon, 1.999);
    let ([least, most], flood) = rig.burst(&mut daemon, 1, || far.flood(1));
    let owed = (-rig.account("credit_bits") / 1e6).max(0.0);
    assert!(
        most > 0.7 * FULL && least < FULL + owed + SLACK,
        "{least} to {most} above, {owed} owed"
    );
    daemon.assert_err("tenant a: its burst credit is spent; it receives at most 8mbit");
    let above = rig.above(&mut daemon);
    assert!(above < SLACK, "{above}");
    drop(flood);
    daemon.stop();
    uplink.lab.assert_state(&before);
}
