//! One row per repeat of a cell, units in the header names, absent values empty.

pub mod directions;
pub mod guests;
mod hardware;
pub mod ranking;
mod visits;

use std::collections::BTreeSet;
use std::io::Write;

use nicety_model::{CellResult, LatencySummary, LossEntry, Note, Run};

use crate::error::{ReportError, write_text};

const FIXED: [&str; 42] = [
    "cell",
    "path",
    "frame_size_bytes",
    "direction",
    "flows",
    "repeat",
    "control_visit",
    "verdict",
    "throughput_fps",
    "throughput_l1_mbps",
    "throughput_l2_mbps",
    "lower_fps",
    "upper_fps",
    "tester_limit_fps",
    "loss_goal_ratio",
    "confirm_load_fps",
    "confirm_duration_s",
    "confirm_loss_ratio",
    "confirm_met",
    "held_fps",
    "busiest_cpu",
    "busiest_cpu_busy_ratio",
    "busiest_cpu_who",
    "cpu_us_per_frame",
    "frames_intended",
    "frames_sent",
    "frames_received",
    "frames_lost",
    "frames_duplicate",
    "frames_reordered",
    "frames_corrupt",
    "frames_foreign",
    "loss_ledger_frames",
    "overload_ledger_frames",
    "trials",
    "search_s",
    "engine",
    "latency_load_ratio",
    "latency_p50_us",
    "latency_p99_us",
    "latency_max_us",
    "notes",
];

/// Writes a header and one row per cell repeat in the order measured; visits of the control
/// cell carry their number in `control_visit`. Behind the fixed columns come the latency
/// percentiles of every load share measured in the run: `latency_50pct_p99_us`. Lists are
/// joined by `; `. Where NICs stamped probes, theirs come next: `hardware_latency_50pct_p99_us`.
/// Where numbers have intervals, or loads were judged over windows, these come last: `low_fps` to
/// `visits` are of the cell and the same in its rows, `visit_low_fps` and what follows of the row.
///
/// # Errors
/// [`ReportError::Csv`] when a row cannot be formed, [`ReportError::Write`] when the writer
/// fails.
pub fn render(run: &Run, out: &mut impl Write) -> Result<(), ReportError> {
    let shares = load_shares(run);
    let stamped = hardware::shares(run);
    let mut csv = ::csv::Writer::from_writer(Vec::new());
    let mut names = header(&shares);
    names.extend(hardware::header(&stamped));
    let visits = visits::Visits::of(run);
    names.extend(visits.header());
    csv.write_record(names).map_err(|source| ReportError::Csv {
        row: "the header".to_owned(),
        source,
    })?;
    for cell in &run.cells {
        let mut fields = row(cell, &shares);
        fields.extend(hardware::fields(cell, &stamped));
        fields.extend(visits.fields(cell));
        csv.write_record(fields)
            .map_err(|source| ReportError::Csv {
                row: cell.cell.clone(),
                source,
            })?;
    }
    finish(csv, out)
}

/// Load shares of all latency trials in per mille, lowest first: integers compare exactly.
fn load_shares(run: &Run) -> Vec<u64> {
    let shares: BTreeSet<u64> = run
        .cells
        .iter()
        .flat_map(|cell| &cell.latency_by_load_us)
        .filter_map(per_mille)
        .collect();
    shares.into_iter().collect()
}

fn per_mille(latency: &LatencySummary) -> Option<u64> {
    let ratio = latency.load_ratio.filter(|ratio| ratio.is_finite())?;
    Some((ratio * 1000.0).round().max(0.0) as u64)
}

const PERCENTILES: [&str; 7] = ["min", "mean", "p50", "p90", "p99", "p999", "max"];

/// Their fields.
fn percentiles(latency: Option<&LatencySummary>) -> [String; 7] {
    let fields = latency.map(|l| [l.min, l.mean, l.p50, l.p90, l.p99, l.p999, l.max]);
    fields.map_or_else(Default::default, |fields| fields.map(|us| number(Some(us))))
}

fn header(shares: &[u64]) -> Vec<String> {
    let mut names: Vec<String> = FIXED.iter().map(|name| (*name).to_owned()).collect();
    for share in shares {
        let percent = *share as f64 / 10.0;
        names.extend(PERCENTILES.map(|name| format!("latency_{percent}pct_{name}_us")));
        names.push(format!("latency_{percent}pct_samples"));
    }
    names
}

fn row(cell: &CellResult, shares: &[u64]) -> Vec<String> {
    let confirm = cell.confirm.as_ref();
    let busiest = cell.cpu.as_ref().and_then(|cpu| cpu.busiest.as_ref());
    let frames = cell.frames.as_ref();
    let latency = cell.latency_us.as_ref();
    let mut fields = vec![
        cell.cell.clone(),
        cell.key.path_name(),
        cell.key.frame_size_bytes.to_string(),
        cell.key.direction.to_string(),
        cell.key.flows.to_string(),
        cell.repeat.to_string(),
        text(cell.control),
        cell.verdict.to_string(),
        number(cell.throughput_fps),
        number(cell.throughput_l1_mbps),
        number(cell.throughput_l2_mbps),
        number(cell.bounds.lower_fps),
        number(cell.bounds.upper_fps),
        number(cell.tester_limit_fps),
        number(Some(cell.loss_goal)),
        number(confirm.map(|c| c.load_fps)),
        number(confirm.map(|c| c.duration_s)),
        number(confirm.map(|c| c.loss_ratio.0)),
        text(confirm.map(|c| c.met)),
        number(cell.held.map(|c| c.load_fps)),
        text(busiest.map(|b| b.cpu)),
        number(busiest.map(|b| b.busy_ratio)),
        text(busiest.map(|b| &b.who)),
        number(cell.cpu.as_ref().and_then(|cpu| cpu.us_per_frame)),
        text(frames.map(|f| f.intended)),
        text(frames.map(|f| f.sent)),
        text(frames.map(|f| f.received)),
        text(frames.map(|f| f.lost)),
        text(frames.map(|f| f.duplicate)),
        text(frames.map(|f| f.reordered)),
        text(frames.map(|f| f.corrupt)),
        text(frames.map(|f| f.foreign)),
        ledger(&cell.loss_ledger),
        ledger(&cell.overload_ledger),
        cell.trials.to_string(),
        number(Some(cell.search_s)),
        cell.engine.clone(),
        number(latency.and_then(|l| l.load_ratio)),
        number(latency.map(|l| l.p50)),
        number(latency.map(|l| l.p99)),
        number(latency.map(|l| l.max)),
        Note::texts(&cell.notes).join("; "),
    ];
    for share in shares {
        let at = cell
            .latency_by_load_us
            .iter()
            .find(|latency| per_mille(latency) == Some(*share));
        fields.extend(percentiles(at));
        fields.push(text(at.map(|l| l.samples)));
    }
    fields
}

/// A header and rows as written.
fn written<const N: usize>(rows: Vec<[String; N]>) -> Result<::csv::Writer<Vec<u8>>, ReportError> {
    let mut csv = ::csv::Writer::from_writer(Vec::new());
    for row in rows {
        csv.write_record(&row).map_err(|source| ReportError::Csv {
            row: row.join(","),
            source,
        })?;
    }
    Ok(csv)
}

/// Hands what was gathered over.
pub(crate) fn finish(csv: ::csv::Writer<Vec<u8>>, out: &mut impl Write) -> Result<(), ReportError> {
    let bytes = csv.into_inner().map_err(|error| ReportError::Write {
        format: "CSV",
        source: error.into_error(),
    })?;
    write_text(out, "CSV", &String::from_utf8_lossy(&bytes))
}

pub(crate) fn number(value: Option<f64>) -> String {
    text(value.filter(|v| v.is_finite()))
}

pub(crate) fn text(value: Option<impl ToString>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

fn ledger(entries: &[LossEntry]) -> String {
    entries
        .iter()
        .map(|entry| format!("{}={}", entry.place, entry.frames))
        .collect::<Vec<_>>()
        .join("; ")
}
