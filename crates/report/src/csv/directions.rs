//! Both directions against one, as CSV: one row per path, placement, number of flows and direction.

use std::io::Write;

use nicety_model::{Direction, FrameSize, Run};

use super::{finish, number};
use crate::directions::{self, Over, Pair, Side};
use crate::error::ReportError;
use crate::pick;

const HEADER: [&str; 13] = [
    "path",
    "vcpus",
    "pin",
    "flows",
    "direction",
    "frame_sizes_bytes",
    "average_fps",
    "min_fps",
    "max_fps",
    "doubtful_verdicts",
    "bi_over_uni_average_ratio",
    "bi_over_uni_min_ratio",
    "bi_over_uni_max_ratio",
];

/// Writes a header and the rows. `path` is the path without its placement. Frames of both directions
/// are added up; average, minimum and maximum are over the repeats and the frame sizes named. The
/// ratios stand in the rows of both directions; verdicts other than ok of the cells behind a row
/// are listed.
///
/// # Errors
/// [`ReportError::Csv`] when a row cannot be formed, [`ReportError::Write`] when the writer fails.
pub fn render(run: &Run, out: &mut impl Write) -> Result<(), ReportError> {
    let groups = pick::groups(run);
    let mut rows = vec![HEADER.map(str::to_owned)];
    for pair in directions::pairs(&groups, Over::Sizes) {
        rows.extend(
            pair.rows()
                .map(|(direction, side)| row(&pair, direction, side)),
        );
    }
    finish(super::written(rows)?, out)
}

fn row(pair: &Pair, direction: Direction, side: &Side) -> [String; 13] {
    let sizes: Vec<String> = pair.sizes.iter().map(FrameSize::to_string).collect();
    let ratio = pair.ratio().filter(|_| direction == Direction::Bi);
    let [ave, min, max] = side.values().map(number);
    let [of_ave, of_min, of_max] = ratio.unwrap_or_default().map(number);
    [
        pair.setting.clone(),
        pair.vcpus.clone().unwrap_or_default(),
        pair.pin.clone().unwrap_or_default(),
        pair.flows.to_string(),
        direction.to_string(),
        sizes.join(" "),
        ave,
        min,
        max,
        side.doubt.words(),
        of_ave,
        of_min,
        of_max,
    ]
}
