//! Probabilistic bisection for the edge of a path that is disturbed now and then.
//!
//! On a shared machine, loss in half a second says more about the machine than about the path.
//! Windows of some 50 ms, made of the time in which the path had its CPUs, tell the two apart: below the path's
//! edge few of them lose frames, above it nearly all do. A load is therefore judged by its windows (RFC 9971 with an exceed
//! ratio of one half and the window as the trial). The edge's place is a probability that every
//! trial sharpens; the next trial goes where the edge is as likely below as above (Waeber,
//! Frazier and Henderson 2013; the shape of the edge as in QUEST, Watson and Pelli 1983).
//!
//! The result is the lower end of the remaining range: a load that the path carries, not one
//! that it carries every other time. Figures, bias and limits: `docs/methodology/search.md`.

mod posterior;
pub mod window;

use std::time::Duration;

use nicety_model::note::SearchNote;
use nicety_model::{Fps, LossRatio, Note};

use crate::machine::{Left, Outcome, Search, Seen, TrialRequest, out_of_time};
use posterior::Posterior;

/// Where on the posterior the result lies: the edge is above it with a probability of 98 %.
const LOWER: f64 = 0.02;
/// The other end of the edge's interval.
const UPPER: f64 = 0.98;
/// Relative distance of the two from which on more trials are worth their time.
const WIDTH: f64 = 0.04;
/// Trials of a search that begins with what the path forwards under overload, or with nothing.
const TRIALS: u32 = 6;
/// Trials of a search that begins with an earlier result.
const TRIALS_AGAIN: u32 = 3;
/// Trials at most of the one and the other, looks at whole windows aside: what the posterior then
/// leaves is the result.
const TRIALS_MAX: u32 = 10;
const TRIALS_MAX_AGAIN: u32 = 8;
/// Share of the rate under overload at which the edge is expected.
const BELOW_OVERLOAD: f64 = 0.97;
/// How far an expected edge lies above the lower end that an earlier search reported.
const ABOVE_LOWER: f64 = 1.01;
/// Relative scale of the doubt in an expected edge; its tails are those of a Cauchy distribution,
/// so that a wrong one is left in a few steps.
const PRIOR_SCALE: f64 = 0.03;
/// The same after loads were lowered.
const WIDE_SCALE: f64 = 0.3;
/// The same without any expectation.
const FLAT_SCALE: f64 = 1.0;
/// Length of a trial, unless five windows take longer.
const TRIAL: Duration = Duration::from_millis(500);
/// Windows of a trial, and the share of its time that is expected to be in windows at least.
const WINDOWS: u32 = 5;
const CLEAN: f64 = 0.25;
/// Good trials at the highest load that end the search there.
const AT_MAX: u32 = 2;
/// Next load where none was good so far, as a share of the lowest.
const LOWER_BY: f64 = 0.6;
/// Trials without a good one after which loads are lowered so, and the share of their windows that may
/// have been good all the same: near the edge it is more.
const LOST: (u32, f64) = (4, 0.1);
/// Loss from which on a trial without a good window was overload, and such trials in a row after
/// which the search begins anew below what they forwarded: the machine is slower than it was.
const OVERLOAD: f64 = 0.03;
const OVERLOADS: u32 = 2;
/// How often it does so: a path that loses as much at any load is not overloaded.
const ANEW: u32 = 3;
/// Share of the first load below which a search goes on only in vain.
const LOWEST: f64 = 0.02;
/// The next load after one that could not be offered, as a share of it, and how many such loads a
/// search puts up with.
const SKIPPED: f64 = 0.8;
const SKIPS: u32 = 4;
/// How far the result may lie above the highest load that was seen to be carried.
const BEYOND_CARRIED: f64 = 1.01;
/// How far the result may lie above what the path forwards under overload: beyond, a queue carried the
/// difference for half a second, and a longer trial says how much it carries for long.
const BEYOND_FORWARDED: f64 = 1.005;
const LONGER: Duration = Duration::from_millis(2500);
/// Where a path is looked at again that lost too much in whole windows: a little below what it forwarded,
/// for what its queues held in half a second they do not hold for longer; then at this share of the load,
/// for loss that depends on no load is there as well.
const BELOW_CHECK: f64 = 0.99;
const CHECKED_AGAIN: f64 = 0.3;
/// Frames that the goal allows in a window below which a window that lost several met a stall.
const SINGLE: f64 = 0.5;
/// What a trial counts for whose engine cannot tell windows apart: as many windows.
const TRIAL_WINDOWS: u32 = 3;

/// A look at as many frames as the goal asks for, where the search's windows are too short for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Check {
    good: u32,
    bad: u32,
}

/// The search.
#[derive(Debug, Clone)]
pub struct EdgeSearch {
    loss_goal: f64,
    timeout: Duration,
    min: f64,
    max: f64,
    /// Where the edge is expected, and the doubt in it.
    expected: Option<(f64, f64)>,
    /// Forwarding rate under overload, where known.
    forwards: Option<f64>,
    again: bool,
    posterior: Posterior,
    next: Option<TrialRequest>,
    trials: u32,
    /// Of these, trials that another goal's search asked for.
    overheard: u32,
    wall: Duration,
    first: f64,
    good: u32,
    bad: u32,
    bad_in_a_row: u32,
    /// Overload trials in a row, and the forwarding rate of the last.
    overloads: (u32, f64),
    /// Times that it began anew for them.
    anew: u32,
    at_max: u32,
    /// Load and state of the check under way.
    check: Option<(f64, Check)>,
    checked: bool,
    checks: u32,
    /// Loads at which whole windows lost too much.
    rejected: u32,
    lowest_loss: Option<(f64, f64)>,
    /// Highest load that was good.
    carried: f64,
    skipped: u32,
    /// Good and bad windows so far.
    windows: (u32, u32),
    /// Share of the last trial's time that was in windows.
    clean: f64,
    /// Trials before the posterior was begun anew.
    before: u32,
    failed: Option<Note>,
    timed_out: bool,
    at_min: bool,
}

impl EdgeSearch {
    /// A search between `min` and `max` for a loss ratio of at most `loss_goal`.
    pub fn new(loss_goal: f64, min: Fps, max: Fps, timeout: Duration) -> Self {
        let max = max.0.max(min.0);
        let mut search = Self {
            loss_goal,
            timeout,
            min: min.0,
            max,
            expected: None,
            forwards: None,
            again: false,
            posterior: Posterior::new(min.0, max, (max, FLAT_SCALE)),
            next: None,
            trials: 0,
            overheard: 0,
            wall: Duration::ZERO,
            first: max,
            good: 0,
            bad: 0,
            bad_in_a_row: 0,
            overloads: (0, 0.0),
            anew: 0,
            at_max: 0,
            check: None,
            checked: false,
            checks: 0,
            rejected: 0,
            lowest_loss: None,
            carried: 0.0,
            skipped: 0,
            windows: (0, 0),
            clean: 1.0,
            before: 0,
            failed: None,
            timed_out: false,
            at_min: false,
        };
        search.begin();
        search
    }

    /// Sets the first trial from the expected rate.
    fn begin(&mut self) {
        let (centre, scale) = self.expected.unwrap_or((self.max, FLAT_SCALE));
        let centre = centre.clamp(self.min, self.max);
        self.posterior = Posterior::new(self.min, self.max, (centre, scale));
        self.first = centre;
        self.next = Some(self.trial(centre));
    }

    fn trial(&self, load: f64) -> TrialRequest {
        let window = window::of(load, self.loss_goal);
        TrialRequest {
            load: Fps(load),
            duration: self.length(window),
            window: Some(window),
        }
    }

    /// Length of a trial with these windows: longer where only a share of the time is in windows.
    pub(crate) fn length(&self, window: Duration) -> Duration {
        window::trial(window, WINDOWS)
            .max(TRIAL)
            .div_f64(self.clean)
    }

    /// Whether the trial that is due is a look at whole windows.
    pub(crate) fn is_checking(&self) -> bool {
        self.check.is_some()
    }

    /// Whether trials that another search asks for tell it something: until it looks at its result.
    pub(crate) fn listens(&self) -> bool {
        self.next.is_some() && self.check.is_none()
    }

    /// Takes a trial that the search of another goal asked for, judged by this one's goal. It counts
    /// for one of its own where it was not known beforehand how it would end. It never makes the search
    /// go far down: that is for trials at loads of its own choice.
    pub(crate) fn overhear(&mut self, seen: &Seen) {
        if !self.listens() {
            return;
        }
        let (lower, _, upper) = self.bounds_fps();
        let load = seen.load.0;
        let (good, bad) = self.judged(seen);
        let met = good > bad;
        self.learn(seen, (good, bad));
        let foregone = if met { load < lower } else { load > upper };
        if foregone {
            return self.advance();
        }
        self.trials += 1;
        self.overheard += 1;
        if met {
            self.good += 1;
            self.carried = self.carried.max(seen.carried.0);
            self.at_max += u32::from(load >= self.max * (1.0 - 1e-9));
        } else {
            self.bad += 1;
            self.at_max = 0;
        }
        self.advance();
    }

    /// Good and bad windows of a trial.
    fn judged(&self, seen: &Seen) -> (u32, u32) {
        seen.windows
            .unwrap_or(if seen.loss_ratio.0 <= self.loss_goal {
                (TRIAL_WINDOWS, 0)
            } else {
                (0, TRIAL_WINDOWS)
            })
    }

    /// Windows within the goal show that what was carried is no more than the path can, those beyond it that the load
    /// is more.
    fn learn(&mut self, seen: &Seen, (good, bad): (u32, u32)) {
        self.posterior.observe(seen.carried.0, (good, 0));
        self.posterior.observe(seen.load.0, (0, bad));
    }

    fn enough(&self) -> u32 {
        if self.again { TRIALS_AGAIN } else { TRIALS }
    }

    /// Ends of what the edge is known to, and the load at which it is as likely below as above.
    fn bounds_fps(&self) -> (f64, f64, f64) {
        let [mut lower, mut middle, mut upper] = self.posterior.quantiles([LOWER, 0.5, UPPER]);
        if let (1.., Some((load, _))) = (self.rejected, self.check) {
            // What whole windows say is more than what short ones did.
            (lower, middle, upper) = (load, load, load / BELOW_CHECK);
        }
        // Where less was offered than asked for, what was carried is all that is known.
        let most = if self.good > 0 {
            self.carried * BEYOND_CARRIED
        } else {
            f64::INFINITY
        };
        (lower.min(self.max).min(most), middle, upper)
    }

    /// Decides the step after an observation.
    fn advance(&mut self) {
        self.next = None;
        if self.failed.is_some() || self.at_max >= AT_MAX && self.bad_in_a_row == 0 {
            return;
        }
        if self.wall >= self.timeout {
            self.timed_out = true;
            if self.good == 0 {
                self.failed = Some(out_of_time(self.timeout));
            }
            return;
        }
        if self.good == 0 && self.overloads.0 >= OVERLOADS && self.anew < ANEW {
            self.anew += 1;
            self.begin_at(self.overloads.1 * BELOW_OVERLOAD, PRIOR_SCALE);
            return;
        }
        if self.is_lost() {
            self.go_down();
            return;
        }
        let (lower, middle, upper) = self.bounds_fps();
        let trials = self.trials - self.before;
        // Without a bad trial only the expectation says that more is too much.
        let settled = trials >= self.enough() && self.bad > 0 && (upper - lower) <= WIDTH * upper;
        let most = trials.saturating_sub(self.overheard)
            >= if self.again {
                TRIALS_MAX_AGAIN
            } else {
                TRIALS_MAX
            };
        if (settled || most) && self.good > 0 {
            self.verify(lower);
        } else if most {
            self.go_down();
        } else {
            // A load that was seen to be carried is part of every result. Trials that go on longer than
            // they should look where the doubt is: the same load again would say the same again.
            let load = match (settled, trials < self.enough()) {
                (true, _) => lower,
                (false, true) => middle,
                (false, false) if upper / middle > middle / lower => (middle * upper).sqrt(),
                (false, false) => (lower * middle).sqrt(),
            };
            self.next = Some(self.trial(load.clamp(self.min, self.max)));
        }
    }

    /// Whether no load was anywhere near good.
    fn is_lost(&self) -> bool {
        let (good, bad) = self.windows;
        let share = f64::from(good) / f64::from((good + bad).max(1));
        self.good == 0 && self.bad_in_a_row >= LOST.0 && share <= LOST.1
    }

    /// No load was good so far: goes well down, until it is not worth while.
    fn go_down(&mut self) {
        let (load, loss) = self.lowest_loss.unwrap_or((self.first, 1.0));
        let next = load * LOWER_BY;
        if next < (self.first * LOWEST).max(self.min) {
            self.at_min = true;
            self.failed = Some(self.loses(load, loss));
            return;
        }
        self.begin_at(next, WIDE_SCALE);
    }

    /// Begins anew where the edge is expected now.
    fn begin_at(&mut self, load: f64, scale: f64) {
        let load = load.clamp(self.min, self.max);
        self.posterior = Posterior::new(self.min, self.max, (load, scale));
        (self.before, self.overheard) = (self.trials, 0);
        self.bad = 0;
        self.overloads = (0, 0.0);
        self.next = Some(self.trial(load));
    }

    fn loses(&self, load: f64, loss: f64) -> Note {
        let note = SearchNote::EveryLoadLost {
            loss_goal: LossRatio(self.loss_goal),
            loss_ratio: LossRatio(loss),
            load_fps: Fps(load),
        };
        note.into()
    }

    /// Where windows are shorter than the goal asks for, looks at whole ones at the result; where a queue
    /// may have carried a part of it, for longer.
    fn verify(&mut self, load: f64) {
        let load = match self.check {
            Some((load, _)) => load,
            None => load,
        };
        let is_short = window::is_short(load, self.loss_goal);
        let forwards = self.forwards.unwrap_or(f64::INFINITY);
        if self.checked || !is_short && load <= forwards * BEYOND_FORWARDED {
            return;
        }
        let state = self.check.map_or(Check::default(), |(_, state)| state);
        self.check = Some((load, state));
        self.next = Some(if is_short {
            let (window, count) = window::strict(load, self.loss_goal);
            TrialRequest {
                load: Fps(load),
                duration: window::trial(window, count),
                window: Some(window),
            }
        } else {
            TrialRequest {
                duration: LONGER,
                ..self.trial(load)
            }
        });
    }

    /// Whether a look at as many frames as the goal asks for met it. A stall loses many frames in one
    /// short window, loss that the path makes by itself one in each of several: every lossy window
    /// counts for one frame.
    fn full_window_is_met(&self, seen: &Seen) -> bool {
        if let Some((good, bad)) = seen
            .windows
            .filter(|_| !window::is_short(seen.load.0, self.loss_goal))
        {
            return good > bad;
        }
        let Some((good, bad)) = seen.windows else {
            return seen.loss_ratio.0 <= self.loss_goal;
        };
        // Of the windows alone: the trial's ends are in none.
        let (window, _) = window::strict(seen.load.0, self.loss_goal);
        let each = seen.load.0 * window.as_secs_f64() * self.loss_goal;
        let allowed = each * f64::from(good + bad);
        match seen.single {
            // Windows so short that loss that the path makes by itself is one frame of every few.
            Some(single) if each < SINGLE && good > bad => f64::from(single) <= allowed,
            _ => f64::from(bad) <= allowed,
        }
    }

    /// Takes such a look: two of three decide.
    fn verified(&mut self, good: bool, loss: f64, forwarding: f64) {
        let Some((load, mut state)) = self.check else {
            return;
        };
        if good {
            state.good += 1;
        } else {
            state.bad += 1;
        }
        self.checks += 1;
        self.check = Some((load, state));
        if state.good > state.bad || state.good >= 2 {
            self.checked = true;
        } else if state.bad >= 2 {
            self.lowest_loss = Some((load, loss));
            self.rejected += 1;
            let less = match self.rejected {
                1 => forwarding.min(load) * BELOW_CHECK,
                2 => load * CHECKED_AGAIN,
                _ => {
                    self.at_min = true;
                    self.failed = Some(self.loses(load, loss));
                    return;
                }
            };
            self.check = Some((less, Check::default()));
        }
    }
}

impl Search for EdgeSearch {
    fn next_trial(&self) -> Option<TrialRequest> {
        self.next
    }

    fn observe(&mut self, seen: &Seen) {
        self.wall += seen.wall;
        let (good, bad) = self.judged(seen);
        let met = good > bad;
        if self.check.is_some() {
            let met = self.full_window_is_met(seen);
            self.verified(met, seen.loss_ratio.0, seen.forwarding.0);
            self.next = None;
            if self.failed.is_none() && !self.checked {
                self.verify(seen.load.0);
            }
            return;
        }
        self.trials += 1;
        self.clean = seen.clean.clamp(CLEAN, 1.0);
        self.learn(seen, (good, bad));
        self.windows = (self.windows.0 + good, self.windows.1 + bad);
        let overload = good == 0 && seen.forwarding.0 < seen.load.0 * (1.0 - OVERLOAD);
        self.overloads = if overload {
            (self.overloads.0 + 1, seen.forwarding.0)
        } else {
            (0, 0.0)
        };
        if met {
            self.good += 1;
            self.carried = self.carried.max(seen.carried.0);
            self.bad_in_a_row = 0;
            if seen.load.0 >= self.max * (1.0 - 1e-9) {
                self.at_max += 1;
            }
        } else {
            self.bad += 1;
            self.bad_in_a_row += 1;
            let lowest = self.lowest_loss.map_or(f64::INFINITY, |(load, _)| load);
            if seen.load.0 < lowest {
                self.lowest_loss = Some((seen.load.0, seen.loss_ratio.0));
            }
        }
        self.advance();
    }

    fn cap(&mut self, max: Fps) {
        if max.0 >= self.max {
            return;
        }
        self.max = max.0.max(self.min);
        self.at_max = 0;
        if let Some(request) = self.next {
            self.next = Some(self.trial(request.load.0.min(self.max)));
        }
    }

    fn skip(&mut self) {
        self.skipped += 1;
        let lower = self.next.map(|request| request.load.0 * SKIPPED);
        self.next = lower
            .filter(|load| self.skipped < SKIPS && *load >= self.min)
            .map(|load| self.trial(load));
        if self.next.is_none() && self.good == 0 {
            self.failed = Some(SearchNote::CpusTaken.into());
        }
    }

    fn expect(&mut self, load: Fps) {
        if self.trials == 0 {
            self.again = true;
            self.expected = Some((load.0 * ABOVE_LOWER, PRIOR_SCALE));
            self.begin();
        }
    }

    fn expect_forwarding(&mut self, rate: Fps) {
        self.forwards = Some(rate.0).filter(|rate| *rate > 0.0);
        if self.trials == 0 && !self.again && rate.0 > 0.0 {
            self.expected = Some((rate.0 * BELOW_OVERLOAD, PRIOR_SCALE));
            self.begin();
        }
    }

    fn outcome(&self) -> Outcome {
        let mut outcome = Outcome {
            trials: self.trials + self.checks,
            wall_s: self.wall.as_secs_f64(),
            timed_out: self.timed_out,
            at_min: self.at_min,
            failed: self.failed.clone(),
            ..Outcome::default()
        };
        if self.trials == 0 || self.failed.is_some() {
            return outcome;
        }
        let at_max = self.at_max > 0 && self.bad_in_a_row == 0 && self.next.is_none();
        let (lower, _, upper) = self.bounds_fps();
        if at_max {
            outcome.lower = Some(Fps(self.max.min(self.carried * BEYOND_CARRIED)));
            outcome.throughput = outcome.lower;
            outcome.at_max = true;
        } else {
            if self.good > 0 {
                outcome.lower = Some(Fps(lower));
                outcome.throughput = outcome.lower;
            }
            outcome.upper = Some(Fps(upper)).filter(|upper| upper.0 < self.max * 1.1);
        }
        outcome.width_met = upper - lower <= WIDTH * upper;
        outcome
    }

    fn left(&self) -> Left {
        if self.next.is_none() {
            return Left::default();
        }
        let trials = self.enough().saturating_sub(self.trials).max(1);
        let each = self.next.map_or(TRIAL, |request| request.duration);
        Left {
            trials,
            seconds: f64::from(trials) * each.as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests;
