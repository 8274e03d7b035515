//! What a record of a trial means to a cell, judged by windows or as a whole.

use std::time::Duration;

use nicety_model::{ConfirmResult, Fps, LossRatio, TrialRecord, Validity};

use super::{Cell, Stage};
use crate::machine::Seen;

/// Share of the intended load from which on a trial counts that is judged by windows: as one at the
/// load that was offered.
const OFFERED_ENOUGH: f64 = 0.9;

impl Cell {
    /// Windows of a trial within the goal and beyond it, where windows are judged.
    fn windows(&self, record: &TrialRecord) -> Option<(u32, u32)> {
        let windows = record.windows.as_ref().filter(|_| self.by_windows())?;
        let judged = windows.judged(self.plan.settings.loss_ratio);
        (judged != (0, 0)).then_some(judged)
    }

    pub(super) fn by_windows(&self) -> bool {
        self.plan.settings.judges_windows()
    }

    /// Lost over sent as the preset judges it: stalls are set apart for whole trials only.
    fn loss(&self, record: &TrialRecord) -> LossRatio {
        match self.by_windows() {
            true => record.frames.loss_ratio(),
            false => record.loss_ratio,
        }
    }

    /// Whether a trial met the goal.
    pub(super) fn meets(&self, record: &TrialRecord) -> bool {
        match self.windows(record) {
            Some((good, bad)) => good > bad,
            None => self.loss(record).0 <= self.plan.settings.loss_ratio,
        }
    }

    /// Frames per second and direction that a trial forwarded: of the typical window, where there
    /// are any.
    pub(super) fn forwarded(&self, record: &TrialRecord) -> Fps {
        let directions = record.streams.len().max(1) as u32;
        let windows = record.windows.as_ref();
        windows
            .and_then(|windows| windows.forwarding(directions))
            .unwrap_or(Fps(record.forwarding_fps))
    }

    /// Whether a trial counts as it is. Where whole trials are judged, only a valid one. Windows
    /// judge what was sent: stalls are theirs, and a load that was nearly reached counts as what it
    /// was. A trial that missed its load tells something all the same where it lost too much.
    pub(super) fn counts(&self, record: &TrialRecord) -> bool {
        if record.validity.is_valid() {
            return true;
        }
        let raw = record.frames.loss_ratio().0;
        match record.validity {
            // Whatever was set apart: nothing was lost that the goal does not allow.
            Validity::Stalled { .. } if raw <= self.plan.settings.loss_ratio => true,
            Validity::Stalled { .. } => self.by_windows(),
            Validity::LoadMissed { .. } => {
                let sought = matches!(
                    self.stage,
                    Stage::Search | Stage::Confirm(_) | Stage::Further(..)
                );
                let offered = record.pacing.offered_fps;
                let enough = offered >= OFFERED_ENOUGH * record.load_fps;
                self.by_windows() && sought && (enough || !self.meets(record))
            }
            _ => false,
        }
    }

    /// What the search is told of a trial.
    pub(super) fn seen(&self, record: &TrialRecord) -> Seen {
        let seconds = |s: f64| Duration::try_from_secs_f64(s).unwrap_or_default();
        let missed = matches!(record.validity, Validity::LoadMissed { .. }) && self.by_windows();
        let load = match missed {
            true => record.load_fps.min(record.pacing.offered_fps),
            false => record.load_fps,
        };
        Seen {
            load: Fps(load),
            duration: seconds(record.duration_s),
            wall: seconds(record.wall_s),
            loss_ratio: self.loss(record),
            windows: self.windows(record),
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
