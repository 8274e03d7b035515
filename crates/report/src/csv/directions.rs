//! Both directions against one, as CSV: one row per path, placement, number of flows and direction.

use std::io::Write;

use nicety_model::{Direction, FrameSize, Run};

use crate::directions::{self, Over, Pair, Side};
use crate::document::csv::{self, Field, number};
use crate::error::ReportError;
use crate::pick;

type Row<'p> = (&'p Pair, Direction, &'p Side);

fn columns<'r>() -> [Field<Row<'r>>; 13] {
    [
        ("path", |(pair, ..)| pair.setting.clone()),
        ("vcpus", |(pair, ..)| pair.vcpus.clone().unwrap_or_default()),
        ("pin", |(pair, ..)| pair.pin.clone().unwrap_or_default()),
        ("flows", |(pair, ..)| pair.flows.to_string()),
        ("direction", |(_, direction, _)| direction.to_string()),
        ("frame_sizes_bytes", |(pair, ..)| {
            let sizes: Vec<String> = pair.sizes.iter().map(FrameSize::to_string).collect();
            sizes.join(" ")
        }),
        ("average_fps", |(.., side)| number(side.values()[0])),
        ("min_fps", |(.., side)| number(side.values()[1])),
        ("max_fps", |(.., side)| number(side.values()[2])),
        ("doubtful_verdicts", |(.., side)| side.confidence.words()),
        ("bi_over_uni_average_ratio", |row| ratio(row, 0)),
        ("bi_over_uni_min_ratio", |row| ratio(row, 1)),
        ("bi_over_uni_max_ratio", |row| ratio(row, 2)),
    ]
}

/// Beside both directions, as the ratio is theirs.
fn ratio((pair, direction, _): &Row<'_>, at: usize) -> String {
    let ratio = pair.ratio().filter(|_| *direction == Direction::Bi);
    number(ratio.and_then(|ratio| ratio[at]))
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
