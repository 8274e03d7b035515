//! One line that explains a tenant's present rate.

use std::fmt;

use nicety_model::BitRate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::controller::{Decision, Enforcement, PortDecision, TenantDecision};
use crate::credit::BurstState;
use crate::policy::Policy;

/// Limit that holds a tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Bottleneck {
    /// Nothing: it gets all it asks for.
    OwnDemand,
    /// Its cap.
    Cap,
    /// The soft limit that it has set itself.
    SoftLimit,
    /// The link, shared with others.
    Link {
        /// Tenants that are held by the link too, the greatest first; no more than 8.
        with: Vec<String>,
        /// How many others are.
        #[serde(skip_serializing_if = "is_zero", default)]
        more: usize,
    },
    /// None of its ports is there, or none can be limited.
    Absent {
        /// Why one that is there cannot be limited, with its name.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        why: Option<String>,
    },
}

/// One tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Tenant.
    pub tenant: String,
    /// Bits per second on the wire.
    pub rate_bps: f64,
    /// Bits per second; absent when it wants as much as it gets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub demand_bps: Option<f64>,
    /// Rate that its ports may send together, in bits per second.
    pub limit_bps: f64,
    /// Sum of their written limits, if less because limits did not hold.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub set_bps: Option<f64>,
    /// Bits per second for a weight of one; absent when the link is not full.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub level_bps: Option<f64>,
    /// Weight.
    pub weight: f64,
    /// Guarantee in bits per second.
    #[serde(rename = "guarantee_bps")]
    pub guarantee: BitRate,
    /// Limit that holds it.
    pub bottleneck: Bottleneck,
    /// What it has saved to send above its hard limit, and for how many seconds that lasts; absent where the policy
    /// gives it no burst credit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub burst: Option<Burst>,
}

/// Burst credit of a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Burst {
    /// The account.
    #[serde(flatten)]
    pub state: BurstState,
    /// For how many seconds it may send `most_bps`.
    pub lasts_s: f64,
    /// For how many seconds it could with a full account.
    pub full_s: f64,
}

impl Burst {
    /// It raises the limit now.
    fn is_raised(&self) -> bool {
        let hard = self.state.most_bps - self.state.full_bits / self.full_s;
        self.state.ceiling_bps > hard * 1.000_001
    }

    fn of(state: BurstState, hard_bps: f64) -> Self {
        let full = BurstState {
            credit_bits: state.full_bits,
            ..state
        };
        Self {
            lasts_s: state.lasts_s(hard_bps),
            full_s: full.lasts_s(hard_bps),
            state,
        }
    }
}

/// What `nicety police status TENANT --json` prints: one tenant, and the port that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TenantStatus")]
pub struct Explained {
    /// Schema version.
    pub schema: u32,
    /// The tenant.
    #[serde(flatten)]
    pub tenant: Explanation,
    /// The port; absent when the tenant was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub port: Option<PortDecision>,
    /// The tenant, as far as it receives; absent where the policy does not limit that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub received: Option<Explanation>,
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(port) = &self.port {
            write!(f, "{}, a port of {}: ", port.called(), self.tenant.tenant)?;
            if let Some(why) = &port.waits {
                write!(f, "waits: {why}; ")?;
                if port.limit.0 > 0 {
                    write!(f, "its limit of {} stays; ", readable(port.limit.bps()))?;
                }
            } else if !port.present {
                write!(f, "not there; ")?;
            } else {
                match port.rate_bps {
                    Some(rate) => write!(f, "sends {}", readable(rate))?,
                    None => write!(f, "nobody counts what it sends")?,
                }
                let holds = match port.enforcement {
                    Enforcement::Untested => "is not reached",
                    Enforcement::Holds => "holds",
                    Enforcement::NotEnforced => "is not enforced",
                };
                write!(f, ", its limit of {} {holds}; ", readable(port.limit.bps()))?;
            }
        }
        self.tenant.fmt(f)?;
        match &self.received {
            Some(received) => write!(f, "\n{}", received.received()),
            None => Ok(()),
        }
    }
}

/// Tenants named with one that shares the link with them.
const NAMED: usize = 8;

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Explains every tenant, in the order of the policy.
pub fn explain(policy: &Policy, decision: &Decision) -> Vec<Explanation> {
    let mut present = vec![false; policy.tenants.len()];
    for port in decision.ports.iter().filter(|port| port.present) {
        if let Some(present) = present.get_mut(port.tenant) {
            *present = true;
        }
    }
    let given = |index: &usize| decision.tenants.get(*index).map_or(0.0, |t| t.given_bps);
    let is_held = |index: &usize| present[*index] && decision.tenants.get(*index).is_some_and(held);
    let mut held: Vec<usize> = (0..policy.tenants.len()).filter(is_held).collect();
    held.sort_by(|a, b| given(b).total_cmp(&given(a)).then(a.cmp(b)));
    let tenants = policy.tenants.iter().zip(&decision.tenants).enumerate();
    tenants
        .map(|(index, (tenant, decided))| {
            let bottleneck = if !present[index] {
                let mut ports = decision.ports.iter().filter(|port| port.tenant == index);
                let why = ports.find_map(|port| Some((port.called(), port.waits.as_ref()?)));
                Bottleneck::Absent {
                    why: why.map(|(port, why)| format!("port {port} waits: {why}")),
                }
            } else if is_held(&index) {
                let others = held.iter().filter(|other| **other != index);
                let named = others
                    .take(NAMED)
                    .map(|at| policy.tenants[*at].name.clone());
                Bottleneck::Link {
                    with: named.collect(),
                    more: (held.len() - 1).saturating_sub(NAMED),
                }
            } else if decided.demand_bps.unwrap_or(f64::INFINITY) >= decided.ceiling_bps() {
                if decided.ceiling_bps() < decided.hard_now_bps() {
                    Bottleneck::SoftLimit
                } else {
                    Bottleneck::Cap
                }
            } else {
                Bottleneck::OwnDemand
            };
            Explanation {
                tenant: tenant.name.clone(),
                rate_bps: decided.rate_bps,
                demand_bps: decided.demand_bps,
                limit_bps: decided.limit_bps,
                set_bps: decided.set_bps,
                level_bps: decision.level_bps,
                weight: tenant.weight,
                guarantee: tenant.guarantee,
                bottleneck,
                burst: decided.burst.map(|state| Burst::of(state, decided.cap_bps)),
            }
        })
        .collect()
}

/// A tenant wants more than it is given.
fn held(decided: &TenantDecision) -> bool {
    let demand = decided.demand_bps.unwrap_or(f64::INFINITY);
    demand.min(decided.ceiling_bps()) > decided.given_bps * 1.000_001
}

/// Bits per second as people read them: `88.1 Mbit/s`.
pub fn readable(bps: f64) -> String {
    match bps {
        bps if bps >= 9.995e9 => format!("{:.1} Gbit/s", bps / 1e9),
        bps if bps >= 0.9995e6 => format!("{:.1} Mbit/s", bps / 1e6),
        bps => format!("{:.0} kbit/s", bps / 1e3),
    }
}

/// Below this rate in bits per second a tenant counts as idle: an ARP request now and then.
const IDLE_BPS: f64 = 1000.0;

impl Explanation {
    /// It sends nothing and asks for nothing: the demand that it has is room to begin.
    pub fn is_idle(&self) -> bool {
        self.rate_bps < IDLE_BPS && self.bottleneck == Bottleneck::OwnDemand
    }

    /// What keeps it from more, in words for a terminal, a page and a log: `held by its cap`.
    pub fn held_by(&self) -> String {
        match &self.bottleneck {
            Bottleneck::OwnDemand if self.is_idle() => "idle".to_owned(),
            Bottleneck::OwnDemand => "nothing holds it back".to_owned(),
            Bottleneck::Cap => match &self.burst {
                None => "held by its cap".to_owned(),
                Some(burst) if burst.is_raised() => {
                    "held by its cap, which burst credit raises".to_owned()
                }
                Some(_) => "held by its cap; its burst credit is spent".to_owned(),
            },
            Bottleneck::SoftLimit => "held by the soft limit it set itself".to_owned(),
            Bottleneck::Link { with, more } => {
                format!("held by the link, {}{}", shared(with, *more), self.share())
            }
            Bottleneck::Absent { why: None } => "none of its ports is there".to_owned(),
            Bottleneck::Absent { why: Some(why) } => {
                format!("none of its ports can be limited now; {why}")
            }
        }
    }

    /// What it gets of a full link, and why.
    fn share(&self) -> String {
        match self.level_bps {
            Some(0.0) => "; the guarantees exceed the link and are scaled down".to_owned(),
            Some(level) if self.limit_bps > level * self.weight * 1.000_001 => format!(
                "; its guarantee is above its fair share of {}",
                readable(level * self.weight)
            ),
            Some(level) => format!(
                "; fair share {} per unit of weight, weight {}",
                readable(level),
                self.weight
            ),
            None => String::new(),
        }
    }
}

/// Who shares the link.
fn shared(with: &[String], more: usize) -> String {
    let (first, rest) = with.split_at(with.len().min(3));
    match (first, rest.len() + more) {
        ([], _) => "which the others' guarantees and demands fill".to_owned(),
        (names, 0) => format!("shared with {}", names.join(", ")),
        (names, more) => format!("shared with {} and {more} more", names.join(", ")),
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, "send")
    }
}

impl Explanation {
    /// Of what the tenant receives, in the same words.
    pub fn received(&self) -> impl fmt::Display {
        struct Received<'a>(&'a Explanation);
        impl fmt::Display for Received<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.write(f, "receive")
            }
        }
        Received(self)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, does: &str) -> fmt::Result {
        let (name, held_by) = (&self.tenant, self.held_by());
        if matches!(self.bottleneck, Bottleneck::Absent { .. }) {
            return write!(f, "{name}: {held_by}");
        }
        match (self.is_idle(), self.demand_bps) {
            (true, _) => write!(f, "{name}: {held_by}")?,
            (false, demand) => {
                write!(f, "{name}: {does}s {}, wants ", readable(self.rate_bps))?;
                match demand {
                    Some(demand) => write!(f, "at most {}", readable(demand))?,
                    None => write!(f, "more")?,
                }
            }
        }
        write!(f, ", may {does} {}", readable(self.limit_bps))?;
        if let Some(burst) = &self.burst {
            let most = readable(burst.state.most_bps);
            write!(f, ", has {:.1} s at {most} saved", burst.lasts_s)?;
        }
        if let Some(set) = self.set_bps {
            write!(f, ", set to {} because its limit leaked", readable(set))?;
        }
        if self.is_idle() {
            Ok(())
        } else {
            write!(f, "; {held_by}")
        }
    }
}
