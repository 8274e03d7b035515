//! Tenants over 1,000 and 10,000 hosts, simulated without faults: the product beside a static split
//! and FAIR_SHARE of doorman, all with the same shifts of demand.
//!
//! `cargo bench -p nicety-police --bench cluster` prints a table and writes
//! `bench/cluster-sim.json` under the target directory.

// A benchmark is an edge: it prints and writes a file.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs
)]

#[path = "../tests/cluster_simulation/mod.rs"]
mod simulation;

use std::path::Path;

use serde_json::{Map, Value, json};
use simulation::doorman::Doorman;
use simulation::product::Product;
use simulation::scenes::{Scene, play};
use simulation::{Algorithm, Figures, Place, Scale, Shifts, Static, places, run};

const SCALES: [(&str, Scale); 3] = [
    (
        "1000_hosts_200_tenants_move",
        Scale {
            hosts: 1_000,
            tenants: 200,
            spread: 50,
            periods: 100,
            seed: 3,
            shifts: Shifts::Move,
        },
    ),
    (
        "1000_hosts_200_tenants",
        Scale {
            hosts: 1_000,
            tenants: 200,
            spread: 50,
            periods: 200,
            seed: 1,
            shifts: Shifts::Mix,
        },
    ),
    (
        "10000_hosts_2000_tenants",
        Scale {
            hosts: 10_000,
            tenants: 2_000,
            spread: 50,
            periods: 60,
            seed: 2,
            shifts: Shifts::Mix,
        },
    ),
];

fn algorithms(scale: &Scale, places: &[Place]) -> [(&'static str, Box<dyn Algorithm>); 3] {
    [
        ("nicety", Box::new(Product::new(scale, places))),
        ("static split", Box::new(Static::new(scale, places))),
        ("doorman FAIR_SHARE", Box::new(Doorman::new(scale, places))),
    ]
}

fn main() {
    let (mut figures, mut ratios) = (Map::new(), Map::new());
    for (name, scale) in SCALES {
        let places = places(&scale);
        println!(
            "{} hosts, {} tenants, each on {} hosts; {} periods, of every tenant one {:?} each {}\n\
             {:<20}{:>7}{:>9}{:>8}{:>6}{:>9}{:>9}{:>10}{:>10}{:>11}",
            scale.hosts,
            scale.tenants,
            scale.spread,
            scale.periods,
            scale.shifts,
            simulation::SHIFT,
            "",
            "use",
            "settled",
            "follow",
            "p95",
            "writes",
            "grants",
            "kB/period",
            "kB stored",
            "leader ms"
        );
        let mut used = Map::new();
        for (algorithm, mut made) in algorithms(&scale, &places) {
            let of = run(&scale, &places, made.as_mut());
            println!(
                "{algorithm:<20}{:>7.3}{:>9.3}{:>8.1}{:>6.1}{:>9.0}{:>9.0}{:>10.0}{:>10.0}{:>11.1}",
                of.used,
                of.settled,
                of.follow_median,
                of.follow_p95,
                of.writes,
                of.grants,
                of.bytes / 1e3,
                of.stored / 1e3,
                of.leader_ms
            );
            figures.insert(format!("{name} {algorithm}"), json(&of));
            used.insert(algorithm.to_owned(), json!(of.used));
        }
        println!();
        for other in ["static split", "doorman FAIR_SHARE"] {
            let ratio = used["nicety"].as_f64().unwrap() / used[other].as_f64().unwrap();
            ratios.insert(
                format!("{name} use_nicety_to_{other}"),
                json!({"median": ratio, "min": ratio, "max": ratio}),
            );
        }
    }
    for scene in Scene::EACH {
        let of = play(scene, 120, 360_000_000, 30, 1);
        let (median, p95) = (of.rank(0.5), of.rank(0.95));
        println!(
            "120 hosts out of step, {scene:?}: settled {:.3}, followed {median} and {p95} periods, \
             {:.2} writes and {:.2} events",
            of.settled, of.writes, of.events
        );
        let value = json!({
            "settled_use_ratio": of.settled,
            "follow_periods": {"median": median, "p95": p95},
            "limits_to_total": of.most,
            "writes_per_host_and_period": of.writes,
            "events_per_host_and_period": of.events,
        });
        figures.insert(format!("120_hosts_out_of_step {scene:?}"), value);
    }
    write(&json!({"ratios": ratios, "figures": figures, "peers": {}}));
}

fn json(of: &Figures) -> Value {
    json!({
        "use_ratio": of.used,
        "settled_use_ratio": of.settled,
        "follow_periods": {"median": of.follow_median, "p95": of.follow_p95},
        "writes_per_period": of.writes,
        "grants_per_period": of.grants,
        "bytes_per_period": of.bytes,
        "stored_bytes": of.stored,
        "leader_ms_per_period": of.leader_ms,
    })
}

fn write(value: &Value) {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        Into::into,
    );
    let dir = target.join("bench");
    std::fs::create_dir_all(&dir).unwrap();
    let text = serde_json::to_string_pretty(value).unwrap();
    std::fs::write(dir.join("cluster-sim.json"), text + "\n").unwrap();
}
