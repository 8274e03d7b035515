//! No upper bound yet: go up from the lower one in growing steps.

use super::{Grow, Pick, View};

pub fn nominate(view: &View<'_>) -> Option<Pick> {
    let (Some(lower), None) = (view.bounds.lower, view.bounds.upper) else {
        return None;
    };
    if lower >= view.top {
        return None;
    }
    let load = view.room().fit(lower + view.step, Some(lower), None)?;
    view.worth(load)
        .then(|| Pick::step(load, view.step, Grow::OnLower))
}
