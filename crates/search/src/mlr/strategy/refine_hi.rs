//! The coarser target's upper bound: test whether it is one for this target too.

use super::{Pick, View};

pub fn nominate(view: &View<'_>) -> Option<Pick> {
    let load = view.high?;
    view.worth(load)
        .then(|| Pick::near(load, view.target.width))
}
