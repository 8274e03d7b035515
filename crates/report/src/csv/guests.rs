//! What each of several guests on a path carried, as CSV: one row per repeat of a cell and guest, units
//! in the header names, absent values empty.

use std::io::Write;

use nicety_model::{CellResult, CoreUse, GuestFrames, Run};

use crate::document::csv::{self, Field, fields};
use crate::error::ReportError;

/// A guest of a cell.
struct Share<'a> {
    cell: &'a CellResult,
    guest: &'a GuestFrames,
}

fn columns<'r>() -> [Field<Share<'r>>; 17] {
    fields![|s|
        "cell": &s.cell.cell;
        "path": s.cell.key.path_name();
        "frame_size_bytes": s.cell.key.frame_size_bytes;
        "direction": s.cell.key.direction;
        "flows": s.cell.key.flows;
        "repeat": s.cell.repeat;
        "control_visit": s.cell.control;
        "verdict": s.cell.verdict;
        "confirm_load_fps": s.cell.confirm.as_ref().map(|c| c.load_fps);
        "guest": &s.guest.guest;
        "frames_sent": s.guest.sent;
        "frames_received": s.guest.received;
        "frames_lost": s.guest.lost;
        "loss_ratio": s.guest.loss_ratio.0;
        "forwarding_fps": s.guest.forwarding_fps;
        "share_ratio": s.ratio();
        "guest_busiest_cpu_busy_ratio": s.busiest();
    ]
}

impl Share<'_> {
    /// Its part of the frames that arrived through all of them.
    fn ratio(&self) -> Option<f64> {
        let all: u64 = self.cell.guests.iter().map(|guest| guest.received).sum();
        (all > 0).then(|| self.guest.received as f64 / all as f64)
    }

    /// How busy its busiest CPU was by its own count.
    fn busiest(&self) -> Option<f64> {
        let told = self.cell.cpu.as_ref()?.guests.iter();
        let own = told.filter(|told| told.guest == self.guest.guest);
        let cores = own.flat_map(|told| &told.cores);
        cores.map(CoreUse::busy).max_by(f64::total_cmp)
    }
}

/// Writes a header and a row per guest of every repeat of a cell whose path several guests share,
/// in the order measured: what it carried in the confirm trial. Other cells have no rows.
///
/// # Errors
/// [`ReportError::Csv`] when a row cannot be formed, [`ReportError::Write`] when the writer fails.
pub fn render(run: &Run, out: &mut impl Write) -> Result<(), ReportError> {
    let shares = run.visits.iter().flat_map(|cell| {
        let guests = cell.guests.iter();
        guests.map(move |guest| Share { cell, guest })
    });
    csv::write(out, &columns(), shares)
}
