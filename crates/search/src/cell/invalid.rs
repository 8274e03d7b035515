//! Trials that do not count.

use nicety_model::counted::plural;
use nicety_model::note::SearchNote;
use nicety_model::{Fps, TrialRecord, Validity};

use super::record::contended;
use super::{Cell, Stage, Step};
use crate::verdict::OTHERS_LIMIT;

/// Share of the most the tester has offered from which on a load is as much as it can.
const NEAR_BEST: f64 = 0.9;

/// Loss of what was sent from which on a path had too much, although less was sent than intended.
/// Frames that the sender had to send in haste do not make half of a trial's.
const OVERWHELMED: f64 = 0.5;

/// Share of what a trial offered without loss that the search does not go below because later ones offer less: the
/// path has carried it. A sender that is stopped for a share of its time offers less of every load, however low.
const KEPT: f64 = 0.8;

impl Cell {
    /// An invalid trial is not loss, with one exception: if most frames were lost although fewer
    /// than intended were sent, the intended load is too much.
    ///
    /// Any other trial is run again. Then the search gets the tester's limit, or the trial is given
    /// up. A load that the tester has offered before is not its limit: a disturbance stopped it. The
    /// second time it counts as the load that was sent, the search goes on below, and the result
    /// says that it may be too low. It does not go far below what a trial has offered without loss.
    pub(super) fn invalid(&mut self, record: &TrialRecord, step: &Step) {
        if let Validity::LoadMissed { .. } = record.validity {
            let offered = record.pacing.offered_fps;
            self.reached = self.reached.max(offered);
            if self.meets(record) {
                let most = self.held_up.map_or(offered, |held| held.0.max(offered));
                self.held_up = Some(Fps(most));
            }
        }
        if self.stage == Stage::Search && self.overwhelmed(record) {
            self.tries = 0;
            self.searched(record);
            return;
        }
        let why = why(&record.validity);
        self.tries += 1;
        let broken = matches!(record.validity, Validity::Broken { .. });
        if matches!(self.stage, Stage::WarmUp(_)) && !broken {
            // The warm-up's load is that of the search's first trial, which is its second try.
            // Overload tells what the path forwards even if it was less than intended.
            let overload = matches!(
                record.validity,
                Validity::LoadMissed { .. } | Validity::Stalled { .. }
            );
            self.warmed_up(overload.then_some(record));
            self.tries = u32::from(self.next().is_some_and(|next| next.load == step.load));
            return;
        }
        if self.tries < 2 {
            return;
        }
        if broken {
            let load_fps = step.load;
            self.fail(SearchNote::BrokeTwice { load_fps, why }.into());
            return;
        }
        // Close to the most it has offered, and with nothing lost, the load is the tester's own
        // or the path holds it up: a cap there is no disturbance made a result, because a search
        // that ends at its cap says "at least".
        let at_its_best = step.load.0 > NEAR_BEST * self.reached && self.meets(record);
        let stalled = matches!(record.validity, Validity::Stalled { .. });
        let disturbed = stalled || step.load.0 <= self.reached && !at_its_best;
        self.tries = 0;
        let taken = contended(record) || self.is_all_apart(record);
        if self.stage == Stage::Search && self.by_windows() && taken {
            self.given_up.push(step.load.0);
            self.search.skip();
            self.after_search();
            return;
        }
        if self.stage == Stage::Search && disturbed {
            let disturbed = SearchNote::Disturbed {
                load_fps: step.load,
                others_cpus: others(record),
                reached_fps: (step.load.0 <= self.reached).then_some(Fps(self.reached)),
                why: why.clone(),
            };
            self.disturbed.get_or_insert(disturbed.into());
            if stalled || !self.meets(record) {
                self.searched(record);
                return;
            }
            if step.load.0 <= self.kept() {
                let mut seen = self.seen(record);
                for seen in &mut seen {
                    (seen.load, seen.carried) = (step.load, step.load);
                }
                self.search.observe_goals(&seen);
                self.after_search();
                return;
            }
        }
        match self.stage() {
            Stage::WarmUp(_) => {}
            Stage::Search => {
                let below = step.load.0 * (1.0 - self.plan.settings.width);
                let managed = match record.validity {
                    Validity::TesterDropped { .. } => record.forwarding_fps,
                    _ if at_its_best || disturbed => record.pacing.offered_fps,
                    _ => self.reached,
                };
                self.search.cap(Fps(managed.min(below).max(self.kept())));
                let load_fps = step.load;
                self.notes
                    .push(SearchNote::LoadsLeftOut { load_fps, why }.into());
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
            Stage::Further(..) => {
                let load_fps = Some(step.load);
                self.notes
                    .push(SearchNote::NoValidConfirm { load_fps, why }.into());
                self.stage = Stage::Latency(0);
            }
            Stage::Latency(number) => {
                let load_fps = step.load;
                self.notes
                    .push(SearchNote::NoLatency { load_fps, why }.into());
                self.stage = Stage::Latency(number + 1);
            }
            Stage::Fate(number) => self.stage = Stage::Fate(number + 1),
            Stage::Burst | Stage::Recovery | Stage::Reset | Stage::Ended => {}
        }
    }

    /// Load that the path is known to carry, because more was offered and nothing lost.
    fn kept(&self) -> f64 {
        self.held_up.map_or(0.0, |held| KEPT * held.0)
    }

    /// Whether the path had too much in a trial that missed its load.
    fn overwhelmed(&self, record: &TrialRecord) -> bool {
        let missed = matches!(record.validity, Validity::LoadMissed { .. });
        missed && !self.meets(record) && record.loss_ratio.0 > OVERWHELMED
    }
}

/// How much CPU time other programs took from the trial, when that is worth a word.
fn others(record: &TrialRecord) -> Option<f64> {
    let cpus = record.cpu.as_ref().and_then(|cpu| cpu.who.get("other"));
    cpus.copied().filter(|cpus| *cpus > OTHERS_LIMIT)
}

pub(super) fn why(validity: &Validity) -> String {
    match validity {
        Validity::Valid => "valid".to_owned(),
        Validity::LoadMissed { why } => format!("the load was missed: {why}"),
        Validity::TesterDropped { frames } => {
            format!("the tester dropped {}", plural(*frames, "frame"))
        }
        Validity::Stalled { why } | Validity::Broken { why } => why.clone(),
    }
}
