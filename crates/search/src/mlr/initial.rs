//! The first trials: find two loads near the result from the path's forwarding rate.

use crate::classify::Rule;
use crate::grid::Grid;
use crate::mlr::capacity;
use crate::mlr::selector::place;
use crate::mlr::trials::Kept;

/// Highest load over one that passed from which steps that double take longer than halving the
/// ratio.
const FAR: f64 = 4.0;

/// Which of the first trials is due.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Initial {
    /// At the highest load; `after` are two loads that a wrong hint led to and that passed.
    Max {
        /// Those loads.
        after: Option<(usize, usize)>,
    },
    /// At the load the first guess says; `hint` when the guess came from outside.
    First {
        /// Grid position.
        at: usize,
        /// Whether from a hint.
        hint: bool,
    },
    /// At a second load, to get bounds on both sides.
    Second {
        /// Grid position.
        at: usize,
        /// Position of the first.
        first: usize,
        /// Whether the first passed.
        passed: bool,
        /// Whether the first came from a hint: if both pass, ask the path itself.
        hint: bool,
    },
    /// Up from a load that passed although the highest load forwarded no more than that: halfway
    /// there, in ratios, until one is too much.
    Climb {
        /// Grid position.
        at: usize,
        /// Highest position that passed.
        passed: usize,
        /// Forwarding rate at the highest load.
        overloaded: f64,
    },
    /// Done: the two loads to start from.
    Done(usize, usize),
}

/// Input of the first trials.
#[derive(Debug, Clone, Copy)]
pub struct Guess<'a> {
    /// The grid.
    pub grid: &'a Grid,
    /// Rule of the coarsest target with the strictest loss goal.
    pub rule: Rule,
    /// Width of the final target in steps.
    pub width: usize,
    /// Highest position allowed.
    pub top: usize,
    /// Forwarding rate of a warm-up trial at the highest load.
    pub overload_rate: Option<f64>,
}

impl Initial {
    /// Grid position of the trial that is due.
    pub fn load(&self, top: usize) -> Option<usize> {
        match *self {
            Self::Max { .. } => Some(top),
            Self::First { at, .. } | Self::Second { at, .. } | Self::Climb { at, .. } => Some(at),
            Self::Done(..) => None,
        }
    }

    /// The same phase without loads above `top`.
    pub fn capped(mut self, top: usize) -> Self {
        let cap = |at: &mut usize| *at = top.min(*at);
        match &mut self {
            Self::Max { after: None } => {}
            Self::First { at, .. } => cap(at),
            Self::Max {
                after: Some((one, other)),
            }
            | Self::Second {
                at: one,
                first: other,
                ..
            }
            | Self::Climb {
                at: one,
                passed: other,
                ..
            }
            | Self::Done(one, other) => {
                cap(one);
                cap(other);
            }
        }
        match self {
            // Nothing is left to compare with.
            Self::Second { at, first, .. } if at == first => Self::Done(at, at),
            Self::Climb { at, passed, .. } if at == passed => Self::Done(at, at),
            capped => capped,
        }
    }

    /// Up from two loads that passed, unless the highest one is near.
    fn climb(low: usize, high: usize, overloaded: f64, guess: &Guess<'_>) -> Self {
        let far = guess.grid.load(guess.top).0 >= FAR * guess.grid.load(high).0;
        if far {
            Self::Climb {
                at: high.midpoint(guess.top),
                passed: high,
                overloaded,
            }
        } else {
            Self::Done(low, high)
        }
    }

    /// The phase after a trial at the load that was due.
    pub fn after(self, trial: &Kept, guess: &Guess<'_>) -> Self {
        let good = trial.loss_ratio <= guess.rule.loss_ratio;
        let here = place(
            guess.grid,
            trial.forwarding,
            guess.rule.loss_ratio,
            guess.width,
        );
        match self {
            Self::Max { after } => {
                if good {
                    return Self::Done(guess.top, guess.top);
                }
                let first = here.min(guess.top.saturating_sub(guess.width));
                match after {
                    Some((low, high)) if first <= high => {
                        Self::climb(low, high, trial.forwarding, guess)
                    }
                    _ => Self::First {
                        at: first,
                        hint: false,
                    },
                }
            }
            Self::First { at, hint } => {
                let second = if good {
                    (at + guess.width).min(guess.top)
                } else {
                    here.min(at.saturating_sub(guess.width))
                };
                if second == at {
                    return Self::Done(at, at);
                }
                Self::Second {
                    at: second,
                    first: at,
                    passed: good,
                    hint,
                }
            }
            Self::Second {
                at,
                first,
                passed: true,
                hint,
            } => {
                if !(good && hint && at < guess.top) {
                    return Self::Done(first, at);
                }
                let after = Some((first, at));
                match guess.overload_rate {
                    Some(rate) => Self::climb(first, at, rate, guess),
                    None => Self::Max { after },
                }
            }
            Self::Second {
                at,
                first,
                passed: false,
                ..
            } => {
                let near = (at + guess.width).min(first);
                if good && near < first {
                    // The first was far off: its bound is worth nothing, one nearby is.
                    Self::Second {
                        at: near,
                        first: at,
                        passed: true,
                        hint: false,
                    }
                } else {
                    Self::Done(at, near)
                }
            }
            Self::Climb {
                at,
                passed,
                overloaded,
            } if good => Self::climb(passed, at, overloaded, guess),
            Self::Climb {
                at,
                passed,
                overloaded,
            } => {
                let load = |at| guess.grid.load(at).0;
                let far = Some((load(guess.top), overloaded));
                let capacity = capacity::estimate((load(at), trial.forwarding), far);
                let first = place(guess.grid, capacity, guess.rule.loss_ratio, guess.width);
                match first.min(at.saturating_sub(guess.width)) {
                    first if first > passed => Self::First {
                        at: first,
                        hint: false,
                    },
                    _ => Self::Done(passed, at),
                }
            }
            done @ Self::Done(..) => done,
        }
    }
}
