//! Burst credits; only where the policy gives any.

use nicety_police::explain::Explanation;
use nicety_report::metric::{Family, Label};

use crate::board::Shown;

pub(super) fn families(shown: &Shown) -> Vec<Family> {
    let state = &shown.state;
    let tenants = shown.policy.tenants.iter().zip(&state.decision.tenants);
    let sent = tenants.filter_map(|(tenant, of)| Some((tenant.name.as_str(), "sent", of.burst?)));
    let received = state.received.iter().flat_map(|of| &of.tenants);
    let came = |of: &'_ Explanation| of.burst.map(|burst| burst.state);
    let received = received.filter_map(|of| Some((of.tenant.as_str(), "received", came(of)?)));
    let all: Vec<_> = sent.chain(received).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let labels = |tenant: &str, direction: &str| -> Vec<Label> {
        vec![
            ("tenant", tenant.to_owned()),
            ("direction", direction.to_owned()),
        ]
    };
    let family = |name, help, bits: fn(&nicety_police::credit::BurstState) -> f64| {
        let samples = all
            .iter()
            .map(|(tenant, direction, of)| (labels(tenant, direction), bits(of) / 8.0));
        Family::gauge(name, help, samples.collect::<Vec<_>>())
    };
    vec![
        family(
            "nicety_police_tenant_burst_credit_bytes",
            "What a tenant may send or receive above its hard limit; below 0 it owes that.",
            |of| of.credit_bits,
        ),
        family(
            "nicety_police_tenant_burst_full_bytes",
            "The most of it that a tenant saves.",
            |of| of.full_bits,
        ),
    ]
}
