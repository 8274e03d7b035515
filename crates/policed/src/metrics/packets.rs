//! Packets a second; only where the policy limits these.

use nicety_police::report::PacketsState;
use nicety_report::metric::{Family, Label};

use crate::board::Shown;

pub(super) fn families(shown: &Shown) -> Vec<Family> {
    let state = &shown.state;
    let received = state.received.as_ref().and_then(|of| of.packets.as_ref());
    let both = [("sent", state.packets.as_ref()), ("received", received)];
    let both: Vec<(&str, &PacketsState)> = both
        .into_iter()
        .filter_map(|(direction, state)| Some((direction, state?)))
        .collect();
    if both.is_empty() {
        return Vec::new();
    }
    let labels = |key: &'static str, name: &str, direction: &str| -> Vec<Label> {
        vec![(key, name.to_owned()), ("direction", direction.to_owned())]
    };
    let tenants = || {
        both.iter()
            .flat_map(|(direction, state)| state.tenants.iter().map(move |of| (*direction, of)))
    };
    let ports = || {
        both.iter()
            .flat_map(|(direction, state)| state.ports.iter().map(move |of| (*direction, of)))
    };
    vec![
        Family::gauge(
            "nicety_police_tenant_packets_per_second",
            "Packets that a tenant sends or receives, where they are limited.",
            tenants()
                .map(|(direction, of)| (labels("tenant", &of.tenant, direction), of.rate_pps))
                .collect::<Vec<_>>(),
        ),
        Family::gauge(
            "nicety_police_tenant_packet_limit_per_second",
            "Packets that a tenant may send or receive.",
            tenants()
                .map(|(direction, of)| (labels("tenant", &of.tenant, direction), of.limit_pps))
                .collect::<Vec<_>>(),
        ),
        Family::gauge(
            "nicety_police_port_packet_limit_per_second",
            "Packets that the owner of a port may send or receive.",
            ports()
                .filter_map(|(direction, of)| {
                    Some((labels("port", &of.port, direction), of.limit_pps? as f64))
                })
                .collect::<Vec<_>>(),
        ),
    ]
}
