use std::time::Duration;

use super::*;
use crate::explain::explain;

const MBIT: f64 = 1e6;

fn policy(text: &str) -> Policy {
    Policy::parse("p.toml", text).unwrap()
}

const THREE: &str = "[link]\ncapacity = \"200mbit\"\nheadroom = 0.05\n\
    [[tenant]]\nname = \"udp\"\nports = \"a\"\n\
    [[tenant]]\nname = \"tcp\"\nports = \"b\"\n\
    [[tenant]]\nname = \"small\"\nports = \"c\"\ncap = \"50mbit\"\nguarantee = \"20mbit\"\n";

/// A controller with counters that are fed rates.
pub(super) struct Rig {
    pub(super) controller: Controller,
    pub(super) bytes: Vec<u64>,
    pub(super) second: u64,
    pub(super) limits: Vec<Option<BitRate>>,
}

impl Rig {
    pub(super) fn new(text: &str) -> Self {
        let policy = policy(text);
        let ports = policy.ports().count();
        let setup = PortSetup {
            counters: crate::meter::Counters {
                overhead: 0.0,
                ..crate::meter::Counters::kernel()
            },
            ..PortSetup::tc(&policy)
        };
        let setups = vec![setup; ports];
        Self {
            controller: Controller::new(policy, &setups, Tuning::default()),
            bytes: vec![0; ports],
            second: 0,
            limits: vec![None; ports],
        }
    }

    /// A second in which ports send what they want, in Mbit/s, up to their limit.
    pub(super) fn second(&mut self, wants: &[Option<f64>]) -> Decision {
        self.second += 1;
        for (index, want) in wants.iter().enumerate() {
            let limit = self.limits[index].map_or(f64::INFINITY, BitRate::bps);
            let rate = (want.unwrap_or(0.0) * MBIT).min(limit);
            self.bytes[index] += (rate / 8.0) as u64;
        }
        let at = Duration::from_secs(self.second);
        let counted = |bytes: &u64| Seen::counted(Sample::passed(at, *bytes, 0));
        let seen: Vec<Seen> = (wants.iter().zip(&self.bytes))
            .map(|(want, bytes)| want.map(|_| counted(bytes)).unwrap_or_default())
            .collect();
        let decision = self.controller.step(&seen);
        for index in &decision.writes {
            self.limits[*index] = Some(decision.ports[*index].limit);
            self.controller.wrote(*index, decision.ports[*index].limit);
        }
        decision
    }

    fn limit(&self, index: usize) -> f64 {
        self.limits[index].unwrap().bps() / MBIT
    }

    fn explain(&self, decision: &Decision, name: &str) -> String {
        explain(self.controller.policy(), decision)
            .into_iter()
            .find(|told| told.tenant == name)
            .unwrap()
            .to_string()
    }
}

#[test]
fn a_port_that_cannot_be_limited_is_explained() {
    let mut rig = Rig::new(THREE);
    let mut gone = rig.second(&[None, Some(300.0), Some(1.0)]);
    gone.ports[0].waits = Some("somebody else's ingress qdisc is in the way".to_owned());
    assert_eq!(
        rig.explain(&gone, "udp"),
        "udp: none of its ports can be limited now; port a waits: somebody else's ingress qdisc is \
         in the way"
    );
}

#[test]
fn a_limit_that_somebody_changed_is_written_again() {
    let mut rig = Rig::new(THREE);
    for _ in 0..4 {
        rig.second(&[Some(300.0), Some(300.0), Some(1.0)]);
    }
    let found = Seen {
        limit: Some(BitRate(0)),
        ..Seen::counted(Sample::passed(Duration::from_secs(9), rig.bytes[0], 0))
    };
    let decision = rig
        .controller
        .step(&[found, Seen::default(), Seen::default()]);
    assert_eq!(decision.writes, [0]);
}

#[test]
fn a_link_with_another_speed_has_other_limits() {
    let mut rig = Rig::new(THREE);
    let policy = rig.controller.policy().clone();
    let slow = PortSetup {
        steps: crate::driver::Steps {
            low: 1e6,
            step: 1e6,
            top: 100e6,
        },
        ..PortSetup::tc(&policy)
    };
    rig.controller.describe(0, &slow);
    let decision = rig.second(&[Some(300.0), Some(300.0), Some(1.0)]);
    assert!(
        decision.ports[0].limit <= BitRate::from_mbit(100),
        "{decision:?}"
    );
}

#[test]
fn a_limit_that_the_driver_refuses_is_written_again_and_nobody_else_notices() {
    let mut rig = Rig::new(THREE);
    let wants = [Some(400.0), Some(400.0), Some(10.0)];
    for _ in 0..4 {
        rig.second(&wants);
    }
    let other = rig.limit(1);
    assert!(rig.second(&wants).writes.is_empty());
    for _ in 0..5 {
        rig.controller.failed(0);
        let decision = rig.second(&wants);
        assert_eq!(decision.writes, [0]);
        assert_eq!(rig.limit(1), other);
    }
    assert!(rig.second(&wants).writes.is_empty());
}

#[test]
fn a_grant_is_a_cap_that_can_go_up_again() {
    let text = "[link]\ncapacity = \"100mbit\"\n[[tenant]]\nname = \"a\"\ncap = \"60mbit\"\nports = [\"a0\", \"a1\"]\n";
    let mut controller = Controller::new(policy(text), &[], Tuning::default());
    let has = |limit: u64| Seen {
        present: true,
        sample: None,
        limit: Some(BitRate(limit)),
        longest: 0,
        silent: false,
    };
    let step = |controller: &mut Controller, limit| {
        let decision = controller.step(&[has(limit), has(limit)]);
        decision.ports.iter().map(|port| port.limit.0).sum::<u64>()
    };
    controller.grant(0, BitRate(20_000_000), BitRate(5_000_000));
    let sum = step(&mut controller, 50_000_000);
    assert!((19_000_000..=20_000_000).contains(&sum), "{sum}");
    assert_eq!(
        controller.in_force(0),
        Some((BitRate(100_000_000), BitRate(128_000)))
    );
    // Never above the policy's own cap, and never without any limit.
    controller.grant(0, BitRate(90_000_000), BitRate(0));
    assert_eq!(controller.hard(0), BitRate(60_000_000));
    controller.grant(0, BitRate(0), BitRate(0));
    assert_eq!(step(&mut controller, 10_000_000), 128_000);
    // A port without a limit is not known to hold any.
    step(&mut controller, 0);
    assert_eq!(controller.in_force(0), None);
}

#[test]
fn a_ceiling_that_falls_by_less_than_the_hysteresis_is_written_exactly() {
    let several = "[link]\ncapacity = \"200mbit\"\nheadroom = 0.05\n\
        [[tenant]]\nname = \"one\"\nports = \"a\"\n\
        [[tenant]]\nname = \"three\"\nports = [\"b\", \"c\", \"d\"]\n";
    let mut rig = Rig::new(several);
    let bits = |rig: &Rig, port: usize| rig.limits[port].unwrap().0;
    let wants = [Some(80.0), Some(80.0), Some(80.0), Some(80.0)];
    for (one, three) in [
        (40_000_000, 50_000_000),
        (39_900_001, 49_900_001),
        (39_900_000, 49_900_000),
    ] {
        rig.controller.soften(0, Some(BitRate(one)));
        rig.controller.soften(1, Some(BitRate(three)));
        for _ in 0..4 {
            rig.second(&wants);
            let sum: u64 = (1..4).map(|port| bits(&rig, port)).sum();
            assert!(bits(&rig, 0) <= one && sum <= three, "{sum} of {three}");
        }
        // And it stays there.
        assert!(rig.second(&wants).writes.is_empty());
        assert!(bits(&rig, 0) + 1 >= one);
    }
}

#[test]
fn what_an_idle_port_may_begin_with_is_no_want_of_its_tenant() {
    let mut rig = Rig::new(THREE);
    rig.second(&[Some(0.0), Some(40.0), Some(0.0)]);
    rig.second(&[Some(0.0), Some(40.0), Some(0.0)]);
    let decision = rig.second(&[Some(0.0), Some(40.0), Some(500.0)]);
    // A thousandth of the link.
    assert_eq!(decision.tenants[0].demand_bps, Some(0.2 * MBIT));
    assert_eq!(rig.controller.wants(0), Some(BitRate(0)));
    let wants = rig.controller.wants(1).unwrap().bps();
    assert!((wants - 42.0 * MBIT).abs() < 10.0, "{wants}");
    // Its limit holds it.
    assert_eq!(rig.controller.wants(2), None);
}
