//! Two namespaces between which tc hands every frame from one interface to the other (cls_*, act_mirred).
//!
//! ```text
//!  namespace A      namespace DUT        namespace B
//!      a ------- d0 - ingress filter - d1 ------- b
//! ```

use nicety_model::path::TcFilter;
use nicety_netdev::net_error::NetError;

use crate::counters::PathCounters;
use crate::error::PathError;
use crate::path::{Path, PathFacts};
use crate::rig::{Rig, RigSpec};
use crate::tool::TC;

/// The path; gone when dropped.
#[derive(Debug)]
pub struct TcRedirectPath(Rig);

impl TcRedirectPath {
    /// Refuses what this machine cannot do; makes nothing.
    ///
    /// # Errors
    /// [`PathError::NotInstalled`] without tc.
    pub fn check() -> Result<(), PathError> {
        TC.find().map(drop)
    }

    /// Builds the path and waits until it has carrier everywhere.
    ///
    /// # Errors
    /// Those of [`BridgePath::build`](crate::BridgePath::build); [`PathError::NotInstalled`] without tc;
    /// [`PathError::NoKernelSupport`] for a kernel without the filter or the action.
    pub fn build(spec: &RigSpec, filter: TcFilter) -> Result<Self, PathError> {
        let mut rig = Rig::build("tc-redirect", spec)?;
        for (from, to) in [("d0", "d1"), ("d1", "d0")] {
            let ns = &rig.dut.ns;
            TC.run(ns, &words(&format!("qdisc add dev {from} ingress")), "")?;
            for rule in rules(filter) {
                let rule = format!(
                    "filter add dev {from} ingress {rule} action mirred egress redirect dev {to}"
                );
                TC.run(ns, &words(&rule), "")
                    .map_err(|error| lacking(error, filter))?;
            }
        }
        rig.joined(false);
        Ok(Self(rig))
    }
}

/// Filters that find every frame of the tester's and of sockets.
fn rules(filter: TcFilter) -> &'static [&'static str] {
    match filter {
        TcFilter::Matchall => &["protocol all matchall"],
        TcFilter::Flower => &[
            "protocol ip pref 1 flower",
            "protocol ipv6 pref 2 flower",
            // Sockets ask who has an address.
            "protocol arp pref 3 flower",
        ],
        TcFilter::U32 => &["protocol all u32 match u32 0 0"],
    }
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

fn lacking(error: PathError, filter: TcFilter) -> PathError {
    let PathError::Program { last, .. } = &error else {
        return error;
    };
    // tc says no more than what the kernel answered; it is the filter, or mirred.
    if !["No such file", "not found", "not supported", "Unknown"]
        .iter()
        .any(|words| last.contains(words))
    {
        return error;
    }
    let what = match filter {
        TcFilter::Matchall => "cls_matchall (CONFIG_NET_CLS_MATCHALL)",
        TcFilter::Flower => "cls_flower (CONFIG_NET_CLS_FLOWER)",
        TcFilter::U32 => "cls_u32 (CONFIG_NET_CLS_U32)",
    };
    PathError::no_module(what, &format!("cls_{filter}"))
}

impl Path for TcRedirectPath {
    fn facts(&self) -> &PathFacts {
        &self.0.facts
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        self.0.counters(&[])
    }
}
