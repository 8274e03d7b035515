//! What nicety itself adds: time from a plan to the first trial on each kind of path, time between
//! two cells on the same path, and the memory of QEMU.
//!
//! `cargo bench -p nicety-benchmarks --bench paths` prints a table and writes `bench/paths.json` under the
//! target directory. Two times are told apart: of a new run, which measures the tester alone
//! before its first cell, and of one that was interrupted and goes on, which knows the tester
//! already: that is what the limits are about. `NICETY_BENCH_ROUNDS` and `NICETY_BENCH_CACHE` (where
//! QEMU and a kernel are kept) change it.

// A benchmark is an edge: it prints, reads its environment and writes a file.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod run;

use std::path::PathBuf;

use anyhow::{Context, Result};
use nicety_benchmarks::figures::Figures;
use nicety_benchmarks::start::{is_asked_for, setting};
use run::Run;
use serde_json::{Map, Value, json};

/// A kind of path, its plan, and the most seconds it may take to its first trial.
type Kind = (&'static str, &'static str, f64);

/// Namespaces, programs, emulated machines.
const KINDS: [Kind; 22] = [
    ("bridge", "kind = 'bridge'", 1.0),
    (
        "vlan-bridge",
        "kind = 'vlan-bridge'\ntagging = 'filtering'",
        1.0,
    ),
    ("tc-redirect", "kind = 'tc-redirect'\nfilter = 'u32'", 5.0),
    ("xdp-redirect", "kind = 'xdp-redirect'", 5.0),
    ("routed", "kind = 'routed'", 5.0),
    ("routed, 1,000 rules", "kind = 'routed'\nrules = 1000", 5.0),
    (
        "routed, set of 1,000",
        "kind = 'routed'\nrules = 1000\nlookup = 'set'",
        5.0,
    ),
    ("snat", "kind = 'routed'\nnat = 'snat'", 5.0),
    ("flowtable", "kind = 'routed'\nflowtable = 'on'", 5.0),
    ("vxlan", "kind = 'tunnel'", 5.0),
    ("geneve", "kind = 'tunnel'\nencapsulation = 'geneve'", 5.0),
    ("gre", "kind = 'tunnel'\nencapsulation = 'gre'", 5.0),
    (
        "wireguard",
        "kind = 'tunnel'\nencapsulation = 'wireguard'",
        5.0,
    ),
    ("macvlan", "kind = 'macvlan'", 5.0),
    ("ipvlan", "kind = 'ipvlan'", 5.0),
    ("netns", "kind = 'vm'\nguest = 'netns'", 1.0),
    ("ovs", "kind = 'ovs'\ndatapath = 'userspace'", 5.0),
    ("ovs-dpdk", "kind = 'ovs-dpdk'", 5.0),
    ("testpmd", "kind = 'testpmd'", 5.0),
    (
        "vm e1000",
        "kind = 'vm'\naccel = 'tcg'\nnic = 'e1000'",
        15.0,
    ),
    (
        "vm virtio-net",
        "kind = 'vm'\naccel = 'tcg'\nnic = 'virtio-net'",
        15.0,
    ),
    (
        "vm microvm",
        "kind = 'vm'\naccel = 'tcg'\nmachine = 'microvm'\npacked = 'on'",
        15.0,
    ),
];

fn main() -> Result<()> {
    if !is_asked_for("paths") {
        return Ok(());
    }
    let rounds = setting("NICETY_BENCH_ROUNDS", 3)?;
    let cache = std::env::var_os("NICETY_BENCH_CACHE").map(PathBuf::from);
    let mut figures = Figures::default();
    let mut notes = Map::new();
    for round in 1..=rounds {
        figures.next_round();
        // Every other round the other way round.
        let mut kinds = KINDS;
        if round % 2 == 0 {
            kinds.reverse();
        }
        for kind in kinds {
            if let Err(error) = measure(kind, cache.as_ref(), &mut figures, &mut notes) {
                figures.skip(kind.0, format!("{error:#}"));
            }
        }
        eprintln!("round {round} of {rounds} done");
    }
    for (name, ..) in KINDS {
        figures.ratio(
            Some(&format!("{name} to first trial / limit")),
            &format!("{name} to first trial s"),
            &format!("{name} limit s"),
        );
    }
    figures.finish("paths", &notes)
}

/// Runs one kind twice: anew until it comes to its cell again, and going on where the tester is
/// known.
fn measure(
    (name, path, limit_s): Kind,
    cache: Option<&PathBuf>,
    figures: &mut Figures,
    notes: &mut Map<String, Value>,
) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let run = Run::new(dir.path(), path, cache)?;
    let mut running = run.start(&["bench", "plan.toml", "--out", "run"])?;
    running.until_trial_of(1)?;
    let memory = running.qemu_mb();
    running.until_trial_of(2)?;
    running.interrupt()?;
    let trials = run.trials()?;
    if let Some(note) = run.note(name)? {
        notes.insert(name.to_owned(), json!(note));
    }
    let first = trials.first().context("no trial was made")?;
    let fresh = first.started_unix_s - running.started_unix_s;
    let between = trials.windows(2).find_map(|pair| {
        let new = pair[0].repeat != pair[1].repeat;
        new.then(|| pair[1].started_unix_s - pair[0].started_unix_s - pair[0].wall_s)
    });

    run.forget_trials()?;
    let mut again = run.start(&["bench", "--resume", "run"])?;
    again.until_trial_of(1)?;
    again.interrupt()?;
    let trials = run.trials()?;
    let first = trials.first().context("no trial was made")?;

    let first_s = first.started_unix_s - again.started_unix_s;
    let known = [("to first trial s", first_s), ("limit s", limit_s)];
    figures.put_all(name, known);
    figures.put(format!("{name} to first trial with tester s"), fresh);
    if let Some(between) = between {
        figures.put(format!("{name} between cells s"), between);
    }
    if let Some(mb) = memory {
        figures.put(format!("{name} QEMU MB"), mb);
    }
    Ok(())
}
