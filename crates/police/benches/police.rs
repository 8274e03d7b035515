//! The controller on a simulated link, beside no control, static shares and AIMD, all in one
//! run: error of the shares, use of the link, periods to settle, limits written.
//!
//! `cargo bench -p nicety-police --bench police` prints a table and writes `bench/police.json`
//! under the target directory.

// A benchmark is an edge: it prints and writes a file.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs
)]

#[path = "../tests/simulation/mod.rs"]
mod simulation;

use std::path::Path;
use std::time::Instant;

use serde_json::{Map, Value, json};
use simulation::{Control, Figures, aims, controllers, run};

const PERIODS: usize = 600;
const SEEDS: u64 = 12;

fn main() {
    println!(
        "8 senders, 10 Gbit/s, {SEEDS} seeds of {PERIODS} periods; mean over the seeds\n\
         {:<22}{:>8}{:>8}{:>9}{:>10}{:>8}{:>8}{:>9}",
        "", "error", "use", "misses", "settle", "p95", "p99", "writes"
    );
    let mut figures = Map::new();
    let mut ours = None;
    let mut aimd = None;
    for (name, make) in controllers() {
        let of: Vec<Figures> = (0..SEEDS).map(|seed| run(seed, PERIODS, make)).collect();
        let mean = Figures::mean(&of);
        println!(
            "{name:<22}{:>8.3}{:>8.3}{:>9.3}{:>10.1}{:>8.1}{:>8.1}{:>9.2}",
            mean.error,
            mean.used,
            mean.misses,
            mean.settle_median,
            mean.settle_p95,
            mean.settle_p99,
            mean.writes
        );
        figures.insert(name.to_owned(), mean.json());
        match name {
            "level" => ours = Some(mean),
            "aimd" => aimd = Some(mean),
            _ => {}
        }
    }
    let mut ratios = Map::new();
    if let (Some(ours), Some(aimd)) = (ours, aimd) {
        println!();
        for aim in aims(&ours, &aimd) {
            println!("{}", aim);
        }
        for (name, ratio) in [
            ("error_level_to_aimd", ours.error / aimd.error),
            ("writes_level_to_aimd", ours.writes / aimd.writes),
        ] {
            ratios.insert(
                name.to_owned(),
                json!({"median": ratio, "min": ratio, "max": ratio}),
            );
        }
    }
    let cost = step_cost();
    println!("\none decision for 1000 ports: {cost:.0} µs");
    figures.insert("decision_1000_ports_us".to_owned(), json!(cost));
    write(&json!({"ratios": ratios, "figures": figures, "peers": {}}));
}

/// Microseconds for a decision about 1000 ports that all want everything.
fn step_cost() -> f64 {
    let mut level = simulation::Level::of(&simulation::level::policy_of_many(1000), 1.0, 1);
    let rates = vec![10e9 / 1000.0; 1000];
    level.limits(&rates);
    let begin = Instant::now();
    for _ in 0..50 {
        level.limits(&rates);
    }
    begin.elapsed().as_secs_f64() * 1e6 / 50.0
}

fn write(value: &Value) {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        Into::into,
    );
    let dir = target.join("bench");
    std::fs::create_dir_all(&dir).unwrap();
    let text = serde_json::to_string_pretty(value).unwrap();
    std::fs::write(dir.join("police.json"), text + "\n").unwrap();
}
