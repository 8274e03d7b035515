//! Conditional throughput (RFC 9971, appendix "Conditional Throughput Code").

use crate::classify::Rule;

/// Loss ratio that conditional throughput subtracts at a load: the quantile of the full-length
/// trials' loss at one minus the exceed ratio, weighted by duration; time missing from the
/// duration sum counts as lost entirely.
///
/// `trials` are the load's trials as `(duration in s, loss ratio)`, in any order.
pub fn conditional_loss(rule: &Rule, trials: &[(f64, f64)]) -> f64 {
    let mut long: Vec<(f64, f64)> = trials
        .iter()
        .copied()
        .filter(|(duration, _)| *duration + 1e-9 >= rule.full_length_s)
        .collect();
    long.sort_by(|a, b| a.1.total_cmp(&b.1));
    let sum: f64 = long.iter().map(|(duration, _)| duration).sum();
    // The RFC's prose leaves the duration sum out here; its code has it.
    let mut remaining = sum.max(rule.duration_sum_s) * (1.0 - rule.exceed_ratio);
    let mut loss = 1.0;
    for (duration, ratio) in long {
        if remaining <= 1e-9 {
            break;
        }
        loss = ratio;
        remaining -= duration;
    }
    if remaining > 1e-9 { 1.0 } else { loss }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(full_length_s: f64, duration_sum_s: f64, exceed_ratio: f64) -> Rule {
        Rule {
            loss_ratio: 0.005,
            exceed_ratio,
            full_length_s,
            duration_sum_s,
        }
    }

    /// The RFC's appendix "Conditional Throughput Computations", goals 2 to 4.
    #[test]
    fn the_rfcs_example() {
        let mut trials = vec![(1.0, 0.0); 60];
        trials.extend(vec![(1.0, 0.01); 60]);
        trials.extend([(60.0, 0.001), (60.0, 0.0)]);
        assert_eq!(conditional_loss(&rule(60.0, 120.0, 0.5), &trials), 0.0);
        assert_eq!(conditional_loss(&rule(1.0, 120.0, 0.5), &trials), 0.0);
        assert_eq!(conditional_loss(&rule(60.0, 60.0, 0.2), &trials), 0.001);
    }

    #[test]
    fn missing_time_counts_as_lost() {
        assert_eq!(conditional_loss(&rule(1.0, 11.0, 0.5), &[]), 1.0);
        assert_eq!(
            conditional_loss(&rule(1.0, 11.0, 0.5), &[(1.0, 0.0); 5]),
            1.0
        );
        assert_eq!(
            conditional_loss(&rule(1.0, 11.0, 0.5), &[(1.0, 0.0); 6]),
            0.0
        );
        assert_eq!(
            conditional_loss(&rule(10.0, 11.0, 0.5), &[(1.0, 0.0); 20]),
            1.0
        );
    }

    #[test]
    fn the_quantile_is_the_worst_of_the_good_half() {
        let trials = [
            (1.0, 0.004),
            (1.0, 0.001),
            (1.0, 0.5),
            (1.0, 0.002),
            (1.0, 0.7),
        ];
        assert_eq!(conditional_loss(&rule(1.0, 5.0, 0.5), &trials), 0.004);
    }
}
