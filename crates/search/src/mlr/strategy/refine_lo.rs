//! The load that was the coarser target's lower bound: is it one for this target, too?

use super::{Pick, View};

pub fn nominate(view: &View<'_>) -> Option<Pick> {
    let load = view.low?;
    view.worth(load)
        .then(|| Pick::near(load, view.target.width))
}
