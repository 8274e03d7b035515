//! The open loop: when each request should have been sent, whatever became of those before.
//!
//! A closed loop that waits for a slow answer sends less while the path is slow and so measures
//! it less often ("coordinated omission"). Here latency counts from the intended time.

/// Intended times of requests over several flows: evenly spaced over all of them, flows taking
/// turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// Nanoseconds between two requests of one flow.
    interval_ns: f64,
    /// Nanoseconds between the first requests of neighbouring flows.
    offset_ns: f64,
}

impl Schedule {
    /// `rate_per_s` requests per second over `flows` flows; both above zero.
    pub fn new(rate_per_s: f64, flows: u32) -> Self {
        let offset_ns = 1e9 / rate_per_s;
        Self {
            interval_ns: offset_ns * f64::from(flows.max(1)),
            offset_ns,
        }
    }

    /// When request `number` (from 0) of `flow` (from 0) is due, in ns after the start.
    pub fn due_ns(&self, flow: u32, number: u64) -> u64 {
        // Exact to below a nanosecond for 100 days: f64 has 53 bits.
        (self.offset_ns * f64::from(flow) + self.interval_ns * number as f64) as u64
    }

    /// How many requests of `flow` are due by `now_ns`.
    pub fn due_by(&self, flow: u32, now_ns: u64) -> u64 {
        let since_first = now_ns as f64 - self.offset_ns * f64::from(flow);
        if since_first < 0.0 {
            return 0;
        }
        (since_first / self.interval_ns) as u64 + 1
    }
}

/// Which of `count` things worker `worker` of `workers` gets: every `workers`th, from its own
/// number on.
pub fn share(count: u32, worker: u32, workers: u32) -> impl Iterator<Item = u32> {
    (worker..count).step_by(workers.max(1) as usize)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn flows_take_turns() {
        let schedule = Schedule::new(1000.0, 4);
        let due: Vec<u64> = (0..4).map(|flow| schedule.due_ns(flow, 0)).collect();
        assert_eq!(due, [0, 1_000_000, 2_000_000, 3_000_000]);
        assert_eq!(schedule.due_ns(0, 1), 4_000_000);
        assert_eq!(schedule.due_ns(3, 2), 11_000_000);
    }

    #[test]
    fn every_flow_has_one_worker() {
        let mut all: Vec<u32> = (0..3).flat_map(|w| share(10, w, 3)).collect();
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<_>>());
        assert_eq!(share(2, 2, 3).count(), 0);
    }

    proptest! {
        #[test]
        fn the_whole_schedule_has_the_rate(rate in 0.5_f64..1e6, flows in 1_u32..200) {
            let schedule = Schedule::new(rate, flows);
            let until = 10_000_000_000;
            let due: u64 = (0..flows).map(|flow| schedule.due_by(flow, until)).sum();
            let wanted = rate * 10.0;
            // The request at time 0 is one more; rounding may shift one at the end.
            prop_assert!((due as f64 - wanted).abs() <= 2.0, "{due} for {wanted}");
        }

        #[test]
        fn due_by_agrees_with_due(rate in 0.5_f64..1e6, flows in 1_u32..200, flow in 0_u32..200, n in 0_u64..100_000) {
            let schedule = Schedule::new(rate, flows);
            let at = schedule.due_ns(flow, n);
            prop_assert!(schedule.due_by(flow, at + 2) > n);
            if at > 2 {
                prop_assert!(schedule.due_by(flow, at - 2) <= n);
            }
        }
    }
}
