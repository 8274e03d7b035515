//! The ranking of the paths in a few lines.

use super::Page;
use crate::number;
use crate::pick::Group;
use crate::ranking::{self, Place};

/// Rankings told of, and paths of each: a terminal is not a report.
const RANKINGS: usize = 2;
const PATHS: usize = 5;

/// A line per path, the best first, where two or more carried frames of one size.
pub(super) fn lines(page: &mut Page, groups: &[Group<'_>]) {
    for ranking in ranking::told(groups).iter().take(RANKINGS) {
        page.strong(&format!("ranking of the paths: {}", ranking.of()));
        for (n, place) in ranking.places.iter().take(PATHS).enumerate() {
            page.prose(2, &line(n, place));
        }
        let more = ranking.places.len().saturating_sub(PATHS);
        if more > 0 {
            page.prose(2, &format!("and {more} more; the HTML report has them all"));
        }
    }
    page.blank();
}

fn line(n: usize, place: &Place<'_, '_>) -> String {
    let cost = match n {
        0 => String::new(),
        _ => format!(
            ", cost against the best {}{}",
            number::share(place.cost()),
            place.doubt.mark()
        ),
    };
    format!(
        "{}. {}: {} frames/s{cost} ({})",
        n + 1,
        place.group.key.path_name(),
        place.group.fps_text(),
        place.group.verdict()
    )
}
