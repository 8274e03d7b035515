//! What is drawn of a long record: means of neighbouring periods.

use nicety_model::policed::{Policed, PolicedPeriod, PolicedRates};

/// Most points of a line: more than a screen has room for.
const MOST: usize = 400;

/// Some periods together.
pub struct PeriodMean {
    /// End of the last, in seconds.
    pub at_s: f64,
    /// Rate of all ports.
    pub total_bps: f64,
    /// Means of the tenants. A demand or soft limit is there when every period has it.
    pub tenants: Vec<PolicedRates>,
}

/// Periods in one point.
pub fn step(run: &Policed) -> usize {
    run.periods.len().div_ceil(MOST).max(1)
}

/// The points, oldest first.
pub fn points(run: &Policed) -> Vec<PeriodMean> {
    run.periods.chunks(step(run)).map(together).collect()
}

fn together(periods: &[PolicedPeriod]) -> PeriodMean {
    let count = periods.len().max(1) as f64;
    let tenants = periods.first().map_or(0, |period| period.tenants.len());
    let mean = |tenant: usize, of: fn(&PolicedRates) -> f64| {
        let values = periods.iter().filter_map(|p| p.tenants.get(tenant)).map(of);
        values.sum::<f64>() / count
    };
    let all = |tenant: usize, of: fn(&PolicedRates) -> Option<f64>| {
        let values = periods.iter().map(|p| p.tenants.get(tenant).and_then(of));
        let values: Option<Vec<f64>> = values.collect();
        values.map(|values| values.iter().sum::<f64>() / count)
    };
    let of = |tenant: usize| PolicedRates {
        rate_bps: mean(tenant, |r| r.rate_bps),
        demand_bps: all(tenant, |r| r.demand_bps),
        hard_bps: mean(tenant, |r| r.hard_bps),
        soft_bps: all(tenant, |r| r.soft_bps),
        limit_bps: mean(tenant, |r| r.limit_bps),
        credit_bits: all(tenant, |r| r.credit_bits),
        granted: None,
        packets: None,
        received: None,
    };
    PeriodMean {
        at_s: periods.last().map_or(0.0, |period| period.at_s),
        total_bps: periods.iter().map(|p| p.total_bps).sum::<f64>() / count,
        tenants: (0..tenants).map(of).collect(),
    }
}
