//! Decisions as they are recorded, and sums over a record.

use nicety_model::SCHEMA;
use nicety_model::policed::{
    PolicedCluster, PolicedGrant, PolicedHead, PolicedPackets, PolicedPeriod, PolicedPort,
    PolicedPortRates, PolicedRates, PolicedReceived, PolicedStands, PolicedSummary, PolicedTenant,
};

use crate::controller::Decision;
use crate::policy::Policy;
use crate::report::{ClusterPart, ClusterStands, ClusterTenant, PacketsState, ReceivedState};

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

/// What a period says besides what tenants send; none where the policy has nothing of that.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside<'a> {
    /// The host's part in a cluster.
    pub cluster: Option<&'a ClusterPart>,
    /// What tenants receive.
    pub received: Option<&'a ReceivedState>,
    /// Packets that they send.
    pub packets: Option<&'a PacketsState>,
}

/// A period that ended `at_s` seconds after the start, in whole bits per second. `names` are those of the
/// tenants, in the order of the policy.
pub fn period(decision: &Decision, at_s: f64, names: &[&str], beside: Beside<'_>) -> PolicedPeriod {
    let part = beside.cluster;
    let granted = |index: usize| {
        let mut tenants = part?.tenants.iter();
        let of = tenants.find(|of| Some(&of.tenant.as_str()) == names.get(index))?;
        Some(grant(of))
    };
    let whole = |bps: Option<f64>| bps.map(f64::round);
    let tenants = decision.tenants.iter().enumerate();
    let tenants = tenants.map(|(index, tenant)| PolicedRates {
        granted: granted(index),
        packets: names
            .get(index)
            .and_then(|name| packets(beside.packets, name)),
        received: names
            .get(index)
            .and_then(|name| received(beside.received?, name)),
        rate_bps: tenant.rate_bps.round(),
        demand_bps: whole(tenant.demand_bps),
        hard_bps: tenant.cap_bps.round(),
        soft_bps: whole(tenant.soft_bps),
        limit_bps: tenant.limit_bps.round(),
        credit_bits: whole(tenant.burst.map(|burst| burst.credit_bits)),
    });
    let ports = decision.ports.iter().map(|port| PolicedPortRates {
        rate_bps: whole(port.rate_bps),
        demand_bps: whole(port.demand_bps),
        limit_bps: port.limit.bps(),
        present: port.present,
        interface: port.interface.clone(),
    });
    PolicedPeriod {
        schema: SCHEMA,
        at_s: millis(at_s),
        cluster: part.map(cluster),
        total_bps: decision.total_bps.round(),
        level_bps: whole(decision.level_bps),
        tenants: tenants.collect(),
        ports: ports.collect(),
    }
}

/// Packets of a tenant, where they are limited.
fn packets(state: Option<&PacketsState>, tenant: &str) -> Option<PolicedPackets> {
    let of = state?.tenants.iter().find(|of| of.tenant == tenant)?;
    Some(PolicedPackets {
        rate_pps: of.rate_pps.round(),
        limit_pps: of.limit_pps,
        max_pps: of.max_pps.map(|packets| packets as f64),
    })
}

/// What a tenant receives, where that is limited.
fn received(state: &ReceivedState, tenant: &str) -> Option<PolicedReceived> {
    let mut tenants = state.tenants.iter().zip(&state.hard_bps);
    let (of, hard) = tenants.find(|(of, _)| of.tenant == tenant)?;
    Some(PolicedReceived {
        rate_bps: of.rate_bps.round(),
        demand_bps: of.demand_bps.map(f64::round),
        hard_bps: hard.round(),
        limit_bps: of.limit_bps.round(),
        credit_bits: of.burst.map(|burst| burst.state.credit_bits.round()),
        packets: packets(state.packets.as_ref(), tenant),
    })
}

fn millis(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

fn cluster(part: &ClusterPart) -> PolicedCluster {
    PolicedCluster {
        stands: match part.stands {
            ClusterStands::Granted => PolicedStands::Granted,
            ClusterStands::Waiting => PolicedStands::Waiting,
            ClusterStands::Alone => PolicedStands::Alone,
        },
        grant: part.grant,
        leads: part.leads,
        heard_s: part.heard_s.map(millis),
        holds_s: part.holds_s.map(millis),
    }
}

fn grant(of: &ClusterTenant) -> PolicedGrant {
    PolicedGrant {
        demand_bps: of.demand.map(|demand| demand.bps()),
        max_bps: of.max.bps(),
        guarantee_bps: of.guarantee.bps(),
        safe_bps: of.safe.bps(),
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
            received_mean_bps: mean(rates().map(|r| Some(r.received?.rate_bps))),
            mean_pps: mean(rates().map(|r| Some(r.packets?.rate_pps))),
            received_mean_pps: mean(rates().map(|r| Some(r.received?.packets?.rate_pps))),
        })
    });
    summaries.collect()
}

/// The mean of what is known in all periods.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Option<Vec<f64>> = values.collect();
    values
        .filter(|values| !values.is_empty())
        .map(|values| values.iter().sum::<f64>() / values.len() as f64)
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
    use nicety_model::BitRate;

    use super::*;
    use crate::controller::TenantDecision;

    fn rates(rate: f64, demand: Option<f64>, limit: f64) -> PolicedRates {
        PolicedRates {
            rate_bps: rate,
            demand_bps: demand,
            hard_bps: 100.0,
            soft_bps: None,
            limit_bps: limit,
            credit_bits: None,
            granted: None,
            packets: None,
            received: None,
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
                cluster: None,
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
    fn a_period_says_what_the_cluster_gave() {
        let decided = TenantDecision {
            rate_bps: 4e6,
            demand_bps: Some(5e6),
            given_bps: 5e6,
            limit_bps: 6e6,
            set_bps: None,
            cap_bps: 6e6,
            soft_bps: None,
            burst: None,
        };
        let decision = Decision {
            ports: Vec::new(),
            tenants: vec![decided; 2],
            writes: Vec::new(),
            level_bps: None,
            guarantees_scaled: 1.0,
            total_bps: 8e6,
        };
        let part = ClusterPart {
            host: "h1".to_owned(),
            prefix: "/nicety".to_owned(),
            endpoint: None,
            stands: ClusterStands::Granted,
            leads: true,
            grant: 7,
            heard_s: Some(0.123_456),
            holds_s: None,
            reconnects: 0,
            elections: 1,
            fallbacks: 0,
            unreadable: 0,
            guarded: true,
            trouble: None,
            tenants: vec![ClusterTenant {
                tenant: "blue".to_owned(),
                demand: Some(BitRate(5_000_000)),
                max: BitRate(6_000_000),
                guarantee: BitRate(2_000_000),
                safe: BitRate(1_000_000),
                total_max: BitRate(9_000_000),
            }],
        };
        let recorded = period(
            &decision,
            1.0,
            &["red", "blue"],
            Beside {
                cluster: Some(&part),
                ..Beside::default()
            },
        );
        assert_eq!(recorded.tenants[0].granted, None);
        let grant = PolicedGrant {
            demand_bps: Some(5e6),
            max_bps: 6e6,
            guarantee_bps: 2e6,
            safe_bps: 1e6,
        };
        assert_eq!(recorded.tenants[1].granted, Some(grant));
        let line = serde_json::to_string(&recorded).unwrap();
        assert!(
            line.contains(
                r#""cluster":{"stands":"granted","grant":7,"leads":true,"heard_s":0.123}"#
            ),
            "{line}"
        );
        // A host without a cluster says nothing, as records from before clusters do.
        let alone = period(&decision, 1.0, &["red", "blue"], Beside::default());
        let line = serde_json::to_string(&alone).unwrap();
        assert!(!line.contains("cluster") && !line.contains("granted"));
        assert_eq!(serde_json::from_str::<PolicedPeriod>(&line).unwrap(), alone);
    }

    #[test]
    fn a_record_without_periods_has_no_numbers() {
        assert_eq!(summary(&link(), &[]), []);
        let head = link();
        assert_eq!(head.ports[0].name, "a0");
        assert_eq!((head.capacity_bps, head.shared_bps), (1e8, 0.97e8));
    }
}
