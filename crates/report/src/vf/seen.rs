//! Functions and ports alike: what a reader wants to know first of each.

use nicety_model::vf::{PortCounters, Shared, VfReport};
use nicety_police::explain::readable;

use super::rate;
use crate::document::Cell;

/// A port or function, whoever has it.
pub(super) struct Seen<'s> {
    pub name: String,
    pub counters: Option<&'s PortCounters>,
    /// In words.
    pub limit: String,
    pub limit_bps: Option<f64>,
    pub shared: Option<&'s Shared>,
    /// Who has it; of a port of nobody known its kind.
    pub holder: &'s str,
}

impl Seen<'_> {
    /// Bits that its owner sends per second.
    pub fn sent(&self) -> Option<f64> {
        self.counters.and_then(|counters| counters.tx_bps)
    }

    /// Bits that its owner receives per second.
    pub fn received(&self) -> Option<f64> {
        self.counters.and_then(|counters| counters.rx_bps)
    }

    /// Its limit, of which programs are told a number only.
    pub fn limit(&self) -> Cell {
        match self.limit_bps {
            Some(bps) => Cell::sorted(bps, |_| self.limit.clone()).exact_unit("bit/s"),
            None => Cell::word(self.limit.clone(), ""),
        }
    }

    /// Tenant of the policy that shares it.
    pub fn tenant(&self) -> Option<&str> {
        self.shared.map(|shared| shared.tenant.as_str())
    }
}

/// Everything, functions first.
pub(super) fn seen(report: &VfReport) -> impl Iterator<Item = Seen<'_>> {
    let functions = report.nics.iter().flat_map(|nic| {
        nic.functions.iter().map(|f| Seen {
            name: function(&nic.interface, f.vf),
            counters: f.counters.as_ref(),
            limit: limit(f.foreign.as_ref(), || rate(f.max_mbit).text),
            limit_bps: f.max_mbit.filter(|m| *m > 0).map(|m| f64::from(m) * 1e6),
            shared: f.shared.as_ref(),
            holder: &f.holder,
        })
    });
    let ports = report.ports.iter().map(|port| Seen {
        name: port.interface.clone(),
        counters: port.counters.as_ref(),
        limit: match port.limit {
            Some(rate) => readable(rate.0 as f64),
            None => limit(port.foreign.as_ref(), || "none".to_owned()),
        },
        limit_bps: port.limit.map(|rate| rate.0 as f64),
        shared: port.shared.as_ref(),
        holder: port.holder.as_ref().unwrap_or(&port.kind),
    });
    functions.chain(ports)
}

/// A limit of somebody else, or `ours`.
fn limit(foreign: Option<&String>, ours: impl Fn() -> String) -> String {
    foreign.map_or_else(ours, |kind| format!("{kind} of somebody else"))
}

/// How a function is named.
pub(super) fn function(nic: &str, vf: u32) -> String {
    format!("{nic}/vf{vf}")
}
