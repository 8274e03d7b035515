//! What every path costs against the best, as CSV: one row per path, frame size, direction and number
//! of flows, those of a ranking next to each other and the best first.

use std::io::Write;

use nicety_model::Run;

use super::{finish, number};
use crate::error::ReportError;
use crate::pick;
use crate::ranking;

const HEADER: [&str; 12] = [
    "frame_size_bytes",
    "direction",
    "flows",
    "place",
    "path",
    "throughput_fps",
    "throughput_l1_mbps",
    "verdict",
    "best_path",
    "best_verdict",
    "share_of_best_ratio",
    "cost_against_best_ratio",
];

/// Writes a header and the rows. Throughput is per direction, averaged over repeats. Frame sizes
/// that one path only was measured with have no rows.
///
/// # Errors
/// [`ReportError::Csv`] when a row cannot be formed, [`ReportError::Write`] when the writer fails.
pub fn render(run: &Run, out: &mut impl Write) -> Result<(), ReportError> {
    let groups = pick::groups(run);
    let mut rows = vec![HEADER.map(str::to_owned)];
    for ranking in ranking::all(&groups) {
        let Some(best) = ranking.places.first() else {
            continue;
        };
        rows.extend(ranking.places.iter().enumerate().map(|(n, place)| {
            [
                ranking.size.to_string(),
                ranking.direction.to_string(),
                ranking.flows.to_string(),
                (n + 1).to_string(),
                place.group.key.path_name(),
                number(Some(place.fps)),
                number(place.group.l1_mbps()),
                place.group.verdict().to_string(),
                best.group.key.path_name(),
                best.group.verdict().to_string(),
                number(Some(place.share)),
                number(Some(place.cost())),
            ]
        }));
    }
    finish(super::written(rows)?, out)
}
