//! Two sides of runs, cell by cell.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use nicety_model::compare::{
    ComparedCell, Comparison, Counts, Judgement, Metric, Ratio, RunLabel, Side, SpreadOf,
};
use nicety_model::note::CompareNote;
use nicety_model::{CellKey, Note, Run, SCHEMA, Verdict};

use crate::differences::{differences, estimators};
use crate::error::CompareError;
use crate::interval::{self, Interval, Known, adjusted, log_sample, pooled};
use crate::judge::{self, Levels};
use crate::sample::{self, ByCell, Repeat, Repeats};

/// Fewest degrees of freedom of a spread taken from the control cell: with one, Student's t is
/// so wide that nothing could be told.
const KNOWN_FREEDOM: f64 = 2.0;

/// A run and where it was read from.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Words for the reader: a path.
    pub source: String,
    /// The run; its trials are not looked at.
    pub run: Run,
}

/// What to compare, and how strictly.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Confidence, above 0.5 and below 1.
    pub confidence: f64,
    /// Difference that does not matter, as a ratio: `0.03`.
    pub margin: f64,
    /// What to compare; never empty.
    pub metrics: Vec<Metric>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            confidence: 0.95,
            margin: 0.03,
            metrics: vec![Metric::Throughput],
        }
    }
}

/// Compares the results of `new` runs with those of `old` ones.
///
/// # Errors
/// When they are not comparable: see [`CompareError`].
pub fn compare(
    old: &[Input],
    new: &[Input],
    options: &Options,
) -> Result<Comparison, CompareError> {
    check_levels(options)?;
    check_side("old", old)?;
    check_side("new", new)?;
    let head = check_search(old, new)?;
    let (old_goals, new_goals) = (by_goal(old), by_goal(new));
    let old_runs: Vec<&Run> = old_goals.iter().map(Cow::as_ref).collect();
    let new_runs: Vec<&Run> = new_goals.iter().map(Cow::as_ref).collect();
    let old_cells = sample::by_cell(old_runs.iter().copied());
    let new_cells = sample::by_cell(new_runs.iter().copied());
    let order = names(&old_runs);
    let common: Vec<&str> = order
        .iter()
        .copied()
        .filter(|name| new_cells.contains_key(name))
        .collect();
    if common.is_empty() {
        return Err(CompareError::NothingInCommon {
            why: apart(&old_cells, &new_cells),
        });
    }
    let known = pooled(
        old_runs.iter().chain(&new_runs).filter_map(|run| {
            let control = run.control.as_ref()?;
            log_sample(control.throughput_fps.iter().copied())
        }),
        KNOWN_FREEDOM,
    );
    let mut rows = Vec::new();
    for name in &common {
        for metric in &options.metrics {
            if let (Some(old), Some(new)) = (old_cells.get(name), new_cells.get(name)) {
                rows.extend(row(name, *metric, old, new, known, options));
            }
        }
    }
    let cells = judged(rows, options);
    let counts = count(&cells);
    let only_new: Vec<String> = names(&new_runs)
        .into_iter()
        .filter(|name| !old_cells.contains_key(name))
        .map(str::to_owned)
        .collect();
    let only_old = order
        .into_iter()
        .filter(|name| !new_cells.contains_key(name))
        .map(str::to_owned)
        .collect();
    Ok(Comparison {
        schema: SCHEMA,
        old: side(old),
        new: side(new),
        preset: head.run.preset.clone(),
        loss_goal: head.run.loss_goal,
        confidence: options.confidence,
        margin: options.margin,
        differences: differences(&old_runs, &new_runs),
        notes: estimators(&old_runs, &new_runs)
            .into_iter()
            .chain(notes(old, new, &cells))
            .map(Note::from)
            .collect(),
        cells,
        only_old,
        only_new,
        counts,
    })
}

/// The runs with a cell of its own for every further goal of a search.
fn by_goal(inputs: &[Input]) -> Vec<Cow<'_, Run>> {
    let runs = inputs.iter().map(|input| &input.run);
    runs.map(|run| run.by_goal().map_or(Cow::Borrowed(run), Cow::Owned))
        .collect()
}

fn check_levels(options: &Options) -> Result<(), CompareError> {
    let level = |what, value: f64, fix| CompareError::Level {
        what,
        value: value.to_string(),
        fix,
    };
    if !(options.confidence > 0.5 && options.confidence < 1.0) {
        let fix = "write a share above 0.5 and below 1, such as 0.95";
        return Err(level("confidence", options.confidence, fix));
    }
    if !(options.margin > 0.0 && options.margin < 1.0) {
        let fix = "write a share above 0 and below 1, such as 0.03";
        return Err(level("margin", options.margin, fix));
    }
    Ok(())
}

fn check_side(side: &'static str, inputs: &[Input]) -> Result<(), CompareError> {
    let mut seen = HashSet::new();
    for input in inputs {
        let head = &input.run.run;
        if input.run.visits.is_empty() && input.run.sockets.is_empty() {
            return Err(CompareError::NoResults {
                source_name: input.source.clone(),
            });
        }
        // A copy of a run directory is the same run, wherever it lies.
        if !seen.insert((&head.started, head.seed, &head.command, &head.name)) {
            return Err(CompareError::Twice {
                source_name: input.source.clone(),
                side,
            });
        }
    }
    Ok(())
}

/// All runs must have searched for the same thing; returns one of them.
fn check_search<'a>(old: &'a [Input], new: &'a [Input]) -> Result<&'a Run, CompareError> {
    let all = || old.iter().chain(new);
    let Some(first) = all().next() else {
        return Err(CompareError::NoResults {
            source_name: "the old side".to_owned(),
        });
    };
    for other in all() {
        let facts = |input: &Input| {
            let head = &input.run.run;
            [
                ("preset", head.preset.clone()),
                ("loss goal", head.loss_goal.to_string()),
            ]
        };
        for ((what, a), (_, b)) in facts(first).into_iter().zip(facts(other)) {
            if a != b {
                return Err(CompareError::Search {
                    what,
                    old_source: first.source.clone(),
                    old: a,
                    new_source: other.source.clone(),
                    new: b,
                });
            }
        }
    }
    Ok(&first.run)
}

/// Names of the cells in the order of the plans, each once.
fn names<'a>(runs: &[&'a Run]) -> Vec<&'a str> {
    let mut seen = HashSet::new();
    runs.iter()
        .flat_map(|run| {
            let planned = run.cells.iter().map(|cell| cell.cell.as_str());
            let results = run.visits.iter().filter(|cell| cell.control.is_none());
            let sockets = run.sockets.iter().map(|series| series.name.as_str());
            let frames = results.map(|cell| cell.cell.as_str());
            planned.chain(frames).chain(sockets)
        })
        .filter(|name| seen.insert(*name))
        .collect()
}

/// A parameter of cells in words.
type Parameter = (&'static str, fn(&CellKey) -> String);

/// Which parameter keeps the cells of two sides apart.
fn apart(old: &ByCell<'_>, new: &ByCell<'_>) -> String {
    let facts: [Parameter; 4] = [
        ("paths", CellKey::path_name),
        ("frame sizes", |key| key.frame_size_bytes.to_string()),
        ("directions", |key| key.direction.to_string()),
        ("flows", |key| key.flows.to_string()),
    ];
    for (what, fact) in facts {
        let values = |side: &ByCell<'_>| -> BTreeSet<String> {
            let first = side.values().filter_map(|cells| cells.first());
            let keys = first.filter_map(|(_, repeat)| match repeat {
                Repeat::Frames(cell, _) => Some(&cell.key),
                Repeat::Socket(_) => None,
            });
            keys.map(fact).collect()
        };
        let (old, new) = (values(old), values(new));
        if !old.is_empty() && !new.is_empty() && old.is_disjoint(&new) {
            let words = |set: BTreeSet<String>| set.into_iter().collect::<Vec<_>>().join(", ");
            return format!(
                "the {what} are {} before and {} now",
                words(old),
                words(new)
            );
        }
    }
    let sockets = |side: &ByCell<'_>| {
        let repeats = side.values().flatten();
        let mut frames = repeats.map(|(_, repeat)| matches!(repeat, Repeat::Frames(..)));
        !frames.any(|frames| frames)
    };
    match (sockets(old), sockets(new)) {
        (false, false) => "their combinations of path, frame size, direction and flows differ",
        (true, true) => "their paths, tests or message sizes differ",
        _ => "one side has socket workloads only, the other has frames",
    }
    .to_owned()
}

type Pending = (ComparedCell, Option<Interval>);

fn row(
    name: &str,
    metric: Metric,
    old: &Repeats<'_>,
    new: &Repeats<'_>,
    known: Option<Known>,
    options: &Options,
) -> Option<Pending> {
    let (_, first) = old.first()?;
    let mut row = ComparedCell {
        cell: name.to_owned(),
        key: match first {
            Repeat::Frames(cell, _) => Some(cell.key.clone()),
            Repeat::Socket(_) => None,
        },
        metric,
        unit: metric.unit(name).to_owned(),
        old: sample::describe(metric, old),
        new: sample::describe(metric, new),
        ratio: None,
        judgement: Judgement::CannotTell,
        reason: None,
        lost: false,
    };
    if metric != Metric::Throughput && row.old.mean.is_none() && row.new.mean.is_none() {
        return None;
    }
    let interval = measure(&mut row, old, new, known, options);
    if let Some(why) = judge::forbidden(row.old.verdict, row.new.verdict) {
        row.judgement = Judgement::NotJudged;
        row.reason = Some(why);
        row.lost = metric == Metric::Throughput
            && row.old.verdict.is_own()
            && row.new.verdict == Verdict::Failed;
        return Some((row, None));
    }
    if metric == Metric::LatencyP50 || metric == Metric::LatencyP99 {
        let loads = (sample::latency_loads(old), sample::latency_loads(new));
        if loads.0 != loads.1 {
            row.judgement = Judgement::NotJudged;
            row.reason = Some("latency was measured at other loads".to_owned());
            return Some((row, None));
        }
    }
    row.reason = match (&row.ratio, interval) {
        (None, _) => Some("a side has no number".to_owned()),
        (Some(_), None) => Some("one repeat shows no spread; measure with repeats".to_owned()),
        _ => None,
    };
    Some((row, interval))
}

/// Ratio and interval, where they exist. Several runs on both sides count one number each; else
/// repeats count, else the control cell's spread.
fn measure(
    row: &mut ComparedCell,
    old: &Repeats<'_>,
    new: &Repeats<'_>,
    known: Option<Known>,
    options: &Options,
) -> Option<Interval> {
    let metric = row.metric;
    let runs = row.old.runs > 1 && row.new.runs > 1;
    let of = if runs {
        sample::of_runs
    } else {
        sample::of_repeats
    };
    let (old_sample, new_sample) = (of(metric, old)?, of(metric, new)?);
    let spread_of = if runs {
        SpreadOf::Runs
    } else if old_sample.n > 1 && new_sample.n > 1 {
        SpreadOf::Repeats
    } else {
        SpreadOf::ControlCell
    };
    // The control cell's visits are throughputs of frames.
    let known = known.filter(|_| metric == Metric::Throughput && row.key.is_some());
    let floor = sample::resolution(metric, old).max(sample::resolution(metric, new));
    let interval = interval::welch(old_sample, new_sample, known, floor, options.confidence);
    row.ratio = Some(Ratio {
        ratio: (new_sample.mean - old_sample.mean).exp(),
        low: interval.map(|i| (i.difference - i.half_width).exp()),
        high: interval.map(|i| (i.difference + i.half_width).exp()),
        p_adjusted: None,
        spread_of: interval.map(|_| spread_of),
    });
    interval
}

/// Judges the rows together: their number decides what chance may do.
fn judged(rows: Vec<Pending>, options: &Options) -> Vec<ComparedCell> {
    let p: Vec<f64> = rows
        .iter()
        .filter_map(|(_, interval)| interval.map(|i| i.p))
        .collect();
    let levels = Levels {
        confidence: options.confidence,
        margin: options.margin.ln_1p(),
        rows: p.len(),
    };
    let mut adjusted = adjusted(&p).into_iter();
    rows.into_iter()
        .map(|(mut row, interval)| {
            let Some((interval, p)) = interval.and_then(|i| Some((i, adjusted.next()?))) else {
                return row;
            };
            if let Some(ratio) = &mut row.ratio {
                ratio.p_adjusted = Some(p);
            }
            let (judgement, mut why) = judge::judge(row.metric, interval, p, levels);
            if let (Some(why), Some(n)) = (&mut why, judge::needed(&row, interval, levels.margin)) {
                let of = row.ratio.and_then(|ratio| ratio.spread_of);
                let of = of.map_or("repeats", SpreadOf::words);
                why.push_str(&format!("; about {n} {of} on each side would tell"));
            }
            row.judgement = judgement;
            row.reason = why;
            row
        })
        .collect()
}

fn count(cells: &[ComparedCell]) -> Counts {
    let mut counts = Counts::default();
    for cell in cells {
        match cell.judgement {
            Judgement::Better => counts.better += 1,
            Judgement::Same => counts.same += 1,
            Judgement::Worse => counts.worse += 1,
            Judgement::CannotTell => counts.cannot_tell += 1,
            Judgement::NotJudged => counts.not_judged += 1,
        }
        counts.lost += u32::from(cell.lost);
    }
    counts
}

fn side(inputs: &[Input]) -> Side {
    Side {
        runs: inputs
            .iter()
            .map(|input| RunLabel {
                source: input.source.clone(),
                name: input.run.run.name.clone(),
                started: input.run.run.started.clone(),
            })
            .collect(),
    }
}

fn notes(old: &[Input], new: &[Input], cells: &[ComparedCell]) -> Vec<CompareNote> {
    let spread = |of: SpreadOf| {
        let has = |cell: &&ComparedCell| cell.ratio.and_then(|r| r.spread_of) == Some(of);
        cells.iter().filter(has).count()
    };
    let mut notes = Vec::new();
    if spread(SpreadOf::Repeats) > 0 && old.len().min(new.len()) == 1 {
        notes.push(CompareNote::OneRunEach);
    }
    match spread(SpreadOf::ControlCell) {
        0 => {}
        rows => notes.push(CompareNote::BorrowedSpread {
            rows,
            all: cells.len(),
        }),
    }
    for input in old.iter().chain(new) {
        if !input.run.run.complete {
            let left_out = input.run.left_out.len();
            notes.push(CompareNote::Incomplete {
                source: input.source.clone(),
                left_out: (left_out > 0).then_some(left_out),
            });
        }
    }
    notes
}
