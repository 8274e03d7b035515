//! State of one port from period to period.

use std::sync::Arc;
use std::time::Duration;

use nicety_model::BitRate;

use super::enforce::Leak;
use super::split::Part;
use super::{Enforcement, PortDecision, PortSetup};
use crate::demand::{Demand, Want};
use crate::meter::{Counters, Meter};
use crate::policy::{Policy, PortName};
use crate::tuning::Tuning;

/// Periods without an answer after which a port's earlier rate is forgotten.
const FORGET: u32 = 4;

#[derive(Debug, Clone)]
pub(super) struct PortState {
    pub(super) name: Arc<PortName>,
    pub(super) tenant: usize,
    pub(super) cap: f64,
    /// What it never gets more than for another reason: so many bits are in the packets that it may have.
    bound: f64,
    setup: PortSetup,
    pub(super) meter: Meter,
    pub(super) demand: Demand,
    pub(super) want: Want,
    /// One frame in a period, in bits per second: how far a limit that holds may be exceeded in it.
    frame: f64,
    /// Last known rate in bits per second.
    pub(super) rate: f64,
    pub(super) held: bool,
    /// This period brought a rate.
    pub(super) fresh: bool,
    pub(super) present: bool,
    /// The kernel has told nothing of it in this period, and for how many periods in a row.
    pub(super) silent: bool,
    silent_for: u32,
    /// The limit it should have.
    pub(super) limit: BitRate,
    /// The limit it has; none when that is not known.
    pub(super) applied: Option<BitRate>,
    /// The limit of the period before, in bits per second.
    before: f64,
    pub(super) write: bool,
    pub(super) enforcement: Enforcement,
    leak: Leak,
}

impl PortState {
    pub(super) fn new(name: PortName, tenant: usize, setup: &PortSetup, policy: &Policy) -> Self {
        let cap = policy.tenants[tenant].cap.unwrap_or(policy.capacity).bps();
        Self {
            name: Arc::new(name),
            tenant,
            cap: cap.min(setup.cap_bps).min(setup.steps.top),
            bound: f64::INFINITY,
            setup: *setup,
            meter: Meter::new(setup.counters),
            demand: Demand::new(setup.behind(policy)),
            want: Want::Unknown,
            frame: 0.0,
            rate: 0.0,
            held: false,
            fresh: false,
            present: true,
            silent: false,
            silent_for: 0,
            limit: BitRate::from_bps(cap),
            applied: None,
            before: f64::INFINITY,
            write: false,
            enforcement: Enforcement::Untested,
            leak: Leak::default(),
        }
    }

    /// Takes a new description; counts of another counter are forgotten.
    pub(super) fn describe(&mut self, setup: &PortSetup, policy: &Policy) {
        let was = std::mem::replace(&mut self.setup, *setup);
        if was.counters != setup.counters {
            self.meter = Meter::new(setup.counters);
            self.demand = Demand::new(setup.behind(policy));
            self.fresh = false;
        }
        let cap = policy.tenants[self.tenant].cap.unwrap_or(policy.capacity);
        self.limit_to(cap);
    }

    /// Another cap of its tenant.
    pub(super) fn limit_to(&mut self, cap: BitRate) {
        let own = self.setup.cap_bps.min(self.setup.steps.top);
        self.cap = cap.bps().min(own).min(self.bound);
    }

    /// Another bound, under a cap of its tenant.
    pub(super) fn bind(&mut self, bound: f64, cap: BitRate) {
        self.bound = bound;
        self.limit_to(cap);
    }

    /// What its counters are.
    pub(super) fn counters(&self) -> Counters {
        self.setup.counters
    }

    /// The lowest limit that it takes.
    pub(super) fn least(&self) -> BitRate {
        BitRate::from_bps(self.setup.steps.down(0.0, 0.0))
    }

    /// The limit that the last period's rate is compared with; infinite when there was none.
    pub(super) fn in_force(&self) -> f64 {
        match self.applied {
            Some(BitRate(0)) | None => f64::INFINITY,
            Some(rate) => rate.bps() / self.leak.factor,
        }
    }

    /// It sends as much as a limit that was lowered for not holding: that one may hold it now.
    pub(super) fn at_lowered(&self, tuning: &Tuning) -> bool {
        let set = self.in_force() * self.leak.factor;
        let reached = (1.0 - tuning.near_limit) * set..=tuning.beyond * set;
        self.leak.factor < 1.0 && set.is_finite() && reached.contains(&self.rate)
    }

    /// A limit found at the port: another program may have changed it.
    pub(super) fn seen_limit(&mut self, found: Option<BitRate>) {
        if let Some(found) = found {
            self.applied = Some(found);
        }
    }

    /// Its longest frame, in bytes as its counter has them.
    pub(super) fn one_frame(&mut self, bytes: u64, period: Duration) {
        let counted = bytes as f64 + self.setup.counters.overhead;
        let known = bytes > 0 && !period.is_zero();
        self.frame = if known {
            counted * 8.0 / period.as_secs_f64()
        } else {
            0.0
        };
    }

    /// It has another limit. What was dropped below a lower one says nothing of a higher one: the next rate is taken
    /// from here on.
    pub(super) fn wrote(&mut self, limit: BitRate, tuning: &Tuning) {
        let was = self.applied.replace(limit);
        let grows = was.is_some_and(|was| limit.bps() > (1.0 + tuning.growth) * was.bps());
        if grows {
            self.meter.begin_anew();
        }
    }

    /// Whether the kernel has told of it. What it has sent meanwhile is forgotten when that takes long: a
    /// narrow counter may have wrapped.
    pub(super) fn hear(&mut self, silent: bool) {
        self.silent = silent;
        if !silent {
            self.silent_for = 0;
            return;
        }
        self.silent_for = self.silent_for.saturating_add(1);
        self.fresh = false;
        self.write = false;
        if self.silent_for == FORGET {
            self.meter.forget();
            self.demand.reset();
            self.leak.pause();
        }
    }

    /// The limit that it has, in bits per second, while it cannot be given another one: what it had last,
    /// or as much as it can have where that is not known.
    pub(super) fn kept(&self) -> Option<f64> {
        self.silent.then(|| self.in_force().min(self.cap))
    }

    /// It is there and has no counter.
    pub(super) fn uncounted(&mut self) {
        self.fresh = false;
        self.rate = 0.0;
        self.meter.forget();
        self.demand.reset();
        self.enforcement = Enforcement::Untested;
        self.leak = Leak::default();
    }

    /// It could not be read.
    pub(super) fn vanish(&mut self) {
        self.uncounted();
        self.present = false;
        self.write = false;
        self.applied = None;
    }

    /// Compares the rate with the higher limit of this period and the last: one that has just
    /// been lowered has not held for the whole period.
    pub(super) fn judge_enforcement(&mut self, tuning: &Tuning) {
        let now = self.in_force();
        let limit = now.max(self.before);
        self.before = now;
        if limit.is_finite() {
            let judged = self.leak.judge(self.rate, now, (limit, self.frame), tuning);
            self.enforcement = judged.unwrap_or(self.enforcement);
        } else {
            self.leak.pause();
        }
    }

    /// Takes the limit it should have; notes whether to write it. `floor` is what it is not
    /// rounded below; `guaranteed` the share of it that a limit which does not hold is not lowered
    /// below.
    pub(super) fn decide(&mut self, wanted: f64, floor: f64, guaranteed: f64, tuning: &Tuning) {
        let wanted = self.leak.lower(wanted, guaranteed).min(self.cap);
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

    /// The same after [`decide`](Self::decide) where that came to more than the ceiling of the tenant:
    /// however small the difference is, it is written, and rounded down.
    pub(super) fn exactly(&mut self, wanted: f64, floor: f64, guaranteed: f64) {
        let wanted = self.leak.lower(wanted, guaranteed).min(self.cap);
        let limit = self.setup.steps.down(wanted, floor.min(self.cap));
        self.limit = BitRate::from_bps((limit + 1e-6).floor());
        self.write = self.applied != Some(self.limit);
    }

    /// Its part when its tenant has several ports.
    pub(super) fn part(&self) -> Part {
        Part {
            demand: match (self.kept(), self.want) {
                (Some(kept), _) => kept,
                (None, Want::Bps(bps)) => bps.min(self.cap),
                (None, Want::Unknown) => self.cap,
            },
            low: self.setup.steps.low,
            top: self.cap,
        }
    }

    /// Report of the port.
    pub(super) fn reported(&self) -> PortDecision {
        PortDecision {
            port: Arc::clone(&self.name),
            interface: None,
            tenant: self.tenant,
            rate_bps: self.fresh.then_some(self.rate),
            demand_bps: match self.want {
                Want::Bps(bps) => Some(bps),
                Want::Unknown => None,
            },
            limit: match (self.present, self.silent) {
                (true, false) => self.limit,
                // None where it is not known.
                (true, true) => self.applied.unwrap_or_default(),
                (false, _) => BitRate(0),
            },
            enforcement: self.enforcement,
            present: self.present,
            waits: None,
        }
    }
}
