//! Both bounds are known and too far apart: split the interval, unless a step from the bound
//! nearer to this target's starting point needs fewer trials.

use super::{Grow, Pick, View};
use crate::mlr::interval::middle;

pub fn nominate(view: &View<'_>) -> Option<Pick> {
    let (lower, upper) = (view.bounds.lower?, view.bounds.upper?);
    if upper - lower <= view.target.width || lower >= view.top {
        return None;
    }
    let split = middle(lower, upper, view.target.width).min(view.top);
    if split <= lower {
        return None;
    }
    if let Some(pick) = down(view, split) {
        return Some(pick);
    }
    if let Some(pick) = up(view, split) {
        return Some(pick);
    }
    let width = (split - lower).min(upper - split);
    view.worth(split).then(|| Pick::near(split, width.max(1)))
}

/// The start lies between the middle and the upper bound, and so does a step down.
fn down(view: &View<'_>, split: usize) -> Option<Pick> {
    let (lower, upper, high) = (view.bounds.lower?, view.bounds.upper?, view.high?);
    let wanted = upper.saturating_sub(view.step);
    let load = view.room().fit(wanted, Some(lower), Some(upper))?;
    (load > split && load < high).then(|| Pick::step(load, view.step, Grow::OnUpper))
}

/// The start lies between the lower bound and the middle, and so does a step up.
fn up(view: &View<'_>, split: usize) -> Option<Pick> {
    let (lower, upper, low) = (view.bounds.lower?, view.bounds.upper?, view.low?);
    let load = view
        .room()
        .fit(lower + view.step, Some(lower), Some(upper))?;
    (load < split && load > low).then(|| Pick::step(load, view.step, Grow::OnLower))
}
