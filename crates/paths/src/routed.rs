//! Two namespaces joined by the kernel's router, with rules of nftables where they are asked for.
//!
//! ```text
//!  namespace A          namespace DUT              namespace B
//!      a ----------- d0 - routes, nft - d1 ------------ b
//! ```
//!
//! `d0` has the address of the tester's station B and `d1` that of A, so the frames that the tester sends over any
//! path are addressed to the router here, and arrive as over any other, with a TTL that is one less.

mod rules;
mod tracking;

use std::fs;

use nicety_model::Remedy;
use nicety_model::path::RoutedParams;
use nicety_netdev::link::Mac;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;

use crate::counters::PathCounters;
use crate::error::PathError;
use crate::networks;
use crate::path::{Path, PathFacts};
use crate::rig::{Rig, RigSpec};
use crate::tool::NFT;

pub use tracking::{TableFacts, TrackingPath, TrackingSpec};

/// Most connections that a namespace keeps in mind (net/netfilter/nf_conntrack_standalone.c).
const TABLE: &str = "/proc/sys/net/netfilter/nf_conntrack_max";

/// A router between the tester's ports.
#[derive(Debug, Clone)]
pub struct RoutedSpec {
    /// The two ways to it.
    pub rig: RigSpec,
    /// What it does.
    pub ask: RoutedParams,
    /// The tester's stations at ports A and B.
    pub stations: [Mac; 2],
    /// Whether frames are of IPv6.
    pub ipv6: bool,
    /// Flows of both directions: as many connections.
    pub flows: u64,
}

/// The path; gone when dropped.
#[derive(Debug)]
pub struct RoutedPath(Rig);

impl RoutedPath {
    /// Refuses what this machine cannot do; makes nothing.
    ///
    /// # Errors
    /// [`PathError::NotInstalled`] without nft where rules are asked for.
    pub fn check(spec: &RoutedSpec) -> Result<(), PathError> {
        if spec.ask.filters() {
            NFT.find().map(drop)
        } else {
            Ok(())
        }
    }

    /// Builds the path and waits until it has carrier everywhere.
    ///
    /// # Errors
    /// Those of [`BridgePath::build`](crate::BridgePath::build); [`PathError::NotInstalled`] and
    /// [`PathError::Program`] of nft; [`PathError::NoKernelSupport`] for a kernel without what the rules need;
    /// [`PathError::Guest`] for more flows than its table of connections holds.
    pub fn build(spec: &RoutedSpec) -> Result<Self, PathError> {
        let mut rig = Rig::build("routed", &spec.rig)?;
        networks::connect(&rig.dut, spec.stations, spec.ipv6)?;
        if spec.ask.filters() {
            let script = rules::script(&spec.ask, spec.ipv6);
            NFT.run(&rig.dut.ns, &["-f", "-"], &script)
                .map_err(|error| lacking(error, &spec.ask))?;
        }
        if spec.ask.tracks() {
            fits(&rig.dut.ns, spec.flows)?;
        }
        rig.joined(false);
        Ok(Self(rig))
    }
}

/// A kernel that knows rules and not these.
fn lacking(error: PathError, ask: &RoutedParams) -> PathError {
    let PathError::Program { last, .. } = &error else {
        return error;
    };
    let none = ["No such file or directory", "Operation not supported"];
    if !none.iter().any(|words| last.contains(words)) {
        return error;
    }
    let (what, module) = match (ask.flowtable(), ask.snat()) {
        (true, _) => ("flowtables", "-a nf_flow_table nft_flow_offload"),
        (_, true) => (
            "address translation for nftables",
            "-a nft_chain_nat nft_nat",
        ),
        _ => ("nftables", "-a nf_tables"),
    };
    PathError::no_module(what, module)
}

/// Refuses flows that the table of connections does not hold: what does not fit would be lost, and be no loss of the
/// path.
fn fits(ns: &NetNs, flows: u64) -> Result<(), PathError> {
    let read = ns.run(|| fs::read_to_string(TABLE))?;
    let most = read.ok().and_then(|text| text.trim().parse::<u64>().ok());
    match most {
        Some(most) if flows > most => Err(PathError::Guest {
            why: format!(
                "{flows} flows are as many connections, and the kernel's table holds {most}"
            ),
            remedy: Remedy::here_or_plan(
                format!("sysctl net.netfilter.nf_conntrack_max={flows} on the host"),
                "write fewer flows",
            ),
        }),
        _ => Ok(()),
    }
}

impl Path for RoutedPath {
    fn facts(&self) -> &PathFacts {
        &self.0.facts
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        self.0.counters(&[])
    }
}
