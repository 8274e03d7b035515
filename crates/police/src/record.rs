//! Decisions as they are recorded, and sums over a record.

use nicety_model::SCHEMA;
use nicety_model::policed::{
    PolicedHead, PolicedPeriod, PolicedPort, PolicedPortRates, PolicedRates, PolicedSummary,
    PolicedTenant,
};

use crate::controller::Decision;
use crate::policy::Policy;

/// Share of its limit from which a tenant that wants as much as it gets counts as held by it.
const AT_LIMIT: f64 = 0.9;

/// The head of a record; `file` is the policy's name.
pub fn head(policy: &Policy, file: &str, started: String, command: String) -> PolicedHead {
    let tenants = policy.tenants.iter().map(|tenant| PolicedTenant {
        name: tenant.name.clone(),
        weight: tenant.weight,
        guarantee_bps: tenant.guarantee.bps(),
        cap_bps: tenant.cap.map(|cap| cap.bps()),
    });
    let ports = policy.ports().map(|(tenant, port)| PolicedPort {
        name: port.to_string(),
        tenant,
    });
    PolicedHead {
        schema: SCHEMA,
        policy: file.to_owned(),
        started,
        command,
        period_s: policy.period.as_secs_f64(),
        capacity_bps: policy.capacity.bps(),
        shared_bps: policy.shared_bps().round(),
        tenants: tenants.collect(),
        ports: ports.collect(),
    }
}

/// A period that ended `at_s` seconds after the start, in whole bits per second.
pub fn period(decision: &Decision, at_s: f64) -> PolicedPeriod {
    let whole = |bps: Option<f64>| bps.map(f64::round);
    let tenants = decision.tenants.iter().map(|tenant| PolicedRates {
        rate_bps: tenant.rate_bps.round(),
        demand_bps: whole(tenant.demand_bps),
        hard_bps: tenant.cap_bps.round(),
        soft_bps: whole(tenant.soft_bps),
        limit_bps: tenant.limit_bps.round(),
    });
    let ports = decision.ports.iter().map(|port| PolicedPortRates {
        rate_bps: whole(port.rate_bps),
        demand_bps: whole(port.demand_bps),
        limit_bps: port.limit.bps(),
        present: port.present,
    });
    PolicedPeriod {
        schema: SCHEMA,
        at_s: (at_s * 1000.0).round() / 1000.0,
        total_bps: decision.total_bps.round(),
        level_bps: whole(decision.level_bps),
        tenants: tenants.collect(),
        ports: ports.collect(),
    }
}

/// Sums of each tenant over all periods; none without periods.
pub fn summary(head: &PolicedHead, periods: &[PolicedPeriod]) -> Vec<PolicedSummary> {
    let tenants = head.tenants.iter().enumerate();
    let summaries = tenants.filter_map(|(index, tenant)| {
        let rates = || periods.iter().filter_map(move |p| p.tenants.get(index));
        let count = rates().count();
        (count > 0).then(|| PolicedSummary {
            tenant: tenant.name.clone(),
            mean_bps: rates().map(|r| r.rate_bps).sum::<f64>() / count as f64,
            max_bps: rates().map(|r| r.rate_bps).fold(0.0, f64::max),
            limit_min_bps: rates().map(|r| r.limit_bps).fold(f64::INFINITY, f64::min),
            limit_max_bps: rates().map(|r| r.limit_bps).fold(0.0, f64::max),
            held_ratio: held(periods, index) as f64 / count as f64,
        })
    });
    summaries.collect()
}

/// Periods in which a tenant sent as much as it might and wanted more. The limit that counts is
/// the one of the period before: each period ends by setting the next one's.
fn held(periods: &[PolicedPeriod], index: usize) -> usize {
    let of = |period: &PolicedPeriod| period.tenants.get(index).copied();
    let pairs = periods.iter().zip(periods.iter().skip(1));
    pairs
        .filter_map(|(before, now)| of(before).zip(of(now)))
        .filter(|(before, now)| {
            let limit = before.limit_bps.min(now.limit_bps);
            let wants_more = now.demand_bps.is_none_or(|demand| demand > limit);
            wants_more && now.rate_bps >= AT_LIMIT * limit
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(rate: f64, demand: Option<f64>, limit: f64) -> PolicedRates {
        PolicedRates {
            rate_bps: rate,
            demand_bps: demand,
            hard_bps: 100.0,
            soft_bps: None,
            limit_bps: limit,
        }
    }

    fn of(all: &[PolicedRates]) -> Vec<PolicedPeriod> {
        let numbered = all.iter().enumerate();
        numbered
            .map(|(at, rates)| PolicedPeriod {
                schema: SCHEMA,
                at_s: at as f64,
                total_bps: rates.rate_bps,
                level_bps: None,
                tenants: vec![*rates],
                ports: Vec::new(),
            })
            .collect()
    }

    fn link() -> PolicedHead {
        let text = "[link]\ncapacity = \"100bit\"\n[[tenant]]\nname = \"a\"\nports = [\"a0\"]\n";
        let policy = Policy::parse("p.toml", &text.replace("100bit", "100mbit"));
        head(&policy.unwrap(), "p.toml", String::new(), String::new())
    }

    #[test]
    fn a_tenant_is_held_where_it_fills_its_limit_and_wants_more() {
        let periods = of(&[
            rates(0.0, Some(0.0), 50.0),
            rates(49.0, None, 50.0),
            // Wants little: its limit does not hold it.
            rates(10.0, Some(11.0), 50.0),
            // Wants everything and has not begun to send.
            rates(20.0, None, 50.0),
        ]);
        let all = summary(&link(), &periods);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].mean_bps, all[0].max_bps), (19.75, 49.0));
        assert_eq!((all[0].limit_min_bps, all[0].limit_max_bps), (50.0, 50.0));
        assert_eq!(all[0].held_ratio, 0.25);
    }

    #[test]
    fn a_record_without_periods_has_no_numbers() {
        assert_eq!(summary(&link(), &[]), []);
        let head = link();
        assert_eq!(head.ports[0].name, "a0");
        assert_eq!((head.capacity_bps, head.shared_bps), (1e8, 0.97e8));
    }
}
