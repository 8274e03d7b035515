//! The controller: one decision per period.

mod burst;
mod enforce;
mod port;
mod setup;
mod split;
mod wants;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use nicety_model::BitRate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::credit::BurstState;
use crate::demand::{Held, Want};
use crate::level::{Level, Share, level};
use crate::meter::{Reading, Sample};
use crate::policy::{LEAST_RATE, Policy, PortName};
use crate::tuning::Tuning;

use burst::Bursting;
pub use enforce::Enforcement;
use port::PortState;
pub use setup::PortSetup;
use split::{Part, divide};

/// State of a port at the end of a period.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Seen {
    /// It is there, and can be limited now.
    pub present: bool,
    /// Its counters; none for a port without any, which then counts as wanting everything.
    pub sample: Option<Sample>,
    /// The limit found there: none when it could not be read or is not believed, 0 for no limit.
    pub limit: Option<BitRate>,
    /// Bytes of its longest frame, which passes as a whole; 0 where that is not known.
    pub longest: u64,
    /// The kernel has not answered: it is what it was, may send as much as its limit lets it, and
    /// cannot be given another one. All else says nothing then.
    pub silent: bool,
}

impl Seen {
    /// A port that is there and was counted, and whose limit nobody has read.
    pub fn counted(sample: Sample) -> Self {
        Self {
            present: true,
            sample: Some(sample),
            ..Self::default()
        }
    }

    /// A port of which the kernel has told nothing in this period.
    pub fn silent() -> Self {
        Self {
            silent: true,
            ..Self::default()
        }
    }
}

/// Decisions of a period.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// One for each port, in the order of the policy.
    pub ports: Vec<PortDecision>,
    /// One for each tenant, in the order of the policy.
    pub tenants: Vec<TenantDecision>,
    /// Ports to write, by index: decreases before increases.
    pub writes: Vec<usize>,
    /// Rate of one unit of weight in bits per second; absent when the link is not full.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub level_bps: Option<f64>,
    /// Factor on the guarantees; below 1 they do not fit.
    pub guarantees_scaled: f64,
    /// Rate of all ports together in bits per second on the wire.
    pub total_bps: f64,
}

/// One port.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PortDecision {
    /// The port.
    #[serde(with = "shared_name")]
    #[schemars(with = "String")]
    pub port: Arc<PortName>,
    /// The interface or function that it is now, where the policy has a name for it; absent where that is none now.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interface: Option<String>,
    /// Number of its tenant.
    pub tenant: usize,
    /// Rate on the wire in bits per second; absent when the period brought none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_bps: Option<f64>,
    /// Demand in bits per second; absent when it is as much as it gets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub demand_bps: Option<f64>,
    /// The limit it is to have in bits per second, or the last one known where the kernel does not answer; 0,
    /// and absent in JSON, while it is not there.
    #[serde(rename = "limit_bps", skip_serializing_if = "no_limit", default)]
    pub limit: BitRate,
    /// Whether its limit holds it.
    pub enforcement: Enforcement,
    /// Whether it is there, and can be limited.
    pub present: bool,
    /// Why it cannot be limited although it is there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waits: Option<String>,
}

impl PortDecision {
    /// Its name, and the interface that it is now.
    pub fn called(&self) -> String {
        match &self.interface {
            Some(interface) => format!("{} ({interface})", self.port),
            None => self.port.to_string(),
        }
    }

    /// Whether it is meant by this name of the policy, or by the interface or function that it is.
    pub fn is_called(&self, name: &str) -> bool {
        self.interface.as_deref() == Some(name) || self.port.to_string() == name
    }

    /// The interface or function that it is now; its name where it is none.
    pub fn place(&self) -> String {
        self.interface
            .clone()
            .unwrap_or_else(|| self.port.to_string())
    }
}

/// Every period names every port: the names are shared.
mod shared_name {
    use super::{Arc, PortName};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(name: &Arc<PortName>, to: S) -> Result<S::Ok, S::Error> {
        PortName::serialize(name, to)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Arc<PortName>, D::Error> {
        PortName::deserialize(from).map(Arc::new)
    }
}

fn no_limit(limit: &BitRate) -> bool {
    limit.0 == 0
}

/// One tenant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TenantDecision {
    /// Rate of its ports together in bits per second on the wire.
    pub rate_bps: f64,
    /// Demand in bits per second; absent when it is as much as it gets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub demand_bps: Option<f64>,
    /// Rate that the level gives it, in bits per second.
    pub given_bps: f64,
    /// Rate that its ports may send together, in bits per second.
    pub limit_bps: f64,
    /// What is set at them together in bits per second, where that is less because limits did not
    /// hold.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub set_bps: Option<f64>,
    /// Its hard limit from the policy, in bits per second.
    pub cap_bps: f64,
    /// Its soft limit, in bits per second.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub soft_bps: Option<f64>,
    /// What it has saved to send above its hard limit; absent where the policy gives it no burst credit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub burst: Option<BurstState>,
}

impl TenantDecision {
    /// It sends, and wants more than its limits let through.
    pub fn is_limited(&self) -> bool {
        let wants = self.demand_bps.unwrap_or(f64::INFINITY);
        self.rate_bps > 0.0 && wants > self.limit_bps * 1.000_001
    }

    /// Its ceiling: the lower of soft limit and hard limit, that with what burst credit adds.
    pub fn ceiling_bps(&self) -> f64 {
        let soft = self.soft_bps.unwrap_or(f64::INFINITY);
        self.hard_now_bps().min(soft)
    }

    /// Its hard limit with what burst credit adds now.
    pub fn hard_now_bps(&self) -> f64 {
        self.burst.map_or(self.cap_bps, |burst| burst.ceiling_bps)
    }
}

/// The state from period to period.
#[derive(Debug, Clone)]
pub struct Controller {
    policy: Policy,
    tuning: Tuning,
    ports: Vec<PortState>,
    /// Where the ports of each tenant are: the policy has them one after the other.
    ranges: Vec<Range<usize>>,
    /// Soft limits of the tenants.
    soft: Vec<Option<BitRate>>,
    /// Caps of the tenants as the policy has them: those that are granted may be lower.
    caps: Vec<Option<BitRate>>,
    /// The part of each tenant in what it uses most, where several resources are shared; infinite where that is another.
    dominant: Vec<f64>,
    /// Burst credits of the tenants that have one.
    bursts: Vec<Option<Bursting>>,
}

/// What the link is to one port.
struct Link {
    /// More was sent than is shared.
    full: bool,
    /// All that is shared was used.
    crowded: bool,
}

/// One tenant while a decision is made.
struct Sum {
    rate: f64,
    /// Infinite when unknown.
    demand: f64,
    cap: f64,
    /// What its ports may have together at most.
    most: f64,
}

impl Sum {
    /// What it can use.
    fn wants(&self) -> f64 {
        self.demand.min(self.cap).min(self.most)
    }

    /// What one that could have a share, and sends less, may send at once: a part of the share, all that nobody uses, and
    /// twice what it sends, so that its limit holds nobody who sends as before.
    fn begins(&self, share: f64, left: f64, policy: &Policy) -> f64 {
        if self.demand.is_finite() {
            (policy.idle_share * share).max(left).max(2.0 * self.rate)
        } else {
            f64::INFINITY
        }
    }
}

impl Controller {
    /// A controller for the ports of `policy`, described by `ports` in the policy's order.
    /// Ports without a description are taken for tc-limited ones.
    pub fn new(policy: Policy, ports: &[PortSetup], tuning: Tuning) -> Self {
        let usual = PortSetup::tc(&policy);
        let states = policy.ports().enumerate().map(|(index, (tenant, name))| {
            let setup = ports.get(index).unwrap_or(&usual);
            PortState::new(name.clone(), tenant, setup, &policy)
        });
        let mut next = 0;
        let ranges = policy.tenants.iter().map(|tenant| {
            let begin = next;
            next += tenant.ports.len();
            begin..next
        });
        Self {
            ranges: ranges.collect(),
            ports: states.collect(),
            soft: vec![None; policy.tenants.len()],
            caps: policy.tenants.iter().map(|tenant| tenant.cap).collect(),
            bursts: Bursting::of(&policy),
            dominant: vec![f64::INFINITY; policy.tenants.len()],
            policy,
            tuning,
        }
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Ends a period: `seen` has one entry for each port, in the policy's order.
    pub fn step(&mut self, seen: &[Seen]) -> Decision {
        let absent = Seen::default();
        let period = self.policy.period;
        for (index, port) in self.ports.iter_mut().enumerate() {
            port.take(seen.get(index).unwrap_or(&absent), period);
        }
        self.settle_bursts(seen);
        let total: f64 = self.ports.iter().map(|port| port.rate).sum();
        let shared = self.policy.shared_bps();
        let full = (shared + self.policy.capacity.bps()) / 2.0;
        let spare = self.tuning.spare * self.policy.capacity.bps();
        for port in &mut self.ports {
            let matters = port.rate > self.tuning.matters * self.policy.capacity.bps();
            let link = Link {
                full: matters && total >= full,
                crowded: matters && total >= self.tuning.crowded * shared,
            };
            port.guess(link, &self.tuning, spare);
        }
        let sums = self.sums();
        let shares: Vec<Share> = (sums.iter().zip(&self.policy.tenants))
            .map(|(sum, tenant)| Share {
                weight: tenant.weight,
                guarantee: tenant.guarantee.bps(),
                demand: sum.wants(),
            })
            .collect();
        let level = level(shared, &shares);
        // All demand fits: a tenant may take what the others leave, and its fair share of the
        // whole link in any case.
        let all: f64 = shares.iter().map(|share| share.demand).sum();
        let weights: f64 = shares.iter().map(|share| share.weight).sum();
        let limits: Vec<f64> = (sums.iter().zip(&self.policy.tenants).enumerate())
            .map(|(index, (sum, tenant))| {
                if let Some(kept) = self.kept(index) {
                    return kept;
                }
                let fair = if level.per_weight.is_finite() {
                    tenant.weight * level.per_weight
                } else {
                    let left = shared - (all - sum.wants());
                    left.max(tenant.weight / weights * shared)
                };
                let floor = tenant.guarantee.bps() * level.guarantees_scaled;
                let others = level.given.iter().sum::<f64>() - level.given[index];
                let fair = fair.min(sum.begins(fair, shared - others, &self.policy));
                fair.max(floor).min(sum.cap)
            })
            .collect();
        for (tenant, limit) in limits.iter().enumerate() {
            self.split(tenant, *limit);
        }
        self.decision(sums, level, limits, total)
    }

    /// Updates a port's properties: its link has another speed, or its counters have another
    /// source.
    pub fn describe(&mut self, index: usize, setup: &PortSetup) {
        if let Some(port) = self.ports.get_mut(index) {
            port.describe(setup, &self.policy);
        }
    }

    /// A port never gets more than `bound`, in bits per second; infinite for no bound.
    pub fn bind(&mut self, index: usize, bound: f64) {
        if let Some(port) = self.ports.get_mut(index) {
            let cap = self.policy.tenants[port.tenant].cap;
            port.bind(bound, cap.unwrap_or(self.policy.capacity));
        }
    }

    /// A tenant gets at most this much of what it uses most, in bits per second; infinite for no such limit.
    pub fn share_dominant(&mut self, tenant: usize, most: f64) {
        if let Some(of) = self.dominant.get_mut(tenant) {
            *of = most;
        }
    }

    /// Sets a tenant's soft limit; the policy's cap does not change.
    pub fn soften(&mut self, tenant: usize, soft: Option<BitRate>) {
        if let Some(of) = self.soft.get_mut(tenant) {
            *of = soft;
        }
    }

    /// Gives a tenant a part of what it may send on all hosts: at most `max` and its policy's cap here, and
    /// `guarantee` in any case. A grant below the lowest limit of a port closes the tenant as far as that can be.
    pub fn grant(&mut self, tenant: usize, max: BitRate, guarantee: BitRate) {
        let (Some(own), Some(of)) = (self.caps.get(tenant), self.policy.tenants.get_mut(tenant))
        else {
            return;
        };
        let cap = max.max(LEAST_RATE).min(own.unwrap_or(self.policy.capacity));
        of.cap = Some(cap);
        of.guarantee = guarantee.min(cap);
        for port in self
            .ports
            .get_mut(self.ranges[tenant].clone())
            .unwrap_or_default()
        {
            port.limit_to(cap);
        }
    }

    /// What is set at a tenant's ports together, as it was read back, and the least that can be set there; none
    /// while the limit of a port is not known, or a port has none.
    pub fn in_force(&self, tenant: usize) -> Option<(BitRate, BitRate)> {
        let ports = self.ports.get(self.ranges.get(tenant)?.clone())?;
        let mut there = ports.iter().filter(|port| port.present);
        there.try_fold((BitRate(0), BitRate(0)), |(set, least), port| {
            let has = port.applied.filter(|rate| rate.0 > 0)?;
            Some((BitRate(set.0 + has.0), BitRate(least.0 + port.least().0)))
        })
    }

    /// The hard limit of a tenant: its cap with what burst credit adds, else the link.
    pub fn hard(&self, tenant: usize) -> BitRate {
        let cap = self.policy.tenants.get(tenant).and_then(|of| of.cap);
        cap.unwrap_or(self.policy.capacity)
    }

    /// Says that a port now has a limit, written and read back.
    pub fn wrote(&mut self, index: usize, limit: BitRate) {
        if let Some(port) = self.ports.get_mut(index) {
            port.wrote(limit, &self.tuning);
        }
    }

    /// Notes that the driver refused: the port's present limit is not known.
    pub fn failed(&mut self, index: usize) {
        if let Some(port) = self.ports.get_mut(index) {
            port.applied = None;
        }
    }

    /// Rate, demand and cap of each tenant.
    fn sums(&self) -> Vec<Sum> {
        let mut sums: Vec<Sum> = (self.soft.iter().enumerate())
            .map(|(tenant, soft)| {
                let hard = self.hard(tenant);
                Sum {
                    rate: 0.0,
                    demand: 0.0,
                    most: 0.0,
                    cap: (soft.map_or(hard, |soft| soft.min(hard)).bps())
                        .min(self.dominant[tenant]),
                }
            })
            .collect();
        for port in self.ports.iter().filter(|port| port.present) {
            let sum = &mut sums[port.tenant];
            sum.rate += port.rate;
            sum.most += port.kept().unwrap_or(port.cap);
            sum.demand += match (port.kept(), port.want) {
                (Some(kept), _) => kept,
                (None, Want::Bps(bps)) => bps.min(port.cap),
                (None, Want::Unknown) => f64::INFINITY,
            };
        }
        sums
    }

    /// Shares what a tenant may send among its ports, each as its demand. Those that cannot be given another
    /// limit count as wanting the one they have; below a ceiling the others have what these leave.
    fn split(&mut self, tenant: usize, limit: f64) {
        let ceiling = self.ceiling(tenant);
        let range = self.ranges.get(tenant).cloned().unwrap_or_default();
        let ports = self.ports.get_mut(range).unwrap_or_default();
        let kept: f64 = (ports.iter().filter(|port| port.present))
            .filter_map(PortState::kept)
            .sum();
        let ceiling = ceiling.map(|ceiling| (ceiling - kept).max(0.0));
        let limit = limit.min(ceiling.unwrap_or(f64::INFINITY));
        let takes_part =
            |port: &&mut PortState| port.present && !(port.silent && ceiling.is_some());
        let mut of: Vec<&mut PortState> = ports.iter_mut().filter(takes_part).collect();
        let guarantee = self.policy.tenants[tenant].guarantee.bps().min(limit);
        let guaranteed = if limit > 0.0 { guarantee / limit } else { 0.0 };
        if let [port] = &mut of[..]
            && !port.silent
        {
            let wanted = limit.min(port.cap);
            port.decide(wanted, guarantee, guaranteed, &self.tuning);
            if ceiling.is_some_and(|ceiling| port.limit.bps() > ceiling) {
                port.exactly(wanted, guarantee.min(wanted), guaranteed);
            }
            return;
        }
        let parts: Vec<Part> = of.iter().map(|port| port.part()).collect();
        let wanted = divide(limit, ceiling, &parts);
        let mut each = |set: &dyn Fn(&mut PortState, f64)| -> f64 {
            for (port, wanted) in of.iter_mut().zip(&wanted).filter(|(port, _)| !port.silent) {
                set(port, *wanted);
            }
            of.iter().map(|port| port.limit.bps()).sum()
        };
        let sum = each(&|port, wanted| port.decide(wanted, 0.0, guaranteed, &self.tuning));
        if ceiling.is_some_and(|ceiling| sum > ceiling) {
            // Limits that are a little too high and were to stay come to more than the ceiling.
            each(&|port, wanted| port.exactly(wanted, 0.0, guaranteed));
        }
    }

    /// Ceiling of a tenant; none where only the link limits it.
    fn ceiling(&self, tenant: usize) -> Option<f64> {
        let cap = self.policy.tenants.get(tenant)?.cap;
        let soft = self.soft.get(tenant).copied().flatten();
        cap.into_iter().chain(soft).min().map(BitRate::bps)
    }

    /// Rate that a tenant may send while no port of it can get another limit; none when one can.
    fn kept(&self, tenant: usize) -> Option<f64> {
        let ports = self.ports.get(self.ranges.get(tenant)?.clone())?;
        let there = ports.iter().filter(|port| port.present);
        let kept: Option<Vec<f64>> = there.map(PortState::kept).collect();
        kept.filter(|kept| !kept.is_empty())
            .map(|kept| kept.iter().sum())
    }

    /// What is set at a tenant's ports together, where one is lowered because its limit did not hold.
    fn set(&self, tenant: usize) -> Option<f64> {
        let ports = self.ports.get(self.ranges.get(tenant)?.clone())?;
        let there = ports.iter().filter(|port| port.present);
        let leaks = |port: &PortState| port.enforcement == Enforcement::NotEnforced;
        let lowered = there.clone().any(leaks);
        lowered.then(|| there.map(|port| port.limit.bps()).sum())
    }

    fn decision(&self, sums: Vec<Sum>, level: Level, limits: Vec<f64>, total: f64) -> Decision {
        let mut writes: Vec<usize> = (0..self.ports.len())
            .filter(|index| self.ports[*index].write)
            .collect();
        // An unknown limit may be anything: it counts as a decrease.
        let growth = |index: &usize| {
            let port = &self.ports[*index];
            let has = port.applied.filter(|rate| rate.0 > 0);
            has.map_or(f64::NEG_INFINITY, |has| port.limit.bps() - has.bps())
        };
        writes.sort_by(|a, b| growth(a).total_cmp(&growth(b)).then(a.cmp(b)));
        let known = |demand: f64| demand.is_finite().then_some(demand);
        let tenants = sums.iter().zip(&limits).zip(&level.given).enumerate();
        Decision {
            ports: self.ports.iter().map(PortState::reported).collect(),
            tenants: tenants
                .map(|(tenant, ((sum, limit), given))| TenantDecision {
                    rate_bps: sum.rate,
                    demand_bps: known(sum.demand),
                    given_bps: *given,
                    limit_bps: *limit,
                    set_bps: self.set(tenant).filter(|set| *set < 0.999 * limit),
                    cap_bps: self.hard_bps(tenant),
                    burst: self.burst(tenant),
                    soft_bps: self.soft[tenant].map(BitRate::bps),
                })
                .collect(),
            writes,
            level_bps: known(level.per_weight),
            guarantees_scaled: level.guarantees_scaled,
            total_bps: total,
        }
    }
}

impl PortState {
    /// The counters and the limit found at the end of a period. A rate over less than a quarter of it says little.
    fn take(&mut self, seen: &Seen, period: Duration) {
        self.hear(seen.silent);
        if seen.silent {
            return;
        }
        if !seen.present {
            self.vanish();
            return;
        }
        self.seen_limit(seen.limit);
        self.one_frame(seen.longest, period);
        self.present = true;
        let Some(sample) = seen.sample else {
            self.uncounted();
            return;
        };
        match self.meter.take(sample, period / 4) {
            Reading::Rate { bps, held } => {
                self.rate = bps;
                self.held = held;
                self.fresh = true;
            }
            Reading::Stale => self.fresh = false,
            Reading::First | Reading::Reset => {
                self.fresh = false;
                self.demand.reset();
            }
        }
    }

    /// The demand of the period.
    fn guess(&mut self, link: Link, tuning: &Tuning, spare: f64) {
        if !self.present {
            return;
        }
        self.want = if self.fresh {
            let held = Held {
                rate: self.rate,
                limit: self.in_force(),
                at_limiter: self.held || self.at_lowered(tuning),
                counts_drops: self.meter.counts_drops(),
                at_link: link.full,
                crowded: link.crowded,
            };
            self.judge_enforcement(tuning);
            self.demand.observe(held, tuning, spare)
        } else {
            self.demand.last()
        };
    }
}

#[cfg(test)]
mod tests;
