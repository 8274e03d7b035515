//! Meaning of a recorded trial for its cell, judged by windows or as a whole.

use std::time::Duration;

use nicety_model::{ConfirmResult, Fps, LossGoal, LossRatio, TrialRecord, Validity, Windows};

use super::{Cell, Stage};
use crate::edge::window;
use crate::machine::Seen;

/// Windows in which the load was offered from which on the others do not matter.
const WINDOWS: usize = 3;
/// CPUs' worth of time of other programs from which on a load is missed because of them.
const CONTENDED: f64 = 0.1;
/// CPUs' worth of time of the tester from which on it had its CPU: all of the trial but its beginning
/// and drain.
const SENDING: f64 = 0.75;
/// Share of the intended load from which on a trial counts that is judged by windows: as one at the
/// load that was offered.
const OFFERED_ENOUGH: f64 = 0.9;

impl Cell {
    /// Windows of a trial within the goal and beyond it, where windows are judged: those in which
    /// the load was offered, where there are enough of them.
    fn windows(&self, record: &TrialRecord) -> Option<(u32, u32)> {
        let windows = record.windows.as_ref().filter(|_| self.by_windows())?;
        let goal = self.plan.settings.loss_ratio;
        if self.plan.goals.len() < 2 {
            return judged(record, windows, goal);
        }
        // Slots that several goals put together to windows of their own.
        let length = window::of(record.load_fps, goal).as_secs_f64();
        judged(record, &windows.merged(length), goal)
    }

    pub(super) fn by_windows(&self) -> bool {
        self.plan.settings.judges_windows()
    }

    /// Lost over sent as the preset judges it: stalls are set apart for whole trials only.
    fn loss(&self, record: &TrialRecord) -> LossRatio {
        if self.by_windows() {
            record.frames.loss_ratio()
        } else {
            record.loss_ratio
        }
    }

    /// Whether a trial met the goal.
    pub(super) fn meets(&self, record: &TrialRecord) -> bool {
        match self.windows(record) {
            Some((good, bad)) => good > bad,
            None => self.loss(record).0 <= self.plan.settings.loss_ratio,
        }
    }

    /// Whether a trial that is about to be observed meets the goal; `None` where it does not count.
    pub fn judged(&self, record: &TrialRecord) -> Option<bool> {
        self.counts(record).then(|| self.meets(record))
    }

    /// Frames per second and direction that a trial forwarded: of the typical window, where there
    /// are any.
    pub(super) fn forwarded(&self, record: &TrialRecord) -> Fps {
        let windows = record.windows.as_ref();
        windows
            .and_then(|windows| windows.forwarding(directions(record)))
            .unwrap_or(Fps(record.forwarding_fps))
    }

    /// Whether a trial counts as it is. Where whole trials are judged, only a valid one counts.
    /// Windows judge the frames that were sent while the path had its CPUs. A trial that missed its load is evidence if
    /// it lost too much.
    pub(super) fn counts(&self, record: &TrialRecord) -> bool {
        if record.validity.is_valid() {
            return true;
        }
        let raw = record.frames.loss_ratio().0;
        match record.validity {
            // Whatever was set apart: nothing was lost that the goal does not allow.
            Validity::Stalled { .. } if raw <= self.plan.settings.loss_ratio => true,
            Validity::Stalled { .. } => self.by_windows() && !self.is_all_apart(record),
            Validity::LoadMissed { .. } => {
                self.by_windows() && self.is_sought() && self.tells(record)
            }
            _ => false,
        }
    }

    fn is_sought(&self) -> bool {
        matches!(
            self.stage,
            Stage::Search | Stage::Confirm(_) | Stage::Further(..)
        )
    }

    /// Whether a trial that missed its load tells of the path by its windows. Most of it may have
    /// been offered; else, what was lost of less than the load is too much for the path, and what
    /// was not lost is carried. Only where others had the CPUs loss is theirs.
    fn tells(&self, record: &TrialRecord) -> bool {
        let windows = record.windows.as_ref();
        if self.is_all_apart(record) {
            return record.frames.loss_ratio().0 <= self.plan.settings.loss_ratio;
        }
        if windows.is_some_and(|windows| enough_offered(record, windows)) {
            return true;
        }
        let nearly = record.pacing.offered_fps >= OFFERED_ENOUGH * record.load_fps;
        nearly || self.meets(record) == contended(record)
    }

    /// Whether a trial says nothing because CPUs of the path were taken away all the time.
    pub(super) fn is_all_apart(&self, record: &TrialRecord) -> bool {
        Self::is_disturbed(record) && self.windows(record).is_none()
    }

    /// Whether a trial that lost nothing offered less than its load because others had the CPUs: the load itself was
    /// not tried.
    pub(super) fn was_held_up(&self, record: &TrialRecord) -> bool {
        let missed = matches!(record.validity, Validity::LoadMissed { .. });
        let offered = |windows: &Windows| enough_offered(record, windows);
        let offered = record.windows.as_ref().is_some_and(offered);
        self.by_windows() && missed && !offered && (contended(record) || Self::is_disturbed(record))
    }

    /// Whether CPUs of the path were taken away all the time.
    fn is_disturbed(record: &TrialRecord) -> bool {
        record
            .windows
            .as_ref()
            .is_some_and(|windows| windows.disturbed)
    }

    /// Observations of a trial for the search, one per goal.
    pub(super) fn seen(&self, record: &TrialRecord) -> Vec<Seen> {
        let mut seen = self.seen_by_first(record);
        let goals = &self.plan.goals;
        if goals.len() < 2 {
            return vec![seen];
        }
        let of = |(number, goal): (usize, &LossGoal)| {
            let windows = record.windows.as_ref().filter(|_| self.by_windows());
            let length = self.search.window_of(number);
            let merged = windows.zip(length);
            let merged = merged.map(|(windows, length)| windows.merged(length.as_secs_f64()));
            let by_goal = |windows: &Windows| judged(record, windows, goal.loss_ratio);
            seen.windows = merged.as_ref().and_then(by_goal);
            seen.single = merged.as_ref().map(single);
            seen
        };
        goals.iter().enumerate().map(of).collect()
    }

    fn seen_by_first(&self, record: &TrialRecord) -> Seen {
        let seconds = |s: f64| Duration::try_from_secs_f64(s).unwrap_or_default();
        let windows = record.windows.as_ref();
        let offered = windows.is_some_and(|windows| enough_offered(record, windows));
        let missed = matches!(record.validity, Validity::LoadMissed { .. });
        let missed = missed && self.by_windows() && !offered;
        let load = if missed {
            record.load_fps.min(record.pacing.offered_fps)
        } else {
            record.load_fps
        };
        Seen {
            load: Fps(load),
            carried: Fps(carried(record, load)),
            duration: seconds(record.duration_s),
            wall: seconds(record.wall_s),
            loss_ratio: self.loss(record),
            windows: self.windows(record),
            single: windows.map(single),
            clean: windows.map_or(1.0, Windows::clean),
            forwarding: Fps(record.forwarding_fps),
        }
    }

    /// A confirm trial as the result shows it.
    pub(super) fn confirmed(&self, record: &TrialRecord) -> ConfirmResult {
        let share = |(good, bad): (u32, u32)| f64::from(bad) / f64::from(good + bad);
        ConfirmResult {
            load_fps: record.load_fps,
            duration_s: record.duration_s,
            loss_ratio: self.loss(record),
            met: self.meets(record),
            lost: Some(record.frames.lost),
            lost_in_stalls: record.stalls.map(|stalls| stalls.lost),
            bad_windows: self.windows(record).map(share),
        }
    }

    /// Adds up for how long CPUs stood still.
    pub(super) fn note_stalls(&mut self, record: &TrialRecord) {
        if let Some(stalls) = record.stalls {
            self.stalled_s = Some(self.stalled_s.unwrap_or(0.0) + stalls.stalled_s);
        }
    }
}

/// Frames per second and direction that a trial at `load` shows to be carried: what was offered in the windows that it
/// is judged by.
fn carried(record: &TrialRecord, load: f64) -> f64 {
    let offered = record.windows.as_ref().map(|windows| {
        offered(windows, least_judged(record, windows)) / f64::from(directions(record))
    });
    offered.map_or(load, |offered| load.min(offered))
}

/// Frames per second of all directions in the windows with `least` frames or more.
fn offered(windows: &Windows, least: f64) -> f64 {
    let sent = windows.sent.iter().map(|sent| *sent as f64);
    let sent: Vec<f64> = sent.filter(|sent| *sent >= least).collect();
    sent.iter().sum::<f64>() / (sent.len().max(1) as f64 * windows.length_s)
}

/// Windows within a goal and beyond it. Of disturbed ones most must be within it, and the others do not count.
fn judged(record: &TrialRecord, windows: &Windows, goal: f64) -> Option<(u32, u32)> {
    let (good, bad) = windows.judged_from(least_judged(record, windows), goal);
    if windows.disturbed {
        (good > bad).then_some((good, 0))
    } else {
        (good + bad > 0).then_some((good, bad))
    }
}

/// Windows that lost exactly one frame.
fn single(windows: &Windows) -> u32 {
    windows.iter().filter(|window| window.lost == 1).count() as u32
}

/// Frames of a window from which on it is judged: where the load was offered in enough windows, the others are left out.
fn least_judged(record: &TrialRecord, windows: &Windows) -> f64 {
    if enough_offered(record, windows) {
        least(record, windows)
    } else {
        0.0
    }
}

/// Frames of a window in which the load was offered.
fn least(record: &TrialRecord, windows: &Windows) -> f64 {
    record.load_fps * windows.length_s * f64::from(directions(record)) * OFFERED_ENOUGH
}

pub(super) fn directions(record: &TrialRecord) -> u32 {
    record.streams.len().max(1) as u32
}

/// Whether the load was offered in enough windows to judge by them alone.
fn enough_offered(record: &TrialRecord, windows: &Windows) -> bool {
    let least = least(record, windows);
    let offered = windows.iter().filter(|window| window.sent as f64 >= least);
    offered.count() >= WINDOWS.min(windows.sent.len().max(1))
}

/// Whether other programs had so much of the CPUs that a sender missed its load for them: a sender
/// polls, so that it has a CPU for itself unless others take it.
pub(super) fn contended(record: &TrialRecord) -> bool {
    let Some(cpu) = &record.cpu else {
        return false;
    };
    let cpus = |who: &str| cpu.who.get(who).copied().unwrap_or(0.0);
    cpus("other") > CONTENDED && cpus("tester") < SENDING
}
