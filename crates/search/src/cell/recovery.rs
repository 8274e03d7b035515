//! System recovery and reset, after the bursts and at the very end.

use std::time::Duration;

use nicety_model::note::TrialNote;
use nicety_model::recovery::Then;
use nicety_model::{Fps, Recovery, ResetTime, TrialRecord, Validity};

use super::Cell;
use super::invalid::why;

impl Cell {
    /// Leaves the trials of recovery out.
    pub fn without_recovery(&mut self) {
        self.recoveries = crate::recovery::RecoveryTrials::new(Duration::ZERO);
    }

    /// Leaves the resets out.
    pub fn without_reset(&mut self) {
        self.resets = crate::reset::ResetTrials::new(0);
    }

    /// Time that a path has to come back from a reset.
    pub fn reset_within(&mut self, limit: Duration) {
        self.plan.reset_limit = limit;
    }

    /// Load of an overload, its length, and what it becomes.
    pub(super) fn overloading(&self, throughput: Fps) -> (Fps, Duration, Then) {
        self.recoveries.ask(throughput, self.highest())
    }

    /// Takes a trial of recovery.
    pub(super) fn recovered(&mut self, record: &TrialRecord) {
        self.recoveries.observe(record);
        if self.recoveries.is_in_vain() {
            let why = failure(&record.validity);
            self.notes.push(TrialNote::RecoveryUnknown { why }.into());
        }
    }

    /// Takes a trial in which the path was reset.
    pub(super) fn was_reset(&mut self, record: &TrialRecord) {
        self.resets.observe(record);
        if self.resets.is_in_vain() {
            let why = failure(&record.validity);
            self.notes.push(TrialNote::ResetUnknown { why }.into());
        }
    }

    /// How long the path goes on losing frames after an overload.
    pub(super) fn recovery(&self) -> Option<Recovery> {
        let goal = self.plan.settings.loss_ratio;
        self.recoveries.outcome(self.level()?, goal)
    }

    /// How long a reset takes it down.
    pub(super) fn reset_time(&self) -> Option<ResetTime> {
        self.resets.outcome()
    }
}

/// Why a trial told nothing.
fn failure(validity: &Validity) -> String {
    match validity {
        Validity::Valid => "this engine does not say which frames arrived".to_owned(),
        other => why(other),
    }
}
