use std::time::Duration;

use super::*;
use crate::explain::explain;

mod silent;

const MBIT: f64 = 1e6;

fn policy(text: &str) -> Policy {
    Policy::parse("p.toml", text).unwrap()
}

const THREE: &str = "[link]\ncapacity = \"200mbit\"\nheadroom = 0.05\n\
    [[tenant]]\nname = \"udp\"\nports = \"a\"\n\
    [[tenant]]\nname = \"tcp\"\nports = \"b\"\n\
    [[tenant]]\nname = \"small\"\nports = \"c\"\ncap = \"50mbit\"\nguarantee = \"20mbit\"\n";

/// A controller with counters that are fed rates.
struct Rig {
    controller: Controller,
    bytes: Vec<u64>,
    second: u64,
    limits: Vec<Option<BitRate>>,
}

impl Rig {
    fn new(text: &str) -> Self {
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
    fn second(&mut self, wants: &[Option<f64>]) -> Decision {
        self.second += 1;
        for (index, want) in wants.iter().enumerate() {
            let limit = self.limits[index].map_or(f64::INFINITY, BitRate::bps);
            let rate = (want.unwrap_or(0.0) * MBIT).min(limit);
            self.bytes[index] += (rate / 8.0) as u64;
        }
        let seen: Vec<Seen> = (wants.iter().zip(&self.bytes))
            .map(|(want, bytes)| Seen {
                present: want.is_some(),
                sample: want.map(|_| Sample {
                    at: Duration::from_secs(self.second),
                    bytes: *bytes,
                    frames: 0,
                    drops: None,
                    backlog: None,
                }),
                limit: None,
                silent: false,
            })
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
fn a_flood_is_held_in_the_next_period_and_unused_share_is_lent() {
    let mut rig = Rig::new(THREE);
    rig.second(&[Some(0.0), Some(0.0), Some(10.0)]);
    rig.second(&[Some(0.0), Some(150.0), Some(10.0)]);
    assert!(rig.limit(1) > 150.0, "{}", rig.limit(1));
    rig.second(&[Some(400.0), Some(170.0), Some(10.0)]);
    rig.second(&[Some(400.0), Some(170.0), Some(10.0)]);
    let decision = rig.second(&[Some(400.0), Some(170.0), Some(10.0)]);
    assert!((rig.limit(0) - 89.6).abs() < 0.5, "{}", rig.limit(0));
    assert_eq!(rig.limit(0), rig.limit(1));
    assert_eq!(
        rig.explain(&decision, "udp"),
        "udp: sends 89.7 Mbit/s, wants more than it gets, may send 89.7 Mbit/s; the link is the \
         bottleneck, shared with tcp; level 89.7 Mbit/s for each unit of weight, its weight is 1"
    );
    assert_eq!(
        rig.explain(&decision, "small"),
        "small: sends 10.0 Mbit/s, wants at most 10.7 Mbit/s, may send 50.0 Mbit/s; gets all it \
         asks for"
    );
    let decision = rig.second(&[Some(0.0), Some(170.0), Some(60.0)]);
    assert!(rig.limit(1) > 135.0, "{}", rig.limit(1));
    let decision = match rig.explain(&decision, "small").contains("its cap") {
        true => decision,
        false => rig.second(&[Some(0.0), Some(170.0), Some(60.0)]),
    };
    assert!(
        rig.explain(&decision, "small")
            .ends_with("; its cap is the bottleneck")
    );
}

#[test]
fn decreases_come_first_and_what_stays_is_not_written() {
    let mut rig = Rig::new(THREE);
    let first = rig.second(&[Some(0.0), Some(0.0), Some(0.0)]);
    assert_eq!(first.writes.len(), 3, "nothing is known yet");
    rig.second(&[Some(300.0), Some(0.0), Some(0.0)]);
    rig.second(&[Some(300.0), Some(300.0), Some(0.0)]);
    rig.second(&[Some(300.0), Some(300.0), Some(0.0)]);
    let still = rig.second(&[Some(300.0), Some(300.0), Some(0.0)]);
    assert_eq!(still.writes, [0; 0]);
    let before: Vec<f64> = (0..2).map(|index| rig.limit(index)).collect();
    rig.second(&[Some(300.0), Some(0.0), Some(0.0)]);
    assert!(rig.limit(0) > before[0]);
    let back = rig.second(&[Some(300.0), Some(90.0), Some(0.0)]);
    let change = |index: &usize| rig.limit(*index) - before[*index];
    assert!(
        back.writes
            .windows(2)
            .all(|pair| change(&pair[0]) <= change(&pair[1]) + 300.0)
    );
}

#[test]
fn a_port_that_goes_and_comes_back_is_written_again() {
    let mut rig = Rig::new(THREE);
    for _ in 0..3 {
        rig.second(&[Some(300.0), Some(300.0), Some(1.0)]);
    }
    let gone = rig.second(&[None, Some(300.0), Some(1.0)]);
    assert!(!gone.ports[0].present);
    assert_eq!(gone.ports[0].limit, BitRate(0), "it has none");
    assert!(!gone.writes.contains(&0));
    assert_eq!(rig.explain(&gone, "udp"), "udp: none of its ports is there");
    let mut waits = gone.clone();
    waits.ports[0].waits = Some("somebody else's ingress qdisc is in the way".to_owned());
    assert_eq!(
        rig.explain(&waits, "udp"),
        "udp: none of its ports can be limited now; port a waits: somebody else's ingress qdisc is \
         in the way"
    );
    rig.limits[0] = None;
    let back = rig.second(&[Some(300.0), Some(300.0), Some(1.0)]);
    assert!(back.writes.contains(&0), "the limit went with the port");
}

#[test]
fn a_limit_that_somebody_changed_is_written_again() {
    let mut rig = Rig::new(THREE);
    for _ in 0..4 {
        rig.second(&[Some(300.0), Some(300.0), Some(1.0)]);
    }
    let found = Seen {
        present: true,
        sample: Some(Sample {
            at: Duration::from_secs(9),
            bytes: rig.bytes[0],
            frames: 0,
            drops: None,
            backlog: None,
        }),
        limit: Some(BitRate(0)),
        silent: false,
    };
    let decision = rig
        .controller
        .step(&[found, Seen::default(), Seen::default()]);
    assert_eq!(decision.writes, [0]);
}

#[test]
fn a_limit_that_does_not_hold_is_found_and_lowered() {
    let mut rig = Rig::new(THREE);
    let mut bytes = 0;
    let mut last = None;
    for second in 1..12 {
        // Twice the limit passes, as with a function that sends from two queues.
        let limit = rig.limits[0].map_or(0.0, BitRate::bps);
        bytes += (2.0 * limit / 8.0) as u64;
        let seen = Seen {
            present: true,
            sample: Some(Sample {
                at: Duration::from_secs(second),
                bytes,
                frames: 0,
                drops: None,
                backlog: None,
            }),
            limit: None,
            silent: false,
        };
        let decision = rig
            .controller
            .step(&[seen, Seen::default(), Seen::default()]);
        for index in &decision.writes {
            rig.limits[*index] = Some(decision.ports[*index].limit);
            rig.controller.wrote(*index, decision.ports[*index].limit);
        }
        last = Some(decision);
    }
    let port = &last.unwrap().ports[0];
    assert_eq!(port.enforcement, Enforcement::NotEnforced);
    // 190 Mbit/s shared, half of it set, all of it sent.
    assert!((rig.limit(0) - 95.0).abs() < 1.0, "{}", rig.limit(0));
    assert!((port.rate_bps.unwrap() - 190e6).abs() < 1e6, "{port:?}");
}

/// One function that sends what `sends` makes of its limit in Mbit/s; its limits after each second.
fn leaking(rig: &mut Rig, seconds: u64, sends: impl Fn(f64) -> f64) -> Decision {
    let mut last = None;
    for _ in 0..seconds {
        rig.second += 1;
        let limit = rig.limits[0].map_or(0.0, BitRate::bps) / MBIT;
        rig.bytes[0] += (sends(limit) * MBIT / 8.0) as u64;
        let seen = Seen {
            present: true,
            sample: Some(Sample {
                at: Duration::from_secs(rig.second),
                bytes: rig.bytes[0],
                frames: 0,
                drops: None,
                backlog: None,
            }),
            limit: None,
            silent: false,
        };
        let decision = rig.controller.step(&[seen]);
        for index in &decision.writes {
            rig.limits[*index] = Some(decision.ports[*index].limit);
            rig.controller.wrote(*index, decision.ports[*index].limit);
        }
        last = Some(decision);
    }
    last.unwrap()
}

const CAPPED: &str = "[link]\ncapacity = \"100mbit\"\n\
    [[tenant]]\nname = \"one\"\nports = \"a\"\ncap = \"8mbit\"\nguarantee = \"4mbit\"\n";

#[test]
fn a_limit_that_holds_at_last_is_raised_again() {
    let mut rig = Rig::new(CAPPED);
    // Nothing limits it: what is set falls, not below the guarantee.
    let free = leaking(&mut rig, 12, |_| 60.0);
    assert_eq!(free.ports[0].enforcement, Enforcement::NotEnforced);
    assert_eq!(rig.limit(0), 4.0);
    let line = rig.explain(&free, "one");
    assert!(
        line.contains(
            ", may send 8.0 Mbit/s, 4.0 Mbit/s set as its limit did not hold; its cap is"
        ),
        "{line}"
    );
    // Now it is limited to what is set, and wants more.
    let held = leaking(&mut rig, 2, |limit| limit);
    assert_eq!(held.tenants[0].demand_bps, None);
    let held = leaking(&mut rig, 10, |limit| limit);
    assert_eq!(rig.limit(0), 8.0);
    assert_eq!(held.ports[0].enforcement, Enforcement::Holds);
    assert_eq!(held.tenants[0].set_bps, None);
}

#[test]
fn a_limit_that_nobody_tries_any_more_is_raised_later() {
    let mut rig = Rig::new(CAPPED);
    leaking(&mut rig, 12, |_| 60.0);
    let soon = leaking(&mut rig, 12, |_| 1.0);
    assert_eq!(soon.ports[0].enforcement, Enforcement::NotEnforced);
    let late = leaking(&mut rig, 60, |_| 1.0);
    assert_eq!(late.ports[0].enforcement, Enforcement::Untested);
    assert_eq!(rig.limit(0), 8.0);
}

#[test]
fn a_limit_that_leaks_less_than_before_is_raised_as_far() {
    let text = CAPPED.replace("guarantee = \"4mbit\"", "weight = 1");
    let mut rig = Rig::new(&text);
    leaking(&mut rig, 12, |_| 60.0);
    assert_eq!(rig.limit(0), 2.0);
    // Two queues, each with the whole rate.
    let half = leaking(&mut rig, 30, |limit| 2.0 * limit);
    assert_eq!(half.ports[0].enforcement, Enforcement::NotEnforced);
    assert_eq!(rig.limit(0), 4.0);
}

#[test]
fn ports_under_one_cap_never_may_send_more_than_it() {
    let text = "[link]\ncapacity = \"100mbit\"\n\
        [[tenant]]\nname = \"two\"\nports = [\"a\", \"b\"]\ncap = \"20mbit\"\n\
        [[tenant]]\nname = \"one\"\nports = [\"c\"]\n";
    let mut rig = Rig::new(text);
    let wants = [
        [0.0, 0.0],
        [0.0, 0.0],
        [50.0, 0.0],
        [50.0, 0.0],
        [50.0, 0.7],
        [50.0, 3.0],
        [50.0, 50.0],
        [50.0, 50.0],
        [2.0, 50.0],
        [2.0, 50.0],
        [2.1, 50.0],
        [6.0, 6.0],
        [0.0, 0.0],
    ];
    let mut limits = Vec::new();
    for [a, b] in wants {
        rig.second(&[Some(a), Some(b), Some(80.0)]);
        assert!(rig.limit(0) + rig.limit(1) <= 20.001, "{:?}", rig.limits);
        limits.push([rig.limit(0), rig.limit(1)]);
    }
    assert_eq!(limits[1], [10.0, 10.0]);
    // A port that begins has the rest of the cap in the next period.
    assert!(limits[2][0] > 19.0, "{limits:?}");
    assert_eq!(limits[7], [10.0, 10.0]);
}

#[test]
fn ports_of_one_tenant_share_what_it_has() {
    let text = "[link]\ncapacity = \"100mbit\"\nheadroom = 0\n\
        [[tenant]]\nname = \"two\"\nports = [\"a\", \"b\"]\n\
        [[tenant]]\nname = \"one\"\nports = [\"c\"]\n";
    let mut rig = Rig::new(text);
    for _ in 0..5 {
        rig.second(&[Some(300.0), Some(300.0), Some(300.0)]);
    }
    assert_eq!(
        [rig.limit(0), rig.limit(1), rig.limit(2)],
        [25.0, 25.0, 50.0]
    );
    for _ in 0..5 {
        rig.second(&[Some(300.0), Some(5.0), Some(300.0)]);
    }
    assert!((rig.limit(0) - 44.65).abs() < 0.2, "{}", rig.limit(0));
}

#[test]
fn a_port_that_nobody_counts_has_its_share_by_weight() {
    let mut rig = Rig::new(THREE);
    let uncounted = Seen {
        present: true,
        sample: None,
        limit: Some(BitRate(0)),
        silent: false,
    };
    let decision = rig.controller.step(&[uncounted; 3]);
    assert_eq!(decision.writes.len(), 3);
    assert!(decision.level_bps.is_some());
    assert!(
        decision
            .ports
            .iter()
            .all(|port| port.present && port.rate_bps.is_none())
    );
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
fn counters_that_freeze_go_back_or_jump_leave_limits_between_guarantee_and_cap() {
    let policy = policy(THREE);
    let (floors, link): (Vec<f64>, f64) = (
        policy.tenants.iter().map(|t| t.guarantee.bps()).collect(),
        policy.capacity.bps(),
    );
    let mut controller = Controller::new(policy, &[], Tuning::default());
    // A frozen counter, one that goes back, one that jumps; the clock stands, goes and goes back.
    let bytes = [
        [0, 0, 0],
        [5_000_000, 9_000_000, 1_000],
        [5_000_000, 100, u64::MAX],
        [5_000_000, 0, 0],
        [5_000_000, 7, 12_345],
    ];
    for (at, seconds) in [0u64, 1, 2, 2, 1, 30, 31].into_iter().enumerate() {
        let seen: Vec<Seen> = bytes[at % bytes.len()]
            .into_iter()
            .map(|bytes| Seen {
                present: true,
                sample: Some(Sample {
                    at: Duration::from_secs(seconds),
                    bytes,
                    frames: bytes / 1000,
                    drops: None,
                    backlog: None,
                }),
                limit: None,
                silent: false,
            })
            .collect();
        let decision = controller.step(&seen);
        for (port, floor) in decision.ports.iter().zip(&floors) {
            let limit = port.limit.bps();
            assert!((*floor..=link).contains(&limit), "{at}: {limit}");
            assert!(limit > 0.0, "{at}");
        }
        for index in &decision.writes {
            controller.wrote(*index, decision.ports[*index].limit);
        }
    }
}
