//! Pauses between attempts.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
/// Longest pause, for whatever lease.
const MOST: Duration = Duration::from_secs(5);
/// Longest pauses in a lease: whoever set a short one wants to be back soon.
const IN_A_LEASE: u32 = 10;

/// Twice as long after each failure, at random between half and all of it: hosts that lost etcd at the same
/// moment do not come back at the same moment.
#[derive(Debug)]
pub(crate) struct Backoff {
    now: Duration,
    most: Duration,
}

impl Backoff {
    /// For a lease that lives `ttl`.
    pub(crate) fn new(ttl: Duration) -> Self {
        let most = (ttl / IN_A_LEASE).clamp(FIRST, MOST);
        Self { now: FIRST, most }
    }

    pub(crate) fn next(&mut self) -> Duration {
        let now = self.now;
        self.now = (2 * now).min(self.most);
        now.mul_f64(0.5 + 0.5 * fastrand::f64())
    }

    pub(crate) fn reset(&mut self) {
        self.now = FIRST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_their_limit() {
        for (lease, most) in [(10, 1), (60, 5)] {
            let mut backoff = Backoff::new(Duration::from_secs(lease));
            let most = Duration::from_secs(most);
            let pauses: Vec<Duration> = (0..12).map(|_| backoff.next()).collect();
            assert!(pauses[0] >= FIRST / 2 && pauses[0] <= FIRST);
            assert!(pauses[11] >= most / 2 && pauses[11] <= most);
            backoff.reset();
            assert!(backoff.next() <= FIRST);
        }
    }
}
