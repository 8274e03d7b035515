//! Strategies: each handles one situation and nominates a load for it. They are asked in order;
//! the first nomination wins.

mod bisect;
mod extend_hi;
mod extend_lo;
mod guided;
mod halve;
mod refine_hi;
mod refine_lo;

use crate::bounds::Bounds;
use crate::mlr::interval::Room;
use crate::target::Target;

/// Input of a strategy.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The target worked on.
    pub target: &'a Target,
    /// Bounds under that target.
    pub bounds: Bounds,
    /// Lower of the two loads this target started from.
    pub low: Option<usize>,
    /// Higher of the two.
    pub high: Option<usize>,
    /// Highest load allowed.
    pub top: usize,
    /// Step to take outside the known bounds.
    pub step: usize,
    /// The higher load is plainly overloaded: one long trial settles it, so it comes first and
    /// leaves the lower load, which the confirm trial may settle, for the end.
    pub high_first: bool,
    /// Where the forwarding rate of the upper bound's trials says the path's capacity is,
    /// when its loss is great enough to say anything.
    pub forwarded: Option<usize>,
}

/// When the step outside the bounds grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grow {
    /// Not because of this trial.
    Never,
    /// When the load became the lower bound: the upper one is farther up.
    OnLower,
    /// When the load became the upper bound: the lower one is farther down.
    OnUpper,
}

/// A nomination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pick {
    /// Grid position.
    pub load: usize,
    /// Width of the step that led there.
    pub width: usize,
    /// Width to which later steps are brought back; `None` leaves them.
    pub limit: Option<usize>,
    /// When steps grow.
    pub grow: Grow,
    /// Whether the load comes from a forwarding rate.
    pub guided: bool,
}

impl Pick {
    /// A load of which one of the target's own bounds is expected.
    fn near(load: usize, width: usize) -> Self {
        Self {
            load,
            width,
            limit: Some(width),
            grow: Grow::Never,
            guided: false,
        }
    }

    /// A step outside the bounds.
    fn step(load: usize, width: usize, grow: Grow) -> Self {
        Self {
            load,
            width,
            limit: None,
            grow,
            guided: false,
        }
    }
}

impl View<'_> {
    /// Loads at a distance from bounds and limits that suits the target.
    fn room(&self) -> Room {
        Room {
            top: self.top,
            width: self.target.width,
        }
    }

    /// Whether measuring at `load` can make or move a bound.
    fn worth(&self, load: usize) -> bool {
        load <= self.top
            && self.bounds.lower.is_none_or(|lower| load > lower)
            && self.bounds.upper.is_none_or(|upper| load < upper)
            && self
                .bounds
                .width()
                .is_none_or(|width| width > self.target.width)
    }
}

/// Asks the strategies in order.
pub fn nominate(view: &View<'_>) -> Option<Pick> {
    const ORDER: [fn(&View<'_>) -> Option<Pick>; 7] = [
        halve::nominate,
        refine_lo::nominate,
        refine_hi::nominate,
        guided::nominate,
        extend_lo::nominate,
        extend_hi::nominate,
        bisect::nominate,
    ];
    let first = if view.high_first {
        refine_hi::nominate(view)
    } else {
        None
    };
    first
        .or_else(|| ORDER.iter().find_map(|nominate| nominate(view)))
        .filter(|pick| view.worth(pick.load))
}
