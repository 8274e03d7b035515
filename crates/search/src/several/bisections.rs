//! Bisections for several goals. Each makes the trials that it would make alone; a trial that two of
//! them ask for is made once.

use std::time::Duration;

use nicety_model::Fps;

use crate::binary::Binary;
use crate::goal::Goal;
use crate::machine::{Left, Outcome, Search, Seen, TrialRequest};

/// One bisection for each goal, strictest first.
#[derive(Debug, Clone)]
pub struct Bisections {
    all: Vec<Binary>,
    /// Every trial so far.
    seen: Vec<Seen>,
    wall: Duration,
}

impl Bisections {
    /// Bisections between `min` and `max` for each of `goals`, strictest first.
    pub fn new(goals: &[Goal], min: Fps, max: Fps, timeout: Duration) -> Self {
        let one = |goal: &Goal| Binary::new(goal, min, max, timeout);
        Self {
            all: goals.iter().map(one).collect(),
            seen: Vec::new(),
            wall: Duration::ZERO,
        }
    }

    fn asking(&self) -> Option<usize> {
        self.all.iter().rposition(|one| one.next_trial().is_some())
    }

    /// Gives every bisection the trials it asks for that were made already.
    fn share(&mut self) {
        for one in &mut self.all {
            while let Some(request) = one.next_trial()
                && let Some(seen) = self.seen.iter().find(|seen| seen.load == request.load)
            {
                // Its time was spent by another.
                let wall = Duration::ZERO;
                one.observe(&Seen { wall, ..*seen });
            }
        }
    }
}

impl Search for Bisections {
    fn next_trial(&self) -> Option<TrialRequest> {
        self.all.get(self.asking()?)?.next_trial()
    }

    fn observe(&mut self, seen: &Seen) {
        let Some(asking) = self.asking() else { return };
        self.wall += seen.wall;
        self.all[asking].observe(seen);
        self.seen.push(*seen);
        self.share();
    }

    fn cap(&mut self, max: Fps) {
        self.all.iter_mut().for_each(|one| one.cap(max));
        self.share();
    }

    fn expect(&mut self, _load: Fps) {}

    fn outcome(&self) -> Outcome {
        self.outcome_of(0)
    }

    fn goals(&self) -> usize {
        self.all.len()
    }

    fn outcome_of(&self, goal: usize) -> Outcome {
        let one = self.all.get(goal.min(self.all.len().saturating_sub(1)));
        let outcome = one.map_or_else(Outcome::default, Search::outcome);
        Outcome {
            trials: u32::try_from(self.seen.len()).unwrap_or(u32::MAX),
            wall_s: self.wall.as_secs_f64(),
            ..outcome
        }
    }

    fn left(&self) -> Left {
        let left = self.all.iter().map(Search::left);
        left.fold(Left::default(), |sum, one| Left {
            trials: sum.trials + one.trials,
            seconds: sum.seconds + one.seconds,
        })
    }
}
