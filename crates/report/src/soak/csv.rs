//! One row for each interval, units in the header names, absent values empty.

use std::io::Write;

use nicety_model::interval::{Interval, LoadLine};
use nicety_model::soak::Soaked;

use crate::document::csv::{self, Field, fields};
use crate::error::ReportError;

fn columns<'r>() -> [Field<&'r Interval>; 18] {
    fields![|one|
        "number": one.number;
        "started_unix_s": one.started_unix_s;
        "wall_s": one.wall_s;
        "sending_s": one.sending_s;
        "load_fps": one.load_fps;
        "offered_fps": one.offered_fps;
        "received_fps": one.received_fps;
        "sent": one.frames.sent;
        "received": one.frames.received;
        "lost": one.lost();
        "set_apart": one.set_apart;
        "duplicate": one.frames.duplicate;
        "reordered": one.frames.reordered;
        "latency_p50_us": one.latency_us.map(|of| of.p50);
        "latency_p99_us": one.latency_us.map(|of| of.p99);
        "latency_max_us": one.latency_us.map(|of| of.max);
        "valid": one.validity.is_valid();
        "mostly_lost_at": one.loss_ledger.first().map(|entry| entry.place.as_str());
    ]
}

/// Writes a header and the rows, oldest first. Of a very long soak each row is several intervals.
///
/// # Errors
/// [`ReportError::Csv`] when a row cannot be written, [`ReportError::Write`] when the writer fails.
pub fn render(soaked: &Soaked, out: &mut impl Write) -> Result<(), ReportError> {
    let rows = soaked.lines.iter().filter_map(|line| match line {
        LoadLine::Interval(one) => Some(one.as_ref()),
        _ => None,
    });
    csv::write(out, &columns(), rows)
}
