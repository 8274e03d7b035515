//! Columns of latency by the NICs' stamps.

use std::collections::BTreeSet;

use nicety_model::{CellResult, HardwareLatency, Run};

use super::{PERCENTILES, per_mille, percentiles};
use crate::document::csv::{number, text};

fn share(hardware: &HardwareLatency) -> Option<u64> {
    per_mille(hardware.latency_us.as_ref()?)
}

/// Load shares at which NICs stamped, in per mille, lowest first.
pub(super) fn shares(run: &Run) -> Vec<u64> {
    let all = run.cells.iter().flat_map(|cell| &cell.hardware_latency);
    let shares: BTreeSet<u64> = all.filter_map(share).collect();
    shares.into_iter().collect()
}

/// Names of the columns.
pub(super) fn header(shares: &[u64]) -> Vec<String> {
    let mut names = Vec::new();
    for share in shares {
        let of = format!("hardware_latency_{}pct", *share as f64 / 10.0);
        names.extend(PERCENTILES.map(|name| format!("{of}_{name}_us")));
        let counts = [
            "offset_error_ns",
            "probes_sent",
            "probes_stamped",
            "probes_lost",
        ];
        names.extend(counts.map(|name| format!("{of}_{name}")));
    }
    names
}

/// Their fields.
pub(super) fn fields(cell: &CellResult, shares: &[u64]) -> Vec<String> {
    let mut fields = Vec::new();
    for wanted in shares {
        let at = cell
            .hardware_latency
            .iter()
            .find(|h| share(h) == Some(*wanted));
        fields.extend(percentiles(at.and_then(|h| h.latency_us.as_ref())));
        fields.extend([
            number(at.map(|h| h.offset_error_ns)),
            text(at.map(|h| h.probes.sent)),
            text(at.map(|h| h.probes.stamped)),
            text(at.map(|h| h.probes.lost)),
        ]);
    }
    fields
}
