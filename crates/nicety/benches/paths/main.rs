//! What nicety itself adds: time from a plan to the first trial on each kind of path, time between
//! two cells on the same path, and the memory of QEMU.
//!
//! `cargo bench -p nicety --bench paths` prints a table and writes `bench/paths.json` under the
//! target directory. Two times are told apart: of a new run, which measures the tester alone
//! before its first cell, and of one that was interrupted and goes on, which knows the tester
//! already: that is what the limits are about. `NICETY_BENCH_ROUNDS` and `NICETY_BENCH_CACHE` (where
//! QEMU and a kernel are kept) change it.

// A benchmark is an edge: it prints, reads its environment and writes a file.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

#[path = "../tester/figures.rs"]
#[allow(dead_code, reason = "the other benchmark uses the rest")]
mod figures;
mod run;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use figures::Figures;
use run::Run;

/// A kind of path, and the most seconds it may take to its first trial.
struct Kind {
    name: &'static str,
    path: &'static str,
    limit_s: f64,
}

/// Namespaces, programs, emulated machines.
const KINDS: [Kind; 22] = [
    kind("bridge", "kind = \"bridge\"", 1.0),
    kind(
        "vlan-bridge",
        "kind = \"vlan-bridge\"\ntagging = \"filtering\"",
        1.0,
    ),
    kind(
        "tc-redirect",
        "kind = \"tc-redirect\"\nfilter = \"u32\"",
        5.0,
    ),
    kind("xdp-redirect", "kind = \"xdp-redirect\"", 5.0),
    kind("routed", "kind = \"routed\"", 5.0),
    kind(
        "routed, 1,000 rules",
        "kind = \"routed\"\nrules = 1000",
        5.0,
    ),
    kind(
        "routed, set of 1,000",
        "kind = \"routed\"\nrules = 1000\nlookup = \"set\"",
        5.0,
    ),
    kind("snat", "kind = \"routed\"\nnat = \"snat\"", 5.0),
    kind("flowtable", "kind = \"routed\"\nflowtable = \"on\"", 5.0),
    kind("vxlan", "kind = \"tunnel\"", 5.0),
    kind(
        "geneve",
        "kind = \"tunnel\"\nencapsulation = \"geneve\"",
        5.0,
    ),
    kind("gre", "kind = \"tunnel\"\nencapsulation = \"gre\"", 5.0),
    kind(
        "wireguard",
        "kind = \"tunnel\"\nencapsulation = \"wireguard\"",
        5.0,
    ),
    kind("macvlan", "kind = \"macvlan\"", 5.0),
    kind("ipvlan", "kind = \"ipvlan\"", 5.0),
    kind("netns", "kind = \"vm\"\nguest = \"netns\"", 1.0),
    kind("ovs", "kind = \"ovs\"\ndatapath = \"userspace\"", 5.0),
    kind("ovs-dpdk", "kind = \"ovs-dpdk\"", 5.0),
    kind("testpmd", "kind = \"testpmd\"", 5.0),
    kind(
        "vm e1000",
        "kind = \"vm\"\naccel = \"tcg\"\nnic = \"e1000\"",
        15.0,
    ),
    kind(
        "vm virtio-net",
        "kind = \"vm\"\naccel = \"tcg\"\nnic = \"virtio-net\"",
        15.0,
    ),
    kind(
        "vm microvm",
        "kind = \"vm\"\naccel = \"tcg\"\nmachine = \"microvm\"\npacked = \"on\"",
        15.0,
    ),
];

const fn kind(name: &'static str, path: &'static str, limit_s: f64) -> Kind {
    Kind {
        name,
        path,
        limit_s,
    }
}

fn main() -> Result<()> {
    // `cargo test --benches` passes no --bench: there is nothing to test here.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("a benchmark: cargo bench -p nicety --bench paths");
        return Ok(());
    }
    let rounds = match std::env::var("NICETY_BENCH_ROUNDS").map(|value| value.parse::<u32>()) {
        Err(_) => 3,
        Ok(Ok(rounds)) if rounds > 0 => rounds,
        Ok(_) => bail!("NICETY_BENCH_ROUNDS must be a whole number above 0"),
    };
    let cache = std::env::var_os("NICETY_BENCH_CACHE").map(PathBuf::from);
    let mut figures = Figures::default();
    let mut notes = BTreeMap::new();
    for round in 1..=rounds {
        figures.next_round();
        // Every other round the other way round.
        let mut kinds: Vec<&Kind> = KINDS.iter().collect();
        if round % 2 == 0 {
            kinds.reverse();
        }
        for kind in kinds {
            if let Err(error) = measure(kind, cache.as_ref(), &mut figures, &mut notes) {
                figures.skip(kind.name, format!("{error:#}"));
            }
        }
        eprintln!("round {round} of {rounds} done");
    }
    for kind in &KINDS {
        let name = kind.name;
        figures.ratio(
            Some(&format!("{name} to first trial / limit")),
            &format!("{name} to first trial s"),
            &format!("{name} limit s"),
        );
    }
    figures.print();
    let peers: Map<String, Value> = notes
        .into_iter()
        .map(|(name, note)| (name, note.into()))
        .collect();
    println!("written: {}", figures.write("paths", peers)?.display());
    Ok(())
}

/// Runs one kind twice: anew until it comes to its cell again, and going on where the tester is
/// known.
fn measure(
    kind: &Kind,
    cache: Option<&PathBuf>,
    figures: &mut Figures,
    notes: &mut BTreeMap<String, String>,
) -> Result<()> {
    let name = kind.name;
    let dir = tempfile::tempdir()?;
    let run = Run::new(dir.path(), kind.path, cache)?;
    let mut running = run.start(&["bench", "plan.toml", "--out", "run"])?;
    running.until_trial_of(1)?;
    let memory = running.qemu_mib();
    running.until_trial_of(2)?;
    running.interrupt()?;
    let trials = run.trials()?;
    if let Some(note) = run.note(name)? {
        notes.insert(name.to_owned(), note);
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

    figures.put(
        format!("{name} to first trial s"),
        first.started_unix_s - again.started_unix_s,
    );
    figures.put(format!("{name} limit s"), kind.limit_s);
    figures.put(format!("{name} to first trial with tester s"), fresh);
    if let Some(between) = between {
        figures.put(format!("{name} between cells s"), between);
    }
    if let Some(mib) = memory {
        figures.put(format!("{name} QEMU MiB"), mib);
    }
    Ok(())
}
