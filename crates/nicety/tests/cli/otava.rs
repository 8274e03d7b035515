//! The change points of `runs trend` beside those of Apache Otava, on the same numbers.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::dashboards::tool;
use crate::harness::{nicety, skip, words};
use crate::made::Made;

const PAGE: &str = include_str!("../../../../docs/methodology/compare.md");
const RUNS: usize = 28;

/// A series: what the page calls it, the frame size that stands for it, and its level at each run.
struct Series {
    name: &'static str,
    size: u16,
    level: fn(usize) -> f64,
}

const SERIES: [Series; 7] = [
    Series {
        name: "nothing changes",
        size: 64,
        level: |_| 1.0,
    },
    Series {
        name: "a loss of 10 % from run 15",
        size: 128,
        level: |run| if run < 15 { 1.0 } else { 0.9 },
    },
    Series {
        name: "a loss of 2 % from run 15",
        size: 256,
        level: |run| if run < 15 { 1.0 } else { 0.98 },
    },
    Series {
        name: "a loss of 10 % from run 10, mended with run 20",
        size: 512,
        level: |run| if (10..20).contains(&run) { 0.9 } else { 1.0 },
    },
    Series {
        name: "one stray, 20 % lower, run 14",
        size: 1024,
        level: |run| if run == 14 { 0.8 } else { 1.0 },
    },
    Series {
        name: "a loss of 10 % in the last 3 runs",
        size: 1280,
        level: |run| if run < 26 { 1.0 } else { 0.9 },
    },
    Series {
        name: "a drift of -0.2 % each run",
        size: 1518,
        level: |run| 1.0 - 0.002 * run as f64,
    },
];

/// Noise of half a per cent, always the same.
fn noise(random: &mut fastrand::Rng) -> f64 {
    let sum: f64 = (0..12).map(|_| random.f64()).sum();
    1.0 + 0.005 * (sum - 6.0)
}

/// Runs in a store in `dir`.
fn keep(dir: &Path) {
    let mut random = fastrand::Rng::with_seed(20_260_301);
    let mut words = vec!["runs".to_owned(), "add".to_owned()];
    for run in 1..=RUNS {
        let cells = SERIES.map(|series| {
            let value = 1e5 * (series.level)(run) * noise(&mut random);
            (series.size, [value])
        });
        let cells = cells
            .each_ref()
            .map(|(size, values)| (*size, values.as_slice()));
        let mut made = Made::new(run as u64, &cells);
        made.started = format!("2026-03-{run:02}T01:00:00Z");
        made.write(dir, &format!("run-{run:02}"));
        words.push(format!("run-{run:02}"));
    }
    nicety(&words)
        .dir(dir)
        .env("NICETY_STORE", "")
        .run()
        .assert_code(0);
}

fn named(runs: &[u64]) -> String {
    match runs {
        [] => "none".to_owned(),
        runs => {
            let runs: Vec<String> = runs.iter().map(u64::to_string).collect();
            format!("run {}", runs.join(", run "))
        }
    }
}

/// Runs of changes by frame size, as Otava sees them; `None` where it is not installed.
fn otava(dir: &Path, numbers: &BTreeMap<u16, Vec<f64>>) -> Option<BTreeMap<u16, Vec<u64>>> {
    let names: Vec<String> = numbers.keys().map(|size| format!("size{size}")).collect();
    let mut text = format!("time,run,{}\n", names.join(","));
    for at in 0..RUNS {
        let row: Vec<String> = numbers
            .values()
            .map(|values| values[at].to_string())
            .collect();
        text += &format!(
            "2026-03-{:02}T01:00:00Z,{},{}\n",
            at + 1,
            at + 1,
            row.join(",")
        );
    }
    fs::write(dir.join("series.csv"), text).unwrap();
    let config = format!(
        "tests:\n  series:\n    type: csv\n    file: {}\n    time_column: time\n    attributes: [run]\n    metrics: [{}]\n",
        dir.join("series.csv").display(),
        names.join(", ")
    );
    fs::write(dir.join("otava.yaml"), config).unwrap();
    let said = Command::new(tool("otava", "otava"))
        .args(words("analyze series --since 2020-01-01 --output json"))
        .env("OTAVA_CONFIG", dir.join("otava.yaml"))
        .current_dir(dir)
        .output();
    let said = match said {
        Ok(said) => said,
        Err(why) => {
            skip(format_args!(
                "no apache-otava ({why}); scripts/setup.sh test fetches it"
            ));
            return None;
        }
    };
    assert!(said.status.success(), "{said:?}");
    let said: Value = serde_json::from_slice(&said.stdout).unwrap();
    let mut found: BTreeMap<u16, Vec<u64>> = BTreeMap::new();
    for point in said["series"].as_array().unwrap() {
        for change in point["changes"].as_array().unwrap() {
            let size = change["metric"]
                .as_str()
                .unwrap()
                .strip_prefix("size")
                .unwrap();
            let runs = found.entry(size.parse().unwrap()).or_default();
            runs.push(change["index"].as_u64().unwrap() + 1);
        }
    }
    Some(found)
}

#[test]
fn the_page_says_what_trend_and_otava_see() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    keep(dir);
    let mut numbers = BTreeMap::new();
    let mut ours = BTreeMap::new();
    for series in &SERIES {
        let cell = format!("bridge/{}/uni", series.size);
        let trend = nicety(["runs", "trend", &cell, "--json"])
            .dir(dir)
            .env("NICETY_STORE", "")
            .run();
        let trend = trend.json();
        let points = trend["points"].as_array().unwrap();
        let values: Vec<f64> = points
            .iter()
            .map(|p| p["value"].as_f64().unwrap())
            .collect();
        assert_eq!(values.len(), RUNS);
        numbers.insert(series.size, values);
        let changes = trend["changes"].as_array().unwrap();
        let runs: Vec<u64> = changes.iter().map(|c| c["id"].as_u64().unwrap()).collect();
        ours.insert(series.size, runs);
    }
    let theirs = otava(dir, &numbers);
    for Series { name, size, .. } in &SERIES {
        let start = format!("| {name} | {} |", named(&ours[size]));
        println!(
            "{start} {:?}",
            theirs.as_ref().and_then(|found| found.get(size))
        );
    }
    for Series { name, size, .. } in &SERIES {
        let start = format!("| {name} | {} |", named(&ours[size]));
        assert!(PAGE.contains(&start), "the page has no row {start}");
        if let Some(theirs) = &theirs {
            let runs = theirs.get(size).map_or(&[][..], Vec::as_slice);
            let row = format!("{start} {} |\n", named(runs));
            assert!(PAGE.contains(&row), "the page has no row {row}");
        }
    }
}
