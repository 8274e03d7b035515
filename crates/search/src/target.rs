//! Targets: a goal approached from coarse to fine.

use std::time::Duration;

use crate::classify::Rule;
use crate::goal::Goal;
use crate::grid::Grid;

/// One step on the way to a goal, or the goal itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// How loads are classified.
    pub rule: Rule,
    /// Width in grid steps at which the target is met.
    pub width: usize,
    /// Length of its trials.
    pub trial: Duration,
    /// Growth of steps outside the bounds.
    pub expansion: usize,
}

/// The goal's targets, coarsest first, the goal itself last. The k-th target before the last
/// has `2^k` times the width and `D * (d0 / D)^(k / p)` of the duration sum.
pub fn targets(goal: &Goal, grid: &Grid) -> Vec<Target> {
    let sum = goal.duration_sum.as_secs_f64();
    let initial = goal.initial_trial.as_secs_f64();
    let last = goal.preceding_targets;
    (0..=last)
        .rev()
        .map(|k| {
            let duration_sum_s = match k {
                0 => sum,
                k if k == last => initial,
                k => sum * (initial / sum).powf(f64::from(k) / f64::from(last)),
            };
            let full_length_s = duration_sum_s.min(goal.final_trial.as_secs_f64());
            Target {
                rule: Rule {
                    loss_ratio: goal.loss_ratio,
                    exceed_ratio: goal.exceed_ratio,
                    full_length_s,
                    duration_sum_s,
                },
                width: grid.width(goal.width) << k.min(16),
                trial: Duration::from_secs_f64(full_length_s),
                expansion: goal.expansion,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Settings;
    use nicety_model::Fps;
    use nicety_model::plan::Preset;

    #[test]
    fn csit_goal_is_approached_in_one_four_and_a_half_and_twenty_one_seconds() {
        let goal = Goal {
            preceding_targets: 2,
            ..Settings::of(Preset::Csit, 0.0).goal()
        };
        let grid = Grid::new(Fps(9_001.0), Fps(14_880_952.0), &[goal.width]);
        let all = targets(&goal, &grid);
        let sums: Vec<f64> = all.iter().map(|t| t.rule.duration_sum_s).collect();
        assert_eq!(sums.len(), 3);
        assert!((sums[0] - 1.0).abs() < 1e-9 && (sums[1] - 4.583).abs() < 1e-3);
        assert_eq!(sums[2], 21.0);
        let width = grid.width(0.005);
        assert_eq!(
            all.iter().map(|t| t.width).collect::<Vec<_>>(),
            [4 * width, 2 * width, width]
        );
        assert!(all.iter().all(|t| t.trial == Duration::from_secs(1)));
    }

    #[test]
    fn long_final_trials_are_approached_with_short_ones() {
        let goal = Settings::of(Preset::Rfc2544, 0.0).goal();
        let grid = Grid::new(Fps(9_001.0), Fps(14_880_952.0), &[goal.width]);
        let trials: Vec<f64> = targets(&goal, &grid)
            .iter()
            .map(|t| t.trial.as_secs_f64())
            .collect();
        assert!((trials[0] - 1.0).abs() < 1e-9 && (trials[1] - 7.746).abs() < 1e-3);
        assert_eq!(trials[2], 60.0);
    }
}
