//! The controller under test.

use std::time::Duration;

use nicety_model::BitRate;
use nicety_police::controller::PortSetup;
use nicety_police::driver::Steps;
use nicety_police::meter::Counters;
use nicety_police::{Controller, Policy, Sample, Seen, Tenant, Tuning};
use nicety_testkit::uplink::Uplink;

use super::{CAPACITY, Control, HEADROOM};

/// The controller, its counters and the limits it has set.
pub struct Level {
    controller: Controller,
    now: Duration,
    bytes: Vec<u64>,
    /// The counters as the driver last showed them.
    shown: Vec<u64>,
    /// Periods between two refreshes.
    refresh: u64,
    limits: Vec<f64>,
}

fn tenant(index: usize, weight: f64, guarantee: f64) -> Tenant {
    Tenant {
        name: format!("t{index}"),
        weight,
        guarantee: BitRate::from_bps(guarantee),
        cap: None,
        received: nicety_police::policy::Received::default(),
        max_pps: None,
        total: None,
        burst: Duration::ZERO,
        credit: None,
        ports: vec![format!("p{index}").parse().unwrap()],
        guest: None,
        adopt: nicety_police::policy::Adopt::Refuse,
    }
}

/// Tenants alike.
pub fn policy_of_many(count: usize) -> Policy {
    policy((0..count).map(|index| tenant(index, 1.0, 0.0)).collect())
}

fn policy_of(uplink: &Uplink) -> Policy {
    let senders = uplink.senders.iter().enumerate();
    policy((senders.map(|(index, s)| tenant(index, s.weight, s.guarantee))).collect())
}

fn policy(tenants: Vec<Tenant>) -> Policy {
    Policy {
        capacity: BitRate::from_bps(CAPACITY),
        packets: None,
        headroom: HEADROOM,
        idle_share: 1.0,
        drops: false,
        period: Duration::from_secs(1),
        cluster: None,
        bills: None,
        tenants,
    }
}

impl Level {
    pub fn new(uplink: &Uplink, step: f64) -> Self {
        Self::of(&policy_of(uplink), step, 1)
    }

    /// With counters that the driver refreshes every other period.
    pub fn seldom(uplink: &Uplink, step: f64) -> Self {
        Self::of(&policy_of(uplink), step, 2)
    }

    pub fn of(policy: &Policy, step: f64, refresh: u64) -> Self {
        let setup = PortSetup {
            steps: Steps {
                low: step,
                step,
                top: CAPACITY,
            },
            counters: Counters {
                overhead: 0.0,
                staleness: Duration::from_secs(refresh - 1),
                ..Counters::kernel()
            },
            cap_bps: CAPACITY,
        };
        let count = policy.tenants.len();
        let mut made = Self {
            controller: Controller::new(policy.clone(), &vec![setup; count], Tuning::default()),
            now: Duration::ZERO,
            bytes: vec![0; count],
            shown: vec![0; count],
            refresh,
            limits: vec![CAPACITY; count],
        };
        made.step();
        made
    }

    fn step(&mut self) -> usize {
        let seen: Vec<Seen> = (self.shown.iter())
            .map(|bytes| Seen::counted(Sample::passed(self.now, *bytes, 0)))
            .collect();
        let decision = self.controller.step(&seen);
        for index in &decision.writes {
            let limit = decision.ports[*index].limit;
            self.controller.wrote(*index, limit);
            self.limits[*index] = limit.bps();
        }
        decision.writes.len()
    }
}

impl Control for Level {
    fn limits(&mut self, rates: &[f64]) -> (Vec<f64>, usize) {
        self.now += Duration::from_secs(1);
        for (bytes, rate) in self.bytes.iter_mut().zip(rates) {
            *bytes += (rate / 8.0) as u64;
        }
        if self.now.as_secs().is_multiple_of(self.refresh) {
            self.shown.clone_from(&self.bytes);
        }
        let writes = self.step();
        (self.limits.clone(), writes)
    }
}
