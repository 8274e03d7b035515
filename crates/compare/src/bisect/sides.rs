//! From runs to the one cell that tells good from bad, and its numbers.

use nicety_model::Run;
use nicety_model::cell_choice::{self, CellChoiceError};
use nicety_model::compare::{Comparison, Judgement, Metric};

use super::Middle;
use crate::compare::{Input, Options, compare};
use crate::error::CompareError;
use crate::sample::{self, ByCell};

/// Why runs cannot be bisected between.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BisectError {
    /// Good and bad are not comparable.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// There is nothing to look for.
    #[error(
        "no cell of the bad side is worse: {why}; measure both again with more repeats, or name another --metric"
    )]
    NotApart {
        /// What the comparison says.
        why: String,
    },
    /// The cell that was named.
    #[error("--cell: {0}")]
    Cell(#[from] CellChoiceError),
}

/// Good, bad, and the cell in which they differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Sides {
    /// The cell.
    pub cell: String,
    /// The number that is looked at.
    pub metric: Metric,
    /// Bad over good.
    pub ratio: f64,
    /// The test.
    pub middle: Middle,
    good: Vec<Input>,
}

impl Sides {
    /// The cell that `bad` does worst in, by the rules of a comparison: the one whose change is largest beside its
    /// interval, or the one that is named. The chance of an error is `error`.
    ///
    /// # Errors
    /// When they are not comparable, or the bad side is not worse.
    pub fn between(
        good: Vec<Input>,
        bad: &[Input],
        metric: Metric,
        cell: Option<&str>,
        error: f64,
    ) -> Result<Self, BisectError> {
        let options = Options {
            metrics: vec![metric],
            ..Options::default()
        };
        let found = compare(&good, bad, &options)?;
        let cell = clearest(&found, cell)?;
        let not_apart = || BisectError::NotApart {
            why: format!("{cell} has no numbers on both sides"),
        };
        let ratio = found.cells.iter().find(|row| row.cell == cell);
        let ratio = ratio.and_then(|row| row.ratio).ok_or_else(not_apart)?;
        let runs = |inputs: &[Input]| {
            let by_cell: ByCell<'_> = sample::by_cell(inputs.iter().map(|input| &input.run));
            let repeats = by_cell.get(cell.as_str())?;
            let sample = sample::of_runs(metric, repeats)?;
            Some((sample, sample::resolution(metric, repeats)))
        };
        let (good_sample, good_floor) = runs(&good).ok_or_else(not_apart)?;
        let (bad_sample, bad_floor) = runs(bad).ok_or_else(not_apart)?;
        Ok(Self {
            cell: cell.clone(),
            metric,
            ratio: ratio.ratio,
            middle: Middle {
                good: good_sample,
                bad: bad_sample,
                floor: good_floor.max(bad_floor),
                error,
            },
            good,
        })
    }

    /// The number of a new run; why there is none.
    ///
    /// # Errors
    /// In words: it is not comparable, the cell is missing, or its verdict forbids it.
    pub fn number(&self, source: &str, run: Run) -> Result<f64, String> {
        let new = [Input {
            source: source.to_owned(),
            run,
        }];
        let options = Options {
            metrics: vec![self.metric],
            ..Options::default()
        };
        let found = compare(&self.good, &new, &options).map_err(|error| error.to_string())?;
        let row = found.cells.iter().find(|row| row.cell == self.cell);
        let row = row.ok_or_else(|| format!("it has no {}", self.cell))?;
        if row.judgement == Judgement::NotJudged {
            return Err(format!(
                "{}: {}",
                self.cell,
                row.reason.as_deref().unwrap_or("not judged")
            ));
        }
        row.new
            .mean
            .ok_or_else(|| format!("{} has no number", self.cell))
    }
}

/// The cell in which the new side is worst.
fn clearest(found: &Comparison, named: Option<&str>) -> Result<String, BisectError> {
    let worse = || {
        let rows = found.cells.iter();
        rows.filter(|row| row.judgement == Judgement::Worse)
    };
    if let Some(named) = named {
        let names: Vec<String> = found.cells.iter().map(|row| row.cell.clone()).collect();
        let name = cell_choice::choose(&names, named)?;
        return if worse().any(|row| row.cell == name) {
            Ok(name.to_owned())
        } else {
            Err(BisectError::NotApart {
                why: reasons(found, Some(name)),
            })
        };
    }
    let clear = |row: &&nicety_model::compare::ComparedCell| {
        let ratio = row.ratio?;
        let width = (ratio.high? / ratio.low?).ln();
        Some(ratio.ratio.ln().abs() / width.max(f64::MIN_POSITIVE))
    };
    let rows = worse().filter_map(|row| Some((clear(&row)?, row)));
    let best = rows.max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.map(|(_, row)| row.cell.clone())
        .ok_or_else(|| BisectError::NotApart {
            why: reasons(found, None),
        })
}

/// What a comparison says of its cells.
fn reasons(found: &Comparison, cell: Option<&str>) -> String {
    let rows = found.cells.iter();
    let rows = rows.filter(|row| cell.is_none_or(|cell| row.cell == cell));
    let one = |row: &nicety_model::compare::ComparedCell| {
        let why = row.reason.as_ref().map(|why| format!(" ({why})"));
        let (cell, why) = (&row.cell, why.unwrap_or_default());
        match row.judgement {
            Judgement::CannotTell => format!("cannot judge {cell}{why}"),
            judged => format!("{cell} is {}{why}", judged.words()),
        }
    };
    let all: Vec<String> = rows.map(one).collect();
    nicety_model::number::first_few(&all, 3, ", ")
}
