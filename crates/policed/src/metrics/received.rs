//! What tenants receive; only where the policy limits that.

use nicety_police::PortDecision;
use nicety_police::controller::Enforcement;
use nicety_police::report::ReceivedState;
use nicety_report::metric::{Family, Label};

use super::{one, port_labels};
use crate::board::Shown;

pub(super) fn families(shown: &Shown, received: &ReceivedState) -> Vec<Family> {
    let mut all = tenants(received);
    all.extend(ports(shown, received));
    all.push(Family::gauge(
        "nicety_police_link_receive_rate_bytes_per_second",
        "Received by all ports whose receiving is limited, with preamble and gap.",
        one(received.decision.total_bps / 8.0),
    ));
    all
}

fn tenants(received: &ReceivedState) -> Vec<Family> {
    let of = |name: &str| vec![("tenant", name.to_owned())];
    let tenants = received.tenants.iter().zip(&received.hard_bps);
    let limits = tenants.flat_map(|(tenant, hard)| {
        let kinds = [
            ("guarantee", tenant.guarantee.bps()),
            ("hard", *hard),
            ("effective", tenant.limit_bps),
        ];
        kinds.map(|(kind, bps)| {
            let mut labels = of(&tenant.tenant);
            labels.push(("kind", kind.to_owned()));
            (labels, bps / 8.0)
        })
    });
    vec![
        Family::gauge(
            "nicety_police_tenant_receive_rate_bytes_per_second",
            "Received by the ports of a tenant, with preamble and gap.",
            received
                .tenants
                .iter()
                .map(|tenant| (of(&tenant.tenant), tenant.rate_bps / 8.0))
                .collect::<Vec<_>>(),
        ),
        Family::gauge(
            "nicety_police_tenant_receive_limit_bytes_per_second",
            "By kind: guarantee and hard limit of the policy, effective limit of what a tenant receives.",
            limits.collect::<Vec<_>>(),
        ),
    ]
}

fn ports(shown: &Shown, received: &ReceivedState) -> Vec<Family> {
    let ports = || received.decision.ports.iter();
    let of = |number: fn(&PortDecision) -> Option<f64>| -> Vec<(Vec<Label>, f64)> {
        ports()
            .filter_map(|port| Some((port_labels(shown, port), number(port)?)))
            .collect()
    };
    vec![
        Family::gauge(
            "nicety_police_port_receive_rate_bytes_per_second",
            "Received by the owner of a port, with preamble and gap.",
            of(|port| Some(port.rate_bps? / 8.0)),
        ),
        Family::gauge(
            "nicety_police_port_receive_limit_bytes_per_second",
            "What the owner of a port may receive.",
            of(|port| port.present.then(|| port.limit.bps() / 8.0)),
        ),
        Family::gauge(
            "nicety_police_port_receive_limit_not_enforced",
            "1 when the port has received more than its limit for several periods, else 0.",
            of(|port| {
                let leaks = port.enforcement == Enforcement::NotEnforced;
                port.present.then(|| f64::from(u8::from(leaks)))
            }),
        ),
        Family::gauge(
            "nicety_police_port_receive_unlimited",
            "1 when the port is there and what it receives cannot be limited now, else 0.",
            of(|port| Some(f64::from(u8::from(port.waits.is_some())))),
        ),
        Family::counter(
            "nicety_police_port_receive_limit_lost_total",
            "Times that the limit of what a port receives was found gone or changed by somebody else.",
            ports()
                .zip(&received.lost)
                .map(|(port, lost)| (port_labels(shown, port), *lost as f64))
                .collect::<Vec<_>>(),
        ),
    ]
}
