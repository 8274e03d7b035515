//! What the daemon that shares a link reports of functions and ports.

use std::collections::BTreeMap;

use crate::PortName;
use crate::report::State;
use nicety_model::vf::{Shared, VfReport};

/// Adds tenants with their hard and soft limits to a report.
pub fn add(report: &mut VfReport, state: &State) {
    let decision = &state.decision;
    let of = |tenant: usize| {
        let decided = decision.tenants.get(tenant)?;
        Some(Shared {
            tenant: state.tenants.get(tenant)?.tenant.clone(),
            hard_bps: decided.cap_bps,
            soft_bps: decided.soft_bps,
        })
    };
    let ports = decision.ports.iter();
    let known: BTreeMap<String, Shared> = ports
        .filter_map(|port| Some((port.place(), of(port.tenant)?)))
        .collect();
    for nic in &mut report.nics {
        for function in &mut nic.functions {
            let name = PortName::Vf {
                pf: nic.interface.clone(),
                vf: function.vf,
            };
            function.shared = known.get(&name.to_string()).cloned();
        }
    }
    for port in &mut report.ports {
        port.shared = known.get(&port.interface).cloned();
    }
}
