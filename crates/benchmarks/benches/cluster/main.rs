//! One cap over many hosts: a real etcd of three members, 20 `nicety police run` with real packets, and 100 hosts of
//! which only the ports are simulated, all below one prefix. Beside it a static split and doorman's algorithms,
//! played with the same demand.
//!
//! `cargo bench -p nicety-benchmarks --bench cluster` prints tables, and writes `bench/cluster.json` under the target directory.
//! It takes about seven minutes. Everything happens in network namespaces of its own. Rates are those on the wire:
//! with FCS, preamble and gap. `NICETY_BENCH_SHIFTS` is the number of shifts of a kind; 32 when absent.

// A benchmark is an edge: it prints, reads its environment and writes a file.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod cost;
mod hosts;
mod judge;
mod peers;
mod port;
mod report;
mod run;
mod sender;
mod series;
mod simulated;
mod trace;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use nicety_benchmarks::figures::Figures;
use nicety_benchmarks::start::{interruption, is_asked_for, own_namespaces, setting};
use serde_json::{Map, json};

use trace::Trace;

/// Hosts with real packets, and all.
const REAL: usize = 20;
const HOSTS: usize = 120;
/// Members of etcd.
const MEMBERS: usize = 3;
/// All tenants have the same total over all hosts, in bits per second. A host's room to begin is a fortieth of an equal
/// part, which a port takes from 64 kbit/s on.
const TENANTS: [&str; 2] = ["blue", "green"];
const TOTAL: f64 = 360e6;
/// The period of link and cluster: what the product has when nothing is said.
const PERIOD_S: f64 = 1.0;
/// Of everything that is drawn.
const SEED: u64 = 2026;

/// The policy of every host.
fn policy(endpoints: &[String]) -> String {
    let mut policy = format!(
        "[link]\ncapacity = \"800mbit\"\n\
         [cluster]\nendpoints = {endpoints:?}\nprefix = \"/bench/\"\nhosts = {HOSTS}\n"
    );
    for (number, tenant) in TENANTS.iter().enumerate() {
        let port = hosts::port(number);
        policy += &format!(
            "[[tenant]]\nname = \"{tenant}\"\nports = \"{port}\"\n\
             total_max = \"360mbit\"\ntotal_guarantee = \"72mbit\"\n"
        );
    }
    policy
}

/// What each host wants of each tenant now, in bits per second on the wire.
#[derive(Debug, Clone)]
pub struct Wants(Arc<Vec<[AtomicU64; TENANTS.len()]>>);

impl Wants {
    fn new() -> Self {
        let host = || std::array::from_fn(|_| AtomicU64::new(0));
        Self(Arc::new((0..HOSTS).map(|_| host()).collect()))
    }

    fn of(&self, tenant: usize, host: usize) -> f64 {
        f64::from_bits(self.0[host][tenant].load(Ordering::Relaxed))
    }

    fn set(&self, tenant: usize, demand: &[f64]) {
        for (host, demand) in self.0.iter().zip(demand) {
            host[tenant].store(demand.to_bits(), Ordering::Relaxed);
        }
    }
}

fn main() -> Result<()> {
    if !is_asked_for("cluster") {
        return Ok(());
    }
    let shifts = setting("NICETY_BENCH_SHIFTS", 32)?;
    own_namespaces()?;
    // What was made goes when this is told: a default handler would leave etcd's data.
    let stop = interruption()?;
    let trace = Trace::new(SEED, shifts);
    let run = run::run(&trace, &stop)?;
    let mut figures = Figures::default();
    report::scenes(report::NICETY, &trace, &run.series, &mut figures);
    for peer in peers::Peer::EACH {
        let series = peers::play(&trace, peer, SEED);
        report::scenes(peer.word(), &trace, &series, &mut figures);
        report::ratios(peer.word(), &mut figures);
    }
    report::cost(&run, &mut figures);
    let peers = Map::from_iter([("etcd".to_owned(), json!(run.etcd))]);
    figures.finish("cluster", &peers)?;
    figures.judge(report::AIMS);
    Ok(())
}
