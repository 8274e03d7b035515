//! Trials that do not count.

use nicety_model::{Fps, TrialRecord, Validity};

use super::{Cell, Stage, Step};

impl Cell {
    /// An invalid trial is never loss. It is run again once; then the search is told what the
    /// tester can do, or the trial is given up.
    pub(super) fn invalid(&mut self, record: &TrialRecord, step: &Step) {
        if let Validity::LoadMissed { .. } = record.validity
            && self.meets(record)
        {
            let offered = record.pacing.offered_fps;
            let most = self.held_up.map_or(offered, |held| held.0.max(offered));
            self.held_up = Some(Fps(most));
        }
        let why = why(&record.validity);
        let warm_up_missed =
            self.stage == Stage::WarmUp && !matches!(record.validity, Validity::Broken { .. });
        if !self.retry && !warm_up_missed {
            self.retry = true;
            return;
        }
        // The warm-up's load is that of the search's first trial, which is its second try.
        self.retry = warm_up_missed;
        if let Validity::Broken { .. } = record.validity {
            self.fail(format!("a trial at {} broke twice: {why}", step.load));
            return;
        }
        match self.stage {
            Stage::WarmUp => self.warmed_up(None),
            Stage::Search => {
                let below = step.load.0 * (1.0 - self.plan.settings.width);
                let managed = match record.validity {
                    Validity::TesterDropped { .. } => record.forwarding_fps,
                    _ => record.pacing.offered_fps,
                };
                self.search.cap(Fps(managed.min(below)));
                self.notes
                    .push(format!("loads of {} and above left out: {why}", step.load));
                self.after_search();
            }
            Stage::EarlyConfirm(load) => {
                // Without it the search settles the load itself.
                self.tried.push(load.0);
                self.stage = Stage::Search;
            }
            Stage::Confirm(_) => {
                self.late = Some(why);
                self.stage = Stage::Latency(0);
            }
            Stage::SecondConfirm(_) => {
                self.notes
                    .push(format!("no valid confirm trial at {}: {why}", step.load));
                self.stage = Stage::Latency(0);
            }
            Stage::Latency(number) => {
                self.notes
                    .push(format!("no latency at {}: {why}", step.load));
                self.stage = Stage::Latency(number + 1);
            }
            Stage::Ended => {}
        }
    }
}

fn why(validity: &Validity) -> String {
    match validity {
        Validity::Valid => "valid".to_owned(),
        Validity::LoadMissed { why } => format!("the load was missed: {why}"),
        Validity::TesterDropped { frames } => {
            format!("the tester itself dropped {frames} frames")
        }
        Validity::Broken { why } => why.clone(),
    }
}
