//! Both directions against one, as CSV: one row per path, placement, number of flows and direction.

use std::io::Write;

use nicety_model::{Direction, FrameSize, Run};

use crate::directions::{self, Over, Pair, Side};
use crate::document::csv::{self, Field, fields};
use crate::error::ReportError;
use crate::pick;

type Row<'p> = (&'p Pair, Direction, &'p Side);

fn columns<'r>() -> [Field<Row<'r>>; 13] {
    fields![|row|
        "path": &row.0.setting;
        "vcpus": &row.0.vcpus;
        "pin": &row.0.pin;
        "flows": row.0.flows;
        "direction": row.1;
        "frame_sizes_bytes": row.0.sizes.iter().map(FrameSize::to_string).collect::<Vec<_>>().join(" ");
        "average_fps": row.2.values()[0];
        "min_fps": row.2.values()[1];
        "max_fps": row.2.values()[2];
        "doubtful_verdicts": row.2.confidence.words();
        "bi_over_uni_average_ratio": ratio(row, 0);
        "bi_over_uni_min_ratio": ratio(row, 1);
        "bi_over_uni_max_ratio": ratio(row, 2);
    ]
}

/// Beside both directions, as the ratio is theirs.
fn ratio((pair, direction, _): &Row<'_>, at: usize) -> Option<f64> {
    let ratio = pair.ratio().filter(|_| *direction == Direction::Bi);
    ratio.and_then(|ratio| ratio[at])
}

/// Writes a header and the rows. `path` is the path without its placement. Frames of both directions
/// are added up; average, minimum and maximum are over the repeats and the frame sizes named. The
/// ratios stand in the rows of both directions; verdicts other than ok of the cells behind a row
/// are listed.
///
/// # Errors
/// [`ReportError::Csv`] when a row cannot be formed, [`ReportError::Write`] when the writer fails.
pub fn render(run: &Run, out: &mut impl Write) -> Result<(), ReportError> {
    let pairs = directions::pairs(&pick::groups(run), Over::Sizes);
    let rows = pairs.iter().flat_map(|pair| {
        pair.rows()
            .map(move |(direction, side)| (pair, direction, side))
    });
    csv::write(out, &columns(), rows)
}
