//! What every path costs against the best, as CSV: one row per path, frame size, direction and number
//! of flows, those of a ranking next to each other and the best first.

use std::io::Write;

use nicety_model::Run;

use crate::document::csv::{self, Field, fields};
use crate::error::ReportError;
use crate::pick;
use crate::ranking::{self, Place, Ranking};

/// A ranking with one of its places, and the best.
type Row<'k> = (
    &'k Ranking<'k, 'k>,
    usize,
    &'k Place<'k, 'k>,
    &'k Place<'k, 'k>,
);

fn columns<'r>() -> [Field<Row<'r>>; 13] {
    fields![|(ranking, n, place, best)|
        "frame_size_bytes": ranking.size;
        "direction": ranking.direction;
        "flows": ranking.flows;
        "place": n + 1;
        "path": place.group.key.path_name();
        "throughput_fps": place.fps;
        "throughput_l1_mbps": place.group.l1_mbps();
        "verdict": place.group.verdict();
        "engine": ranking::engine(place.group);
        "best_path": best.group.key.path_name();
        "best_verdict": best.group.verdict();
        "share_of_best_ratio": place.share;
        "cost_against_best_ratio": place.cost();
    ]
}

/// Writes a header and the rows. Throughput is per direction, averaged over repeats. Frame sizes
/// that one path only was measured with have no rows.
///
/// # Errors
/// [`ReportError::Csv`] when a row cannot be formed, [`ReportError::Write`] when the writer fails.
pub fn render(run: &Run, out: &mut impl Write) -> Result<(), ReportError> {
    let groups = pick::groups(run);
    let rankings = ranking::all(&groups);
    let rows = rankings.iter().flat_map(|ranking| {
        let best = ranking.places.first();
        let places = ranking.places.iter().enumerate();
        places.filter_map(move |(n, place)| Some((ranking, n, place, best?)))
    });
    csv::write(out, &columns(), rows)
}
