//! The coarser target's bounds are between one and two widths apart: their middle saves one of
//! the two from being measured longer.

use super::{Pick, View};
use crate::mlr::interval::middle;

pub fn nominate(view: &View<'_>) -> Option<Pick> {
    let (low, high) = (view.low?, view.high?);
    let width = view.target.width;
    if high - low <= width || high - low > 2 * width {
        return None;
    }
    let load = middle(low, high, width);
    view.worth(load).then(|| Pick::near(load, width))
}
