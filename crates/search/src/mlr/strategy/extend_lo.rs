//! No lower bound yet: go down from the upper one in growing steps.

use super::{Grow, Pick, View};

pub fn nominate(view: &View<'_>) -> Option<Pick> {
    let (None, Some(upper)) = (view.bounds.lower, view.bounds.upper) else {
        return None;
    };
    if upper == 0 {
        return None;
    }
    let load = view
        .room()
        .fit(upper.saturating_sub(view.step), None, Some(upper))?;
    view.worth(load)
        .then(|| Pick::step(load, view.step, Grow::OnUpper))
}
