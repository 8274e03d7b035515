//! The highest rate at which a trial succeeds: bisection, as RFC 9693 asks for, with a second chance.

/// A search between two rates. A rate fails when it fails twice: a machine that stops for a moment loses frames at any
/// rate.
#[derive(Debug, Clone)]
pub struct RateSearch {
    min: f64,
    max: f64,
    width: f64,
    passed: Option<f64>,
    failed: Option<f64>,
    /// Failures at the rate that is being tried.
    failures: u32,
    trials: u32,
    /// Trials in a row at this rate of which the machine spoiled the result.
    spoiled_here: u32,
    spoiled: u32,
    /// The lowest rate that failed did so for the machine.
    by_machine: bool,
    next: Option<f64>,
}

/// What came of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Trial {
    /// All went well.
    Passed,
    /// Not all went well.
    Failed,
    /// The tester sent so many per second only.
    Late {
        /// Rate that was sent.
        offered: f64,
    },
    /// Not all went well, and the machine itself may be why: it says nothing.
    Spoiled,
}

/// Failures that make a rate fail.
const FAILURES: u32 = 2;
/// Spoiled trials, one after the other, that make a rate fail: the machine has no more to give.
const SPOILED_HERE: u32 = 4;
/// Spoiled trials of a search, above which none is made again.
const SPOILED: u32 = 24;

impl RateSearch {
    /// Between `min` and `max`, until the bounds are within the share `width` of the upper one. It begins at `first`.
    pub fn new(min: f64, max: f64, width: f64, first: f64) -> Self {
        let max = max.max(min);
        Self {
            min,
            max,
            width,
            passed: None,
            failed: None,
            failures: 0,
            trials: 0,
            spoiled_here: 0,
            spoiled: 0,
            by_machine: false,
            next: Some(first.clamp(min, max)),
        }
    }

    /// The next rate; `None` at the end.
    pub fn next(&self) -> Option<f64> {
        self.next
    }

    /// Takes the result of a trial at [`Self::next`]. Whether it decides something: a spoiled one is made again, unless
    /// there were too many.
    pub fn take(&mut self, trial: Trial) -> bool {
        match trial {
            Trial::Passed => self.observe(true),
            Trial::Failed => self.observe(false),
            Trial::Late { offered } => self.late(offered),
            Trial::Spoiled => return self.spoil(),
        }
        true
    }

    fn spoil(&mut self) -> bool {
        let Some(rate) = self.next else { return true };
        self.trials += 1;
        self.spoiled += 1;
        self.spoiled_here += 1;
        let again = self.spoiled_here < SPOILED_HERE && self.spoiled < SPOILED;
        if !again {
            self.fail(rate, true);
            self.plan();
        }
        !again
    }

    fn fail(&mut self, rate: f64, by_machine: bool) {
        if self.failed.is_none_or(|failed| rate <= failed) {
            (self.failed, self.by_machine) = (Some(rate), by_machine);
        }
    }

    /// Takes the result of a trial at [`Self::next`].
    pub fn observe(&mut self, success: bool) {
        let Some(rate) = self.next else { return };
        self.trials += 1;
        if success {
            self.passed = Some(self.passed.map_or(rate, |passed| passed.max(rate)));
        } else {
            self.failures += 1;
            if self.failures < FAILURES {
                return;
            }
            self.fail(rate, false);
        }
        self.plan();
    }

    /// Takes a trial at [`Self::next`] in which the tester sent `offered` only. The second time no higher rate is
    /// asked for, where that leaves any to try.
    pub fn late(&mut self, offered: f64) {
        let Some(rate) = self.next else { return };
        let below = self.passed.unwrap_or(self.min);
        let again = self.failures + 1 >= FAILURES;
        if !again || offered <= below || offered >= rate {
            self.observe(false);
            return;
        }
        self.trials += 1;
        self.max = offered;
        self.plan();
    }

    /// Highest rate that passed.
    pub fn found(&self) -> Option<f64> {
        self.passed
    }

    /// Lowest rate that failed.
    pub fn failed(&self) -> Option<f64> {
        self.failed
    }

    /// Whether the highest rate of all passed, or as much as the width allows to tell from it.
    pub fn at_max(&self) -> bool {
        self.next.is_none() && self.failed.is_none() && self.passed.is_some()
    }

    /// Whether the lowest rate that failed did so because the machine spoiled its trials: the path may do more.
    pub fn is_by_machine(&self) -> bool {
        self.failed.is_some() && self.by_machine
    }

    /// Trials so far.
    pub fn trials(&self) -> u32 {
        self.trials
    }

    /// Of these, spoiled ones.
    pub fn spoiled(&self) -> u32 {
        self.spoiled
    }

    fn plan(&mut self) {
        (self.failures, self.spoiled_here) = (0, 0);
        self.next = match (self.passed, self.failed) {
            (None, None) => Some(self.max),
            (None, Some(failed)) if failed > self.min => Some((failed / 2.0).max(self.min)),
            (None, Some(_)) => None,
            (Some(passed), None) if passed < self.max * (1.0 - self.width) => {
                Some((passed * 2.0).min(self.max))
            }
            (Some(_), None) => None,
            (Some(passed), Some(failed)) if failed - passed > failed * self.width => {
                Some((passed + failed) / 2.0)
            }
            (Some(_), Some(_)) => None,
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(mut search: RateSearch, limit: f64) -> RateSearch {
        for _ in 0..200 {
            let Some(rate) = search.next() else { break };
            search.observe(rate <= limit);
        }
        search
    }

    #[test]
    fn the_limit_lies_between_the_bounds() {
        let search = run(RateSearch::new(1e3, 1e6, 0.02, 1e5), 123_456.0);
        let (found, failed) = (search.found().unwrap(), search.failed().unwrap());
        assert!(found <= 123_456.0 && failed > 123_456.0 && failed - found <= failed * 0.02);
        assert!(!search.at_max() && search.trials() < 30);
    }

    #[test]
    fn one_failure_is_not_enough() {
        let mut search = RateSearch::new(1e3, 1e6, 0.02, 1e5);
        search.observe(false);
        assert_eq!(search.next(), Some(1e5));
        search.observe(true);
        assert_eq!((search.next(), search.failed()), (Some(2e5), None));
    }

    #[test]
    fn ends_are_told() {
        let all = run(RateSearch::new(1e3, 1e6, 0.02, 1e5), 1e9);
        assert!(all.at_max() && all.found() == Some(1e6));
        let none = run(RateSearch::new(1e3, 1e6, 0.02, 1e5), 1.0);
        assert_eq!((none.found(), none.failed()), (None, Some(1e3)));
        let mut capped = RateSearch::new(1e3, 1e6, 0.02, 1e5);
        capped.observe(true);
        for _ in 0..2 {
            assert_eq!(capped.next(), Some(2e5));
            capped.late(1.01e5);
        }
        assert!(capped.at_max() && capped.trials() == 3, "{capped:?}");
    }

    #[test]
    fn a_spoiled_trial_is_made_again_and_says_nothing() {
        let mut search = RateSearch::new(1e3, 1e6, 0.02, 1e5);
        for _ in 1..SPOILED_HERE {
            assert!(!search.take(Trial::Spoiled));
            assert_eq!((search.next(), search.failed()), (Some(1e5), None));
        }
        assert!(search.take(Trial::Passed));
        assert_eq!((search.found(), search.next()), (Some(1e5), Some(2e5)));
        assert_eq!((search.trials(), search.spoiled()), (4, 3));
        // A path's own failure counts among them.
        search.take(Trial::Failed);
        search.take(Trial::Spoiled);
        search.take(Trial::Failed);
        assert_eq!(search.failed(), Some(2e5));
        assert!(!search.is_by_machine());
    }

    #[test]
    fn a_machine_that_is_never_still_ends_the_search_and_is_named() {
        let mut none = RateSearch::new(1e3, 1e6, 0.02, 1e5);
        let mut trials = 0;
        while none.next().is_some() {
            none.take(Trial::Spoiled);
            trials += 1;
        }
        assert_eq!((none.found(), none.is_by_machine()), (None, true));
        assert!(trials == none.trials() && trials < 60, "{trials}");
        // Below 50,000 it is still.
        let mut some = RateSearch::new(1e3, 1e6, 0.02, 1e5);
        while let Some(rate) = some.next() {
            some.take(if rate <= 5e4 {
                Trial::Passed
            } else {
                Trial::Spoiled
            });
        }
        assert!(some.is_by_machine() && !some.at_max());
        assert!(some.found().is_some_and(|found| found > 4e4), "{some:?}");
    }

    #[test]
    fn a_tester_that_is_late_at_any_rate_ends_too() {
        let mut search = RateSearch::new(1e3, 1e6, 0.02, 1e5);
        for _ in 0..200 {
            let Some(rate) = search.next() else { break };
            search.late(rate * 0.9);
        }
        assert_eq!((search.next(), search.found()), (None, None));
    }

    proptest! {
        #[test]
        fn it_always_ends(limit in 1.0..2e6, first in 1.0..2e6) {
            let search = run(RateSearch::new(1e3, 1e6, 0.02, first), limit);
            prop_assert_eq!(search.next(), None);
            if let Some(found) = search.found() {
                prop_assert!(found <= limit);
                prop_assert!(limit >= 1e6 * (1.0 - 0.02) || search.failed().is_some_and(|failed| failed > limit));
            }
        }
    }
}
