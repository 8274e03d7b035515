//! One port from period to period.

use nicety_model::BitRate;

use super::{Enforcement, PortDecision, PortSetup, Tuning};
use crate::demand::{Demand, Want};
use crate::meter::Meter;
use crate::policy::{Policy, PortName};

/// Least share that an unenforced limit is lowered to.
const LEAST_CORRECTION: f64 = 0.25;

#[derive(Debug, Clone)]
pub(super) struct Port {
    pub(super) name: PortName,
    pub(super) tenant: usize,
    pub(super) cap: f64,
    setup: PortSetup,
    pub(super) meter: Meter,
    pub(super) demand: Demand,
    pub(super) want: Want,
    /// Last known rate in bits per second.
    pub(super) rate: f64,
    pub(super) held: bool,
    /// This period brought a rate.
    pub(super) fresh: bool,
    pub(super) present: bool,
    /// The limit it should have.
    pub(super) limit: BitRate,
    /// The limit it has; none when that is not known.
    pub(super) applied: Option<BitRate>,
    /// The limit of the period before, in bits per second.
    before: f64,
    pub(super) write: bool,
    beyond: u32,
    correction: f64,
    enforcement: Enforcement,
}

impl Port {
    pub(super) fn new(name: PortName, tenant: usize, setup: &PortSetup, policy: &Policy) -> Self {
        let cap = policy.tenants[tenant].cap.unwrap_or(policy.capacity).bps();
        Self {
            name,
            tenant,
            cap: cap.min(setup.cap_bps).min(setup.steps.top),
            setup: *setup,
            meter: Meter::new(setup.counters),
            demand: Demand::new(setup.behind(policy)),
            want: Want::Unknown,
            rate: 0.0,
            held: false,
            fresh: false,
            present: true,
            limit: BitRate::from_bps(cap),
            applied: None,
            before: f64::INFINITY,
            write: false,
            beyond: 0,
            correction: 1.0,
            enforcement: Enforcement::Untested,
        }
    }

    /// Takes another description; what was counted by somebody else says nothing any more.
    pub(super) fn describe(&mut self, setup: &PortSetup, policy: &Policy) {
        let was = std::mem::replace(&mut self.setup, *setup);
        if was.counters != setup.counters {
            self.meter = Meter::new(setup.counters);
            self.demand = Demand::new(setup.behind(policy));
            self.fresh = false;
        }
        let cap = policy.tenants[self.tenant].cap.unwrap_or(policy.capacity);
        self.cap = cap.bps().min(setup.cap_bps).min(setup.steps.top);
    }

    /// The limit that the last period's rate is compared with; infinite when there was none.
    pub(super) fn in_force(&self) -> f64 {
        match self.applied {
            Some(BitRate(0)) | None => f64::INFINITY,
            Some(rate) => rate.bps() / self.correction,
        }
    }

    /// A limit found at the port: somebody else may have changed it.
    pub(super) fn seen_limit(&mut self, found: Option<BitRate>) {
        if let Some(found) = found {
            self.applied = Some(found);
        }
    }

    /// It is there, and nobody counts what it sends.
    pub(super) fn uncounted(&mut self) {
        self.fresh = false;
        self.rate = 0.0;
        self.meter.forget();
        self.demand.reset();
        self.enforcement = Enforcement::Untested;
    }

    /// It could not be read.
    pub(super) fn vanish(&mut self) {
        self.present = false;
        self.fresh = false;
        self.write = false;
        self.rate = 0.0;
        self.applied = None;
        self.meter.forget();
        self.demand.reset();
        self.enforcement = Enforcement::Untested;
    }

    /// Compares the rate with the higher limit of this period and the last: one that has just
    /// been lowered has not held for the whole period.
    pub(super) fn judge_enforcement(&mut self, tuning: &Tuning) {
        let now = self.in_force();
        let limit = now.max(self.before);
        self.before = now;
        if !limit.is_finite() {
            self.beyond = 0;
            return;
        }
        if self.rate > tuning.beyond * limit {
            self.beyond += 1;
            if self.beyond >= tuning.beyond_periods {
                self.enforcement = Enforcement::NotEnforced;
                let ratio = self.correction * limit / self.rate;
                self.correction = ratio.clamp(LEAST_CORRECTION, 1.0);
                self.beyond = 0;
            }
            return;
        }
        self.beyond = 0;
        if self.rate >= (1.0 - tuning.near_limit) * now && self.correction == 1.0 {
            self.enforcement = Enforcement::Holds;
        }
    }

    /// Takes the limit it should have; notes whether to write it.
    pub(super) fn decide(&mut self, wanted: f64, floor: f64, tuning: &Tuning) {
        let wanted = (wanted * self.correction).min(self.cap);
        let floor = floor * self.correction;
        let limit = self.setup.steps.down(wanted, floor.min(self.cap));
        self.limit = BitRate::from_bps(limit.round());
        self.write = match self.applied {
            None | Some(BitRate(0)) => true,
            Some(has) => {
                let change = (limit - has.bps()).abs();
                let below_floor = has.bps() + 1.0 < floor.min(limit);
                change > tuning.hysteresis * has.bps() || (below_floor && change > 0.0)
            }
        };
        if !self.write
            && let Some(has) = self.applied
        {
            self.limit = has;
        }
    }

    /// What is told of it.
    pub(super) fn told(&self) -> PortDecision {
        PortDecision {
            port: self.name.clone(),
            tenant: self.tenant,
            rate_bps: self.fresh.then_some(self.rate),
            demand_bps: match self.want {
                Want::Bps(bps) => Some(bps),
                Want::Unknown => None,
            },
            limit: self.limit,
            enforcement: self.enforcement,
            present: self.present,
        }
    }
}
