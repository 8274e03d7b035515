//! The list of kept runs and the trend of a cell as CSV, one row per run.

use std::io::Write;

use nicety_model::history::{KeptRun, RunList, Trend, TrendPoint};

use crate::document::csv::{self, Field, fields};
use crate::error::ReportError;

fn kept<'r>() -> [Field<&'r KeptRun>; 10] {
    fields![|run|
        "run": run.id;
        "started": &run.started;
        "name": &run.name;
        "complete": run.complete;
        "cells": run.cells;
        "cells_ok": run.cells_ok;
        "preset": &run.preset;
        "kernel": &run.kernel;
        "stored_bytes": run.stored_bytes;
        "labels": run.labels.join(" ");
    ]
}

fn point<'r>() -> [Field<&'r (&'r Trend, &'r TrendPoint)>; 10] {
    fields![|of|
        "run": of.1.id;
        "started": &of.1.started;
        "value": of.1.value;
        "min": of.1.min;
        "max": of.1.max;
        "repeats": of.1.repeats;
        "verdict": of.1.verdict;
        "labels": of.1.labels.join(" ");
        "goal": of.0.goal;
        "loss_goal": of.0.loss_goal;
    ]
}

/// Writes a header and one row per run.
///
/// # Errors
/// [`ReportError::Csv`] when a row cannot be formed, [`ReportError::Write`] when the writer fails.
pub fn list(list: &RunList, out: &mut impl Write) -> Result<(), ReportError> {
    csv::write(out, &kept(), &list.runs)
}

/// As [`list`], with the number of each run in the unit of the metric.
///
/// # Errors
/// As [`list`].
pub fn trend(trend: &Trend, out: &mut impl Write) -> Result<(), ReportError> {
    let points: Vec<_> = trend.points.iter().map(|point| (trend, point)).collect();
    csv::write(out, &point(), &points)
}
