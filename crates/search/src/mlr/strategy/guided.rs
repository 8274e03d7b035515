//! The lowest failing load lost far more than the target's width: its forwarding rate is a
//! better guess at the capacity than a step or a middle.

use super::{Grow, Pick, View};

pub fn nominate(view: &View<'_>) -> Option<Pick> {
    let load = view.forwarded?;
    let upper = view.bounds.upper?;
    let load = view.room().fit(
        load.min(upper.checked_sub(1)?),
        view.bounds.lower,
        Some(upper),
    )?;
    view.worth(load).then_some(Pick {
        load,
        width: view.target.width,
        limit: Some(view.target.width),
        grow: Grow::Never,
        guided: true,
    })
}
