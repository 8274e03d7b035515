//! What is measured of a run.

use std::fmt;

use nicety_police::Share;
use nicety_police::level::level;
use nicety_testkit::uplink::Uplink;

use super::{CAPACITY, HEADROOM};

/// Error below which the shares count as settled.
const SETTLED: f64 = 0.06;

/// Figures of one run, or their mean.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Figures {
    /// Mean over the periods of `sum |rate - ideal| / sum ideal`.
    pub error: f64,
    /// Rates over ideal rates.
    pub used: f64,
    /// Share of sender-periods below 95 % of what guarantee and demand allow.
    pub misses: f64,
    /// Periods from a change until the error is below 6 %, or the next change.
    pub settle_median: f64,
    pub settle_p95: f64,
    pub settle_p99: f64,
    /// Limits written in a period.
    pub writes: f64,
}

/// A run while it runs.
#[derive(Debug, Default)]
pub struct Record {
    errors: Vec<f64>,
    used: f64,
    ideal: f64,
    missed: usize,
    settled: Vec<f64>,
    since: Option<usize>,
    writes: usize,
    senders: usize,
}

impl Record {
    /// Adds a period. The ideal is the weighted max-min fair share of the link without its
    /// head-room, known at once.
    pub fn add(&mut self, uplink: &Uplink, rates: &[f64], changed: bool, writes: usize) {
        let shares: Vec<Share> = (uplink.senders.iter())
            .map(|sender| Share {
                weight: sender.weight,
                guarantee: sender.guarantee,
                demand: sender.wish,
            })
            .collect();
        let ideal = level(CAPACITY * (1.0 - HEADROOM), &shares).given;
        let all: f64 = ideal.iter().sum();
        let off: f64 = rates.iter().zip(&ideal).map(|(a, b)| (a - b).abs()).sum();
        let error = if all > 0.0 { off / all } else { 0.0 };
        self.errors.push(error);
        self.used += rates.iter().sum::<f64>();
        self.ideal += all;
        self.senders = rates.len();
        let missed = uplink.senders.iter().zip(rates);
        self.missed += missed
            .filter(|(sender, rate)| **rate < 0.95 * sender.guarantee.min(sender.wish))
            .count();
        self.writes += writes;
        if changed {
            self.settled
                .extend(self.since.map(|periods| periods as f64));
            self.since = Some(0);
        }
        if let Some(periods) = self.since {
            if error <= SETTLED {
                self.settled.push(periods as f64);
                self.since = None;
            } else {
                self.since = Some(periods + 1);
            }
        }
    }

    pub fn figures(mut self) -> Figures {
        let periods = self.errors.len().max(1) as f64;
        self.settled.sort_by(f64::total_cmp);
        let rank = |share: f64| {
            let last = self.settled.len().saturating_sub(1);
            let index = (share * last as f64).round() as usize;
            self.settled.get(index).copied().unwrap_or(0.0)
        };
        Figures {
            error: self.errors.iter().sum::<f64>() / periods,
            used: self.used / self.ideal,
            misses: self.missed as f64 / (periods * self.senders.max(1) as f64),
            settle_median: rank(0.5),
            settle_p95: rank(0.95),
            settle_p99: rank(0.99),
            writes: self.writes as f64 / periods,
        }
    }
}

impl Figures {
    pub fn mean(of: &[Self]) -> Self {
        let mean =
            |field: fn(&Self) -> f64| of.iter().map(field).sum::<f64>() / of.len().max(1) as f64;
        Self {
            error: mean(|f| f.error),
            used: mean(|f| f.used),
            misses: mean(|f| f.misses),
            settle_median: mean(|f| f.settle_median),
            settle_p95: mean(|f| f.settle_p95),
            settle_p99: mean(|f| f.settle_p99),
            writes: mean(|f| f.writes),
        }
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "share_error_ratio": self.error,
            "use_ratio": self.used,
            "guarantee_misses_ratio": self.misses,
            "settle_periods": {"median": self.settle_median, "p95": self.settle_p95, "p99": self.settle_p99},
            "writes_per_period": self.writes,
        })
    }
}

/// An aim and whether it is met.
pub struct Aim {
    pub what: &'static str,
    pub found: f64,
    pub bound: f64,
    pub met: bool,
}

/// The aims of the controller, AIMD beside it.
pub fn aims(ours: &Figures, aimd: &Figures) -> [Aim; 5] {
    let most = |what, found: f64, bound: f64| Aim {
        what,
        found,
        bound,
        met: found <= bound,
    };
    [
        most("share error at most", ours.error, 0.071),
        Aim {
            what: "use at least",
            found: ours.used,
            bound: 0.95,
            met: ours.used >= 0.95,
        },
        most("median periods to settle at most", ours.settle_median, 1.0),
        most("p95 periods to settle at most", ours.settle_p95, 5.4),
        most("writes fewer than AIMD's", ours.writes, aimd.writes),
    ]
}

impl fmt::Display for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let met = if self.met { "met" } else { "MISSED" };
        write!(
            f,
            "{:<34}{:>8.3}{:>8.3}  {met}",
            self.what, self.bound, self.found
        )
    }
}
