//! Verdicts that a user does not accept, and the results of a run that have them.

use std::collections::BTreeSet;

use nicety_model::sock::Ending;
use nicety_model::{Run, Verdict};

/// Verdicts that a user does not accept. [`Verdict::Failed`] is never accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Demand {
    /// Named verdicts.
    pub fail_on: BTreeSet<Verdict>,
    /// Every cell has a result, and a number of its own ([`Verdict::is_own`]).
    pub strict: bool,
}

/// Unmet demands of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shortfall {
    /// Results of the run, refused or not.
    pub results: usize,
    /// Verdicts that are refused and how often they occur, in the model's order.
    pub refused: Vec<(Verdict, usize)>,
    /// Cells without a result: skipped, or left out. Counted when the demand is strict.
    pub missing: usize,
    /// Socket tests whose flows broke down.
    pub broken: usize,
}

impl Demand {
    /// Whether a result with this verdict is refused.
    pub fn refuses(&self, verdict: Verdict) -> bool {
        verdict == Verdict::Failed
            || self.fail_on.contains(&verdict)
            || (self.strict && !verdict.is_own())
    }

    /// Unmet demands of the run; `None` when all are met.
    pub fn shortfall(&self, run: &Run) -> Option<Shortfall> {
        let count = |of: Verdict| {
            let verdicts = run.cells.iter().map(|cell| cell.verdict);
            verdicts.filter(|verdict| *verdict == of).count()
        };
        let refused = Verdict::ALL.into_iter().filter(|of| self.refuses(*of));
        let refused = refused.map(|of| (of, count(of)));
        let tests = run.sockets.iter().flat_map(|series| &series.results);
        let lacks = Shortfall {
            results: run.cells.len(),
            refused: refused.filter(|(_, count)| *count > 0).collect(),
            missing: if self.strict {
                run.skipped.len() + run.left_out.len()
            } else {
                0
            },
            broken: tests.filter(|test| test.ending == Ending::Faulty).count(),
        };
        let any = !lacks.refused.is_empty() || lacks.missing > 0 || lacks.broken > 0;
        any.then_some(lacks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a demand finds among one result of each verdict and a cell that was left out.
    fn found(fail_on: &[Verdict], strict: bool) -> Option<Shortfall> {
        let run = serde_json::json!({
            "schema": 1, "tester_limit_fps": {}, "visits": [], "trials": [],
            "run": {
                "name": "x", "started": "", "elapsed_s": 1.0, "seed": 1, "preset": "quick",
                "loss_goal": 0.0, "command": "", "complete": false,
                "host": serde_json::to_value(nicety_model::Fingerprint::default()).unwrap(),
            },
            "cells": Verdict::ALL.map(|verdict| serde_json::json!({
                "cell": verdict.word(), "throughput_fps": null, "verdict": verdict.word(),
            })),
            "left_out": ["bridge/64/uni"],
        });
        let run: Run = serde_json::from_value(run).unwrap();
        let fail_on = fail_on.iter().copied().collect();
        Demand { fail_on, strict }.shortfall(&run)
    }

    #[test]
    fn a_failed_result_is_never_accepted_and_others_only_when_nobody_refuses_them() {
        use Verdict::{Bound, Coupled, Failed, Faulty, Late, Noisy, TesterLimited, Unstable};
        let verdicts = |found: Option<Shortfall>| {
            let found = found.unwrap();
            assert_eq!(found.results, Verdict::ALL.len());
            assert!(found.refused.iter().all(|(_, count)| *count == 1));
            let refused = found.refused.iter().map(|(verdict, _)| *verdict);
            (refused.collect::<Vec<_>>(), found.missing)
        };
        assert_eq!(verdicts(found(&[], false)), (vec![Failed], 0));
        assert_eq!(verdicts(found(&[Noisy], false)), (vec![Noisy, Failed], 0));
        let all = vec![
            TesterLimited,
            Bound,
            Late,
            Unstable,
            Faulty,
            Coupled,
            Noisy,
            Failed,
        ];
        assert_eq!(verdicts(found(&[], true)), (all, 1));
    }
}
