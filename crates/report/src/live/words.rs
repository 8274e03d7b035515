//! A run under way in words, for those who do not draw it themselves: the same as on a terminal.

use std::time::Duration;

use serde::Serialize;

use super::board::Board;
use super::look::Look;
use super::{cells, searched};

/// What is said of a run under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Words {
    /// How much is done: `2 of 7 test points`, `1 doubtful`.
    pub counts: Vec<String>,
    /// How long it takes yet: `0:40 left, ±0:10`; absent before the first estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
    /// What the search knows and tries: `685–699 k (2 %), trying 692 k`; empty between cells.
    pub search: String,
}

/// The words for a board `elapsed` after the start.
pub fn words(board: &Board, elapsed: Duration) -> Words {
    let look = Look {
        colour: false,
        unicode: true,
    };
    let counts = cells::counts(board).into_iter();
    let search = board.now.as_ref().map(|now| searched::words(now, look));
    Words {
        counts: counts.map(|(text, _)| text).collect(),
        left: board.end.map(|end| end.words(elapsed, "±")),
        search: search.unwrap_or_default(),
    }
}
