//! One row per repeat of a cell, units in the header names, absent values empty.

pub mod directions;
pub mod guests;
mod hardware;
pub mod ranking;
mod visits;

use std::collections::BTreeSet;
use std::io::Write;

use nicety_model::{CellResult, LatencySummary, LossEntry, Run, WhoUse};

use crate::document::csv::{self, Field, number, text};
use crate::error::ReportError;
use crate::note;

fn fixed<'r>() -> [Field<&'r CellResult>; 42] {
    [
        ("cell", |c| c.cell.clone()),
        ("path", |c| c.key.path_name()),
        ("frame_size_bytes", |c| c.key.frame_size_bytes.to_string()),
        ("direction", |c| c.key.direction.to_string()),
        ("flows", |c| c.key.flows.to_string()),
        ("repeat", |c| c.repeat.to_string()),
        ("control_visit", |c| text(c.control)),
        ("verdict", |c| c.verdict.to_string()),
        ("throughput_fps", |c| number(c.throughput_fps)),
        ("throughput_l1_mbps", |c| number(c.throughput_l1_mbps)),
        ("throughput_l2_mbps", |c| number(c.throughput_l2_mbps)),
        ("lower_fps", |c| number(c.bounds.lower_fps)),
        ("upper_fps", |c| number(c.bounds.upper_fps)),
        ("tester_limit_fps", |c| number(c.tester_limit_fps)),
        ("loss_goal_ratio", |c| number(Some(c.loss_goal))),
        ("confirm_load_fps", |c| {
            number(c.confirm.map(|x| x.load_fps))
        }),
        ("confirm_duration_s", |c| {
            number(c.confirm.map(|x| x.duration_s))
        }),
        ("confirm_loss_ratio", |c| {
            number(c.confirm.map(|x| x.loss_ratio.0))
        }),
        ("confirm_met", |c| text(c.confirm.map(|x| x.met))),
        ("held_fps", |c| number(c.held.map(|x| x.load_fps))),
        ("busiest_cpu", |c| text(busiest(c).map(|b| b.cpu))),
        ("busiest_cpu_busy_ratio", |c| {
            number(busiest(c).map(|b| b.busy_ratio))
        }),
        ("busiest_cpu_who", |c| text(busiest(c).map(|b| &b.who))),
        ("cpu_us_per_frame", |c| {
            number(c.cpu.as_ref().and_then(|cpu| cpu.us_per_frame))
        }),
        ("frames_intended", |c| text(c.frames.map(|f| f.intended))),
        ("frames_sent", |c| text(c.frames.map(|f| f.sent))),
        ("frames_received", |c| text(c.frames.map(|f| f.received))),
        ("frames_lost", |c| text(c.frames.map(|f| f.lost))),
        ("frames_duplicate", |c| text(c.frames.map(|f| f.duplicate))),
        ("frames_reordered", |c| text(c.frames.map(|f| f.reordered))),
        ("frames_corrupt", |c| text(c.frames.map(|f| f.corrupt))),
        ("frames_foreign", |c| text(c.frames.map(|f| f.foreign))),
        ("loss_ledger_frames", |c| ledger(&c.loss_ledger)),
        ("overload_ledger_frames", |c| ledger(&c.overload_ledger)),
        ("trials", |c| c.trials.to_string()),
        ("search_s", |c| number(Some(c.search_s))),
        ("engine", |c| c.engine.clone()),
        ("latency_load_ratio", |c| {
            number(c.latency_us.and_then(|l| l.load_ratio))
        }),
        ("latency_p50_us", |c| number(c.latency_us.map(|l| l.p50))),
        ("latency_p99_us", |c| number(c.latency_us.map(|l| l.p99))),
        ("latency_max_us", |c| number(c.latency_us.map(|l| l.max))),
        ("notes", |c| note::lines(&c.notes).join("; ")),
    ]
}

fn busiest(cell: &CellResult) -> Option<&WhoUse> {
    cell.cpu.as_ref()?.busiest.as_ref()
}

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
    let (shares, stamped) = (load_shares(run), hardware::shares(run));
    let visits = visits::Visits::of(run);
    let mut names: Vec<String> = fixed().iter().map(|(name, _)| (*name).to_owned()).collect();
    for share in &shares {
        let of = format!("latency_{}pct", *share as f64 / 10.0);
        names.extend(PERCENTILES.map(|name| format!("{of}_{name}_us")));
        names.push(format!("{of}_samples"));
    }
    names.extend(hardware::header(&stamped));
    names.extend(visits.header());
    let row = |cell: &CellResult| {
        let mut fields: Vec<String> = csv::fields(&fixed(), &cell);
        for share in &shares {
            let mut all = cell.latency_by_load_us.iter();
            let at = all.find(|latency| per_mille(latency) == Some(*share));
            fields.extend(percentiles(at));
            fields.push(text(at.map(|l| l.samples)));
        }
        fields.extend(hardware::fields(cell, &stamped));
        fields.extend(visits.fields(cell));
        fields
    };
    csv::records(out, names, run.cells.iter().map(row))
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

fn ledger(entries: &[LossEntry]) -> String {
    entries
        .iter()
        .map(|entry| format!("{}={}", entry.place, entry.frames))
        .collect::<Vec<_>>()
        .join("; ")
}
