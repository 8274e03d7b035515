//! One row per cell, or per visit of one; units in the header names, absent values empty.

pub mod directions;
mod goals;
pub mod guests;
pub mod history;
pub mod ranking;
mod traffic;

use std::collections::{BTreeSet, HashMap};
use std::io::Write;

use nicety_model::{
    BackToBack, CellResult, CurvePoint, HardwareLatency, LatencySummary, LossEntry, Recovery,
    ResetTime, Run, WhoUse,
};

use crate::document::csv::{self, Field, fields};
use crate::error::ReportError;
use crate::note;
use crate::pick::{self, Group};

fn fixed() -> [Field<CellResult>; 40] {
    fields![|c|
        "cell": &c.cell;
        "path": c.key.path_name();
        "frame_size_bytes": c.key.frame_size_bytes;
        "direction": c.key.direction;
        "flows": c.key.flows;
        "verdict": c.verdict;
        "throughput_fps": c.throughput_fps;
        "throughput_l1_mbps": c.throughput_l1_mbps;
        "throughput_l2_mbps": c.throughput_l2_mbps;
        "lower_fps": c.bounds.lower_fps;
        "upper_fps": c.bounds.upper_fps;
        "tester_limit_fps": c.tester_limit_fps;
        "loss_goal_ratio": c.loss_goal;
        "confirm_load_fps": c.confirm.map(|x| x.load_fps);
        "confirm_duration_s": c.confirm.map(|x| x.duration_s);
        "confirm_loss_ratio": c.confirm.map(|x| x.loss_ratio.0);
        "confirm_met": c.confirm.map(|x| x.met);
        "held_fps": c.held.map(|x| x.load_fps);
        "busiest_cpu": busiest(c).map(|b| b.cpu);
        "busiest_cpu_busy_ratio": busiest(c).map(|b| b.busy_ratio);
        "busiest_cpu_who": busiest(c).map(|b| &b.who);
        "cpu_us_per_frame": c.cpu.as_ref().and_then(|cpu| cpu.us_per_frame);
        "frames_intended": c.frames.map(|f| f.intended);
        "frames_sent": c.frames.map(|f| f.sent);
        "frames_received": c.frames.map(|f| f.received);
        "frames_lost": c.frames.map(|f| f.lost);
        "frames_duplicate": c.frames.map(|f| f.duplicate);
        "frames_reordered": c.frames.map(|f| f.reordered);
        "frames_corrupt": c.frames.map(|f| f.corrupt);
        "frames_foreign": c.frames.map(|f| f.foreign);
        "loss_ledger_frames": ledger(&c.loss_ledger);
        "overload_ledger_frames": ledger(&c.overload_ledger);
        "trials": c.trials;
        "search_s": c.search_s;
        "engine": &c.engine;
        "latency_load_ratio": c.latency_us.and_then(|l| l.load_ratio);
        "latency_p50_us": c.latency_us.map(|l| l.p50);
        "latency_p99_us": c.latency_us.map(|l| l.p99);
        "latency_max_us": c.latency_us.map(|l| l.max);
        "notes": note::lines(&c.notes).join("; ");
    ]
}

/// Of a load share.
fn latency() -> [Field<LatencySummary>; 8] {
    fields![|l|
        "min_us": l.min;
        "mean_us": l.mean;
        "p50_us": l.p50;
        "p90_us": l.p90;
        "p99_us": l.p99;
        "p999_us": l.p999;
        "max_us": l.max;
        "samples": l.samples;
    ]
}

/// The same by the NICs' stamps.
fn hardware() -> [Field<HardwareLatency>; 11] {
    fields![|h|
        "min_us": h.latency_us.map(|l| l.min);
        "mean_us": h.latency_us.map(|l| l.mean);
        "p50_us": h.latency_us.map(|l| l.p50);
        "p90_us": h.latency_us.map(|l| l.p90);
        "p99_us": h.latency_us.map(|l| l.p99);
        "p999_us": h.latency_us.map(|l| l.p999);
        "max_us": h.latency_us.map(|l| l.max);
        "offset_error_ns": h.offset_error_ns;
        "probes_sent": h.probes.sent;
        "probes_stamped": h.probes.stamped;
        "probes_lost": h.probes.lost;
    ]
}

/// Of a load of the curve: `load_120pct_forwarding_fps`. Its latency has columns of its own.
fn curve() -> [Field<CurvePoint>; 3] {
    fields![|p|
        "load_fps": p.load_fps;
        "forwarding_fps": p.forwarding_fps;
        "loss_ratio": p.loss_ratio.0;
    ]
}

/// Of the longest burst without loss.
fn burst() -> [Field<BackToBack>; 10] {
    fields![|b|
        "burst_rate_fps": b.rate_fps;
        "burst_frames": b.burst_frames;
        "burst_min_frames": b.burst_min_frames;
        "burst_max_frames": b.burst_max_frames;
        "burst_at_least": b.at_least;
        "buffer_frames": b.buffer_frames;
        "buffer_low_frames": b.buffer_interval_frames.map(|ends| ends.0);
        "buffer_high_frames": b.buffer_interval_frames.map(|ends| ends.1);
        "buffer_us": b.buffer_us;
        "buffer_delay_us": b.delay_us;
    ]
}

/// Of system recovery.
fn recovery() -> [Field<Recovery>; 11] {
    fields![|r|
        "recovery_overload_fps": r.overload_fps;
        "recovery_overload_ratio": r.overload_ratio;
        "recovery_overload_s": r.overload_s;
        "recovery_then_fps": r.then_fps;
        "recovery_trials": r.trials;
        "recovery_overloaded": r.overloaded;
        "recovery_not_recovered": r.not_recovered;
        "recovery_s": r.recovery_s;
        "recovery_low_s": r.recovery_interval_s.map(|ends| ends.0);
        "recovery_high_s": r.recovery_interval_s.map(|ends| ends.1);
        "recovery_at_least": r.at_least;
    ]
}

/// Of a reset.
fn reset() -> [Field<ResetTime>; 8] {
    fields![|r|
        "reset_by": r.by.in_words();
        "reset_load_fps": r.load_fps;
        "reset_trials": r.trials;
        "reset_not_back": r.not_back;
        "reset_s": r.outage_s;
        "reset_low_s": r.outage_interval_s.map(|ends| ends.0);
        "reset_high_s": r.outage_interval_s.map(|ends| ends.1);
        "reset_by_loss_s": r.by_loss_s;
    ]
}

/// Of runs whose numbers have intervals, or that judge loads over windows.
fn windows() -> [Field<CellResult>; 9] {
    fields![|c|
        "low_fps": c.estimate.map(|e| e.low_fps);
        "high_fps": c.estimate.map(|e| e.high_fps);
        "confidence": c.estimate.and_then(|e| e.confidence);
        "visits": c.estimate.map(|e| e.visits);
        "capacity_fps": c.capacity_fps;
        "window_s": c.window_s;
        "confirm_lost": c.confirm.and_then(|confirm| confirm.lost);
        "confirm_lost_in_stalls": c.confirm.and_then(|confirm| confirm.lost_in_stalls);
        "confirm_bad_windows": c.confirm.and_then(|confirm| confirm.bad_windows);
    ]
}

/// Which visit of the cell it is.
fn visit() -> [Field<CellResult>; 2] {
    fields![|c|
        "repeat": c.repeat;
        "control_visit": c.control;
    ]
}

fn busiest(cell: &CellResult) -> Option<&WhoUse> {
    cell.cpu.as_ref()?.busiest.as_ref()
}

/// A column that not every run has.
type Column = (String, Box<dyn Fn(&CellResult) -> String>);

fn named<const N: usize>(fields: [Field<CellResult>; N]) -> impl Iterator<Item = Column> {
    let column =
        |(name, field): Field<CellResult>| -> Column { (name.to_owned(), Box::new(field)) };
    fields.into_iter().map(column)
}

/// Columns of a part of the results that few runs have; none where this one has it not.
fn part<P: 'static, const N: usize>(
    rows: &[CellResult],
    of: fn(&CellResult) -> Option<&P>,
    fields: [Field<P>; N],
) -> Vec<Column> {
    if !rows.iter().any(|row| of(row).is_some()) {
        return Vec::new();
    }
    let column = |(name, field): Field<P>| -> Column {
        let at = move |row: &CellResult| of(row).map(field).unwrap_or_default();
        (name.to_owned(), Box::new(at))
    };
    fields.into_iter().map(column).collect()
}

/// Writes a header and one row per cell, its result over all visits; details such as latency are those of one visit.
/// `cell_number` is the number that `--cell` takes. Behind the fixed columns come the latency percentiles of every
/// load share measured in the run: `latency_50pct_p99_us`. Lists are joined by `; `. Where NICs stamped probes,
/// theirs come next: `hardware_latency_50pct_p99_us`. Where numbers have intervals, or loads were judged over windows,
/// these follow: `low_fps`. With several loss goals each has its columns behind all others:
/// `goal_PDR_throughput_fps`. Then come those of bursts, recovery and reset, of mixes and unusual headers, where there
/// are any: `burst_frames`, `recovery_s`, `reset_s`, `imix`, `size_594_lost`.
///
/// # Errors
/// [`ReportError::Csv`] when a row cannot be formed, [`ReportError::Write`] when the writer
/// fails.
pub fn render(run: &Run, out: &mut impl Write) -> Result<(), ReportError> {
    let groups = pick::groups(run);
    let rows: Vec<CellResult> = groups.iter().map(Group::row).collect();
    csv::write(out, &columns(&groups, &rows, Vec::new()), rows)
}

/// The same of every visit in the order measured; those of the control cell carry their number in `control_visit`.
///
/// # Errors
/// As [`render`].
pub fn visits(run: &Run, out: &mut impl Write) -> Result<(), ReportError> {
    let groups = pick::groups(run);
    let columns = columns(&groups, &run.visits, named(visit()).collect());
    csv::write(out, &columns, run.visits.iter().cloned())
}

fn columns(groups: &[Group<'_>], rows: &[CellResult], more: Vec<Column>) -> Vec<Column> {
    let names = groups.iter().map(|group| group.name.to_owned());
    let numbers: HashMap<String, usize> = names.zip(1..).collect();
    let number = move |row: &CellResult| {
        let number = numbers.get(&row.cell);
        number.map_or_else(String::new, usize::to_string)
    };
    let mut columns: Vec<Column> = vec![("cell_number".to_owned(), Box::new(number))];
    columns.extend(more);
    columns.extend(named(fixed()));
    columns.extend(by_load(
        rows,
        "latency_",
        |cell| &cell.latency_by_load_us,
        per_mille,
        &latency(),
    ));
    let share = |hardware: &HardwareLatency| per_mille(hardware.latency_us.as_ref()?);
    columns.extend(by_load(
        rows,
        "hardware_latency_",
        |cell| &cell.hardware_latency,
        share,
        &hardware(),
    ));
    if rows
        .iter()
        .any(|row| row.estimate.is_some() || row.window_s.is_some())
    {
        columns.extend(named(windows()));
    }
    columns.extend(by_load(
        rows,
        "load_",
        |cell| &cell.curve,
        |point| Some((point.load_ratio * 1000.0).round().max(0.0) as u64),
        &curve(),
    ));
    columns.extend(goals::columns(rows));
    columns.extend(part(rows, |cell| cell.back_to_back.as_ref(), burst()));
    columns.extend(part(rows, |cell| cell.recovery.as_ref(), recovery()));
    columns.extend(part(rows, |cell| cell.reset.as_ref(), reset()));
    columns.extend(traffic::columns(rows));
    columns
}

/// Columns for every load share that occurs, lowest first.
fn by_load<T: 'static>(
    rows: &[CellResult],
    prefix: &str,
    all: fn(&CellResult) -> &[T],
    share: fn(&T) -> Option<u64>,
    fields: &[Field<T>],
) -> Vec<Column> {
    let shares = rows.iter().flat_map(all).filter_map(share);
    let mut columns: Vec<Column> = Vec::new();
    for wanted in shares.collect::<BTreeSet<u64>>() {
        for &(name, field) in fields {
            let at = move |cell: &CellResult| {
                let latency = all(cell).iter().find(|one| share(one) == Some(wanted));
                latency.map(field).unwrap_or_default()
            };
            let of = wanted as f64 / 10.0;
            columns.push((format!("{prefix}{of}pct_{name}"), Box::new(at)));
        }
    }
    columns
}

/// Load share in per mille: integers compare exactly.
fn per_mille(latency: &LatencySummary) -> Option<u64> {
    let ratio = latency.load_ratio.filter(|ratio| ratio.is_finite())?;
    Some((ratio * 1000.0).round().max(0.0) as u64)
}

fn ledger(entries: &[LossEntry]) -> String {
    entries
        .iter()
        .map(|entry| format!("{}={}", entry.place, entry.frames))
        .collect::<Vec<_>>()
        .join("; ")
}
