//! Everything that reads bytes of others, given good examples, what the fuzzer found before, and mutations of both.
//! A target that panics fails its test; the seed of the mutations is fixed, so that it fails again.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use nicety_hostile::{TARGETS, Target};

const SEED: u64 = 0x6e69_6365_7479;

/// Words that formats give a meaning to, and numbers at the ends of their ranges.
const TOKENS: &[&str] = &[
    "0",
    "-1",
    "255",
    "65536",
    "4294967296",
    "18446744073709551615",
    "1e308",
    "-9.2e18",
    "NaN",
    "null",
    "true",
    "[]",
    "{}",
    "\"\"",
    "\0",
    "\u{7f}",
    "\u{1b}[2J",
    "\n",
    "\r\n",
    "= ",
    "\u{202e}",
    "../..",
    "/dev/zero",
];

fn mutated(random: &mut fastrand::Rng, of: &[u8]) -> Vec<u8> {
    let mut bytes = of.to_vec();
    for _ in 0..random.usize(1..6) {
        let at = random.usize(0..=bytes.len());
        let end = (at + random.usize(0..24)).min(bytes.len());
        match random.u8(0..6) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.extend_from_within(at..end),
            3 => drop(bytes.splice(at..end, random.choice(TOKENS).unwrap().bytes())),
            4 => bytes[at..end]
                .iter_mut()
                .for_each(|byte| *byte = random.u8(..)),
            _ => bytes[at..end].reverse(),
        }
    }
    bytes
}

/// Whole pages are made of a run: fewer of these, a debug build takes its time.
fn mutations(target: &Target) -> usize {
    match target.name {
        "run" | "periods" => 200,
        "facts" | "capture" | "policy" | "controller" | "qmp" => 1_000,
        _ => 10_000,
    }
}

#[test]
fn no_target_panics() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    for target in TARGETS {
        let mut inputs = (target.seeds)(&home.join("../../tests/cases"));
        assert!(!inputs.is_empty(), "{} has no example", target.name);
        if let Ok(found) = fs::read_dir(home.join("corpus").join(target.name)) {
            inputs.extend(found.map(|file| fs::read(file.unwrap().path()).unwrap()));
        }
        let mut random = fastrand::Rng::with_seed(SEED);
        let count = mutations(target);
        println!(
            "{}: {} inputs, {count} mutations",
            target.name,
            inputs.len()
        );
        for input in &inputs {
            (target.run)(input);
        }
        for number in 0..count {
            let input = mutated(&mut random, &inputs[number % inputs.len()]);
            let ended = std::panic::catch_unwind(|| (target.run)(&input));
            let name = target.name;
            assert!(
                ended.is_ok(),
                "{name} panics at: {:?}",
                String::from_utf8_lossy(&input)
            );
        }
    }
}

#[test]
fn a_target_has_a_name_of_its_own() {
    let mut names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), TARGETS.len());
    // Cargo-fuzz knows the programs by the names in its own manifest.
    let manifest = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fuzz/Cargo.toml"
    ))
    .unwrap();
    for name in names {
        assert!(
            manifest.contains(&format!("name = \"{name}\"\n")),
            "fuzz/Cargo.toml has no {name}"
        );
    }
}

#[test]
fn an_unknown_target_does_nothing() {
    nicety_hostile::run("nobody", b"x");
}
