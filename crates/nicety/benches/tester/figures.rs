//! Numbers of all rounds: medians with their spread, ratios within a round, table and file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Map, Value, json};

/// Figures by name, one value per round; a round without a value has none.
#[derive(Debug, Default)]
pub struct Figures {
    rounds: Vec<BTreeMap<String, f64>>,
    ratios: BTreeMap<String, (String, String)>,
    skipped: BTreeMap<String, (usize, String)>,
}

/// Median, smallest, largest.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
    pub values: usize,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let half = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[half]
        } else {
            f64::midpoint(values[half - 1], values[half])
        };
        Some(Self {
            median,
            min,
            max,
            values: values.len(),
        })
    }

    fn json(self) -> Value {
        json!({"median": self.median, "min": self.min, "max": self.max, "rounds": self.values})
    }
}

impl Figures {
    pub fn next_round(&mut self) {
        self.rounds.push(BTreeMap::new());
    }

    /// A value of this round.
    pub fn put(&mut self, name: impl Into<String>, value: f64) {
        if let Some(round) = self.rounds.last_mut() {
            round.insert(name.into(), value);
        }
    }

    /// A value of this round, if there is one.
    pub fn latest(&self, name: &str) -> Option<f64> {
        self.rounds.last()?.get(name).copied()
    }

    /// Median over the rounds so far.
    #[allow(dead_code, reason = "for benchmarks that have aims")]
    pub fn median(&self, name: &str) -> Option<f64> {
        Some(self.spread(name)?.median)
    }

    /// Somebody gave no number, and why; said at once, counted, and listed at the end.
    pub fn skip(&mut self, what: impl Into<String>, why: impl std::fmt::Display) {
        let what = what.into();
        eprintln!("skipped: {what}: {why}");
        let entry = self.skipped.entry(what).or_default();
        *entry = (entry.0 + 1, why.to_string());
    }

    /// Asks for the ratio of two figures, taken round by round; its name is made of theirs unless
    /// it has its own.
    pub fn ratio(&mut self, name: Option<&str>, over: &str, under: &str) {
        let name = name.map_or_else(|| format!("{over} / {under}"), str::to_owned);
        self.ratios
            .insert(name, (over.to_owned(), under.to_owned()));
    }

    fn spread(&self, name: &str) -> Option<Spread> {
        Spread::of(
            self.rounds
                .iter()
                .filter_map(|r| r.get(name))
                .copied()
                .collect(),
        )
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .rounds
            .iter()
            .flat_map(BTreeMap::keys)
            .cloned()
            .collect();
        names.sort();
        names.dedup();
        names
    }

    fn ratio_spreads(&self) -> Vec<(&String, Spread)> {
        self.ratios
            .iter()
            .filter_map(|(name, (over, under))| {
                let values = self.rounds.iter().filter_map(|round| {
                    let (over, under) = (round.get(over)?, round.get(under)?);
                    (*under > 0.0).then(|| over / under)
                });
                Some((name, Spread::of(values.collect())?))
            })
            .collect()
    }

    /// Everything on stdout.
    pub fn print(&self) {
        let mut table = table(["figure", "median", "min", "max", "rounds"]);
        for name in self.names() {
            if let Some(spread) = self.spread(&name) {
                table.add_row(row(&name, spread));
            }
        }
        println!("{table}\n");
        let mut table = self::table(["ratio, within a round", "median", "min", "max", "rounds"]);
        for (name, spread) in self.ratio_spreads() {
            table.add_row(row(name, spread));
        }
        println!("{table}");
        for (what, (times, why)) in &self.skipped {
            println!("skipped {times} times: {what}: {why}");
        }
        let times: usize = self.skipped.values().map(|(times, _)| times).sum();
        println!("{} rounds, {times} measurements skipped", self.rounds.len());
    }

    /// Writes `target/bench/NAME.json`.
    pub fn write(&self, name: &str, peers: Map<String, Value>) -> Result<PathBuf> {
        let figures: Map<String, Value> = self
            .names()
            .into_iter()
            .filter_map(|name| {
                let spread = self.spread(&name)?.json();
                Some((name, spread))
            })
            .collect();
        let ratios: Map<String, Value> = self
            .ratio_spreads()
            .into_iter()
            .map(|(name, spread)| (name.clone(), spread.json()))
            .collect();
        let skipped: Map<String, Value> = self
            .skipped
            .iter()
            .map(|(what, (times, why))| (what.clone(), json!({"times": times, "reason": why})))
            .collect();
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
            || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target"),
            PathBuf::from,
        );
        let dir = target.join("bench");
        std::fs::create_dir_all(&dir)?;
        let file = dir.join(format!("{name}.json"));
        let all = json!({"ratios": ratios, "figures": figures, "peers": peers, "skipped": skipped});
        std::fs::write(&file, format!("{all:#}\n"))?;
        Ok(file)
    }
}

fn table(header: [&str; 5]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn row(name: &str, spread: Spread) -> [String; 5] {
    [
        name.to_owned(),
        number(spread.median),
        number(spread.min),
        number(spread.max),
        spread.values.to_string(),
    ]
}

/// Three digits that matter, whole numbers from a thousand.
fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 1000.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}
