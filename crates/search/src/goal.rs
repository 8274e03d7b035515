//! The goal of a search (RFC 9971, "Search Goal").

use std::time::Duration;

/// One search goal. All ratios are shares of one, not per cent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Highest loss ratio of a good trial, `0.0..1.0`.
    pub loss_ratio: f64,
    /// Share of the trial time at a load that may be bad while the load still counts as a
    /// lower bound, `0.0..1.0`.
    pub exceed_ratio: f64,
    /// Relative width, `(upper - lower) / upper`, at which the bounds are close enough,
    /// above 0 and below 1.
    pub width: f64,
    /// Shortest trials used on the way, above zero.
    pub initial_trial: Duration,
    /// Trials at least this long count fully.
    pub final_trial: Duration,
    /// Trial time that settles a load, with any results.
    pub duration_sum: Duration,
    /// Number of coarser targets worked off before the final one.
    pub preceding_targets: u32,
    /// Factor by which steps outside the known bounds grow, at least 2.
    pub expansion: usize,
    /// Whether a lowest load that loses too much fails the search; otherwise it ends without
    /// a throughput.
    pub fail_fast: bool,
}

/// A goal that makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("search goal: {field} is {value}, must be {must}")]
pub struct GoalError {
    /// Field of [`Goal`].
    pub field: &'static str,
    /// Its value.
    pub value: f64,
    /// Allowed values.
    pub must: &'static str,
}

impl Goal {
    /// Checks the ranges given at the fields.
    ///
    /// # Errors
    /// The first field out of its range.
    pub fn check(&self) -> Result<(), GoalError> {
        let share = "at least 0 and below 1";
        let longer = "no shorter than the trials before it";
        let rules = [
            (
                "loss_ratio",
                self.loss_ratio,
                (0.0..1.0).contains(&self.loss_ratio),
                share,
            ),
            (
                "exceed_ratio",
                self.exceed_ratio,
                (0.0..1.0).contains(&self.exceed_ratio),
                share,
            ),
            (
                "width",
                self.width,
                self.width > 0.0 && self.width < 1.0,
                "above 0 and below 1",
            ),
            (
                "initial_trial",
                self.initial_trial.as_secs_f64(),
                !self.initial_trial.is_zero(),
                "above zero",
            ),
            (
                "final_trial",
                self.final_trial.as_secs_f64(),
                self.final_trial >= self.initial_trial,
                longer,
            ),
            (
                "duration_sum",
                self.duration_sum.as_secs_f64(),
                self.duration_sum >= self.final_trial,
                longer,
            ),
            (
                "expansion",
                self.expansion as f64,
                self.expansion >= 2,
                "at least 2",
            ),
        ];
        for (field, value, holds, must) in rules {
            if !holds {
                return Err(GoalError { field, value, must });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Settings;
    use nicety_model::plan::Preset;

    #[test]
    fn every_field_is_checked() {
        let good = Settings::of(Preset::Std, 0.0001).goal();
        assert_eq!(good.check(), Ok(()));
        let second = Duration::from_secs(1);
        for (field, bad) in [
            (
                "loss_ratio",
                Goal {
                    loss_ratio: 1.0,
                    ..good
                },
            ),
            (
                "loss_ratio",
                Goal {
                    loss_ratio: f64::NAN,
                    ..good
                },
            ),
            (
                "exceed_ratio",
                Goal {
                    exceed_ratio: -0.1,
                    ..good
                },
            ),
            ("width", Goal { width: 0.0, ..good }),
            (
                "initial_trial",
                Goal {
                    initial_trial: Duration::ZERO,
                    ..good
                },
            ),
            (
                "final_trial",
                Goal {
                    initial_trial: 2 * second,
                    ..good
                },
            ),
            (
                "duration_sum",
                Goal {
                    final_trial: 12 * second,
                    ..good
                },
            ),
            (
                "expansion",
                Goal {
                    expansion: 1,
                    ..good
                },
            ),
        ] {
            assert_eq!(bad.check().unwrap_err().field, field);
        }
    }
}
