//! How long an answer is waited for.

use std::time::Duration;

/// When ports are looked at for the first time.
pub const START: Duration = Duration::from_secs(5);
/// When one port is put back.
pub const RESTORE: Duration = Duration::from_secs(5);
/// After that long a group is stuck; one that is slow or late before.
pub const STUCK: Duration = Duration::from_secs(1);
/// In a period at least, so that a machine that is busy elsewhere is not taken for one that hangs, and at most.
const LEAST: Duration = Duration::from_millis(100);
const MOST: Duration = Duration::from_secs(5);

/// How long the loop waits in a period for one answer: half of the period, and never longer than all of it.
pub fn patience(period: Duration) -> Duration {
    (period / 2).clamp(LEAST, MOST).min(period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_waited_for_half_a_period() {
        let ms = Duration::from_millis;
        for (period, wait) in [
            (50, 50),
            (100, 100),
            (150, 100),
            (500, 250),
            (1000, 500),
            (60_000, 5000),
        ] {
            assert_eq!(patience(ms(period)), ms(wait), "{period}");
        }
    }
}
