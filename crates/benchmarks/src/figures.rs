//! Numbers of all rounds: medians with their spread, ratios within a round, table and file.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Map, Value, json};

/// Figures by name, one value per round; a round without a value has none. The first round begins by itself.
#[derive(Debug, Default)]
pub struct Figures {
    rounds: Vec<BTreeMap<String, f64>>,
    ratios: BTreeMap<String, (String, String)>,
    skipped: BTreeMap<String, (usize, String)>,
}

/// Median, smallest, largest.
#[derive(Debug, Clone, Copy)]
struct Spread {
    median: f64,
    min: f64,
    max: f64,
    values: usize,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let last = values.len() - 1;
        Some(Self {
            median: f64::midpoint(values[last / 2], values[last.div_ceil(2)]),
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
        if self.rounds.is_empty() {
            self.next_round();
        }
        if let Some(round) = self.rounds.last_mut() {
            round.insert(name.into(), value);
        }
    }

    /// Values of this round, named by what they are of and what they are.
    pub fn put_all<'a>(&mut self, who: &str, values: impl IntoIterator<Item = (&'a str, f64)>) {
        for (what, value) in values {
            self.put(format!("{who} {what}"), value);
        }
    }

    /// A value of this round, if there is one.
    pub fn latest(&self, name: &str) -> Option<f64> {
        self.rounds.last()?.get(name).copied()
    }

    /// Median over the rounds so far.
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

    fn spreads(&self) -> Vec<(&String, Spread)> {
        let names: BTreeSet<&String> = self.rounds.iter().flat_map(BTreeMap::keys).collect();
        names
            .into_iter()
            .filter_map(|name| Some((name, self.spread(name)?)))
            .collect()
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

    /// Whether each of these medians is at most what it is aimed to be; each is said.
    pub fn judge<N: AsRef<str>>(&self, aims: impl IntoIterator<Item = (N, f64)>) -> bool {
        let mut all = true;
        for (name, most) in aims {
            let name = name.as_ref();
            let Some(median) = self.median(name) else {
                continue;
            };
            let met = median <= most;
            let word = if met { "met" } else { "missed" };
            println!("aim {word}: {name} {}, at most {most}", number(median));
            all &= met;
        }
        all
    }

    /// Everything on stdout, and in `target/bench/NAME.json`. Peers have their versions.
    pub fn finish(&self, name: &str, peers: &Map<String, Value>) -> Result<()> {
        for (peer, version) in peers {
            println!("peer: {peer} {}", version.as_str().unwrap_or_default());
        }
        self.print();
        let file = crate::results()?.join(format!("{name}.json"));
        std::fs::write(&file, format!("{:#}\n", self.json(peers)))?;
        println!("written: {}", file.display());
        Ok(())
    }

    fn print(&self) {
        print("figure", self.spreads());
        print("ratio, within a round", self.ratio_spreads());
        for (what, (times, why)) in &self.skipped {
            println!("skipped {times} times: {what}: {why}");
        }
        let times: usize = self.skipped.values().map(|(times, _)| times).sum();
        println!("{} rounds, {times} measurements skipped", self.rounds.len());
    }

    fn json(&self, peers: &Map<String, Value>) -> Value {
        let skipped = self.skipped.iter().map(|(what, (times, why))| {
            let skipped = json!({"times": times, "reason": why});
            (what.clone(), skipped)
        });
        let skipped: Map<String, Value> = skipped.collect();
        json!({
            "ratios": all_json(self.ratio_spreads()),
            "figures": all_json(self.spreads()),
            "peers": peers,
            "skipped": skipped,
        })
    }
}

fn all_json<'a>(spreads: impl IntoIterator<Item = (&'a String, Spread)>) -> Map<String, Value> {
    let json = |(name, spread): (&String, Spread)| (name.clone(), spread.json());
    spreads.into_iter().map(json).collect()
}

/// A table of spreads, unless there are none.
fn print<'a>(what: &str, spreads: impl IntoIterator<Item = (&'a String, Spread)>) {
    let mut table = table([what, "median", "min", "max", "rounds"]);
    for (name, spread) in spreads {
        table.add_row(row(name, spread));
    }
    if !table.is_empty() {
        println!("{table}\n");
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
