//! One cap over many hosts: a real etcd of three members, 20 `nicety police run` with real packets, and 100 hosts of
//! which only the ports are simulated, all below one prefix. Beside it a static split and doorman's algorithms,
//! played with the same demand.
//!
//! `cargo bench -p nicety --bench cluster` prints tables, and writes `bench/cluster.json` under the target directory.
//! It takes about seven minutes. Everything happens in network namespaces of its own. Rates are those on the wire:
//! with FCS, preamble and gap. `NICETY_BENCH_SHIFTS` is the number of shifts of a kind; 32 when absent.

// A benchmark is an edge: it prints, reads its environment and writes a file.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod cost;
mod hosts;
mod judge;
mod machine;
mod peers;
mod port;
mod report;
mod run;
mod sender;
mod series;
mod simulated;
mod trace;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::{Context, Result};
use nicety_netdev::privilege::{self, Privilege};

use trace::{Scene, Trace};

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
    // `cargo test --benches` passes no --bench: there is nothing to test here.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("a benchmark: cargo bench -p nicety --bench cluster");
        return Ok(());
    }
    let shifts = match std::env::var("NICETY_BENCH_SHIFTS") {
        Err(_) => 32,
        Ok(text) => text
            .parse()
            .ok()
            .filter(|shifts| (1..=1000).contains(shifts))
            .with_context(|| format!("NICETY_BENCH_SHIFTS is {text:?}, must be 1 to 1000"))?,
    };
    if privilege::privilege()? == Privilege::Ordinary {
        privilege::enter_user_namespace()?;
    }
    // What was made goes when this is told: a default handler would leave etcd's data.
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let trace = Trace::new(SEED, shifts);
    let run = run::run(&trace, &stop)?;
    let mut shown = vec![("nicety", run.series.clone())];
    for peer in peers::Peer::EACH {
        shown.push((peer.word(), peers::play(&trace, peer, SEED)));
    }
    let judged: Vec<report::Judged> = shown
        .iter()
        .map(|(name, series)| {
            let of = |scene: Scene| (scene, judge::judge(&trace, series, scene));
            (*name, Scene::EACH.map(of).into())
        })
        .collect();
    let all = report::report(&run, &judged);
    let file = target()?.join("cluster.json");
    std::fs::write(&file, serde_json::to_string_pretty(&all)? + "\n")?;
    println!("written: {}", file.display());
    Ok(())
}

/// Where results go.
fn target() -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        Into::into,
    );
    let dir = target.join("bench");
    std::fs::create_dir_all(&dir)?;
    Ok(dir)
}
