//! What every path costs against the best, as CSV: one row per path, frame size, direction and number
//! of flows, those of a ranking next to each other and the best first.

use std::io::Write;

use nicety_model::Run;

use crate::document::csv::{self, Field, number};
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

fn columns<'r>() -> [Field<Row<'r>>; 12] {
    [
        ("frame_size_bytes", |(ranking, ..)| ranking.size.to_string()),
        ("direction", |(ranking, ..)| ranking.direction.to_string()),
        ("flows", |(ranking, ..)| ranking.flows.to_string()),
        ("place", |(_, n, ..)| (n + 1).to_string()),
        ("path", |(_, _, place, _)| place.group.key.path_name()),
        ("throughput_fps", |(_, _, place, _)| number(Some(place.fps))),
        ("throughput_l1_mbps", |(_, _, place, _)| {
            number(place.group.l1_mbps())
        }),
        ("verdict", |(_, _, place, _)| {
            place.group.verdict().to_string()
        }),
        ("best_path", |(.., best)| best.group.key.path_name()),
        ("best_verdict", |(.., best)| {
            best.group.verdict().to_string()
        }),
        ("share_of_best_ratio", |(_, _, place, _)| {
            number(Some(place.share))
        }),
        ("cost_against_best_ratio", |(_, _, place, _)| {
            number(Some(place.cost()))
        }),
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
