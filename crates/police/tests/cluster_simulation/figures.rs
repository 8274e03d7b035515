//! What is measured of a run.

use super::SHIFT;

/// Share of what could be sent from which on a shift is followed.
const FOLLOWED: f64 = 0.95;

/// Figures of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Figures {
    /// Sent over what the total and the demand allow, all the time.
    pub used: f64,
    /// The same from 3 periods after a shift on.
    pub settled: f64,
    /// Periods from a shift until 95 % of what is possible is sent.
    pub follow_median: f64,
    pub follow_p95: f64,
    /// Writes of hosts and of the leader, in a period. One transaction is one write.
    pub writes: f64,
    /// Grants that change in a period.
    pub grants: f64,
    /// Bytes of the values that are written in a period.
    pub bytes: f64,
    /// Bytes of all values in the store.
    pub stored: f64,
    /// Milliseconds for which the leader computes in a period: reading reports, deciding, writing.
    pub leader_ms: f64,
}

/// A run while it runs.
#[derive(Debug)]
pub struct Record {
    /// Half periods since each tenant's last shift, and whether it was followed.
    since: Vec<Option<(usize, bool)>>,
    used: f64,
    wanted: f64,
    settled: [f64; 2],
    followed: Vec<f64>,
}

impl Record {
    pub fn new(tenants: usize) -> Self {
        Self {
            since: vec![None; tenants],
            used: 0.0,
            wanted: 0.0,
            settled: [0.0; 2],
            followed: Vec::new(),
        }
    }

    pub fn shifted(&mut self, tenant: usize) {
        if let Some((_, false)) = self.since[tenant].replace((0, false)) {
            self.followed.push(SHIFT as f64);
        }
    }

    /// Adds half a period.
    pub fn add(&mut self, tenant: usize, used: u64, wanted: u64) {
        let Some((halves, followed)) = &mut self.since[tenant] else {
            return;
        };
        let (used, wanted) = (used as f64, wanted as f64);
        self.used += used;
        self.wanted += wanted;
        if *halves >= 6 {
            self.settled[0] += used;
            self.settled[1] += wanted;
        }
        if !*followed && used >= FOLLOWED * wanted {
            *followed = true;
            self.followed.push(*halves as f64 / 2.0);
        }
        *halves += 1;
    }

    pub fn figures(mut self, _periods: usize) -> Figures {
        self.followed.sort_by(f64::total_cmp);
        let rank = |share: f64| {
            let last = self.followed.len().saturating_sub(1);
            let index = (share * last as f64).round() as usize;
            self.followed.get(index).copied().unwrap_or_default()
        };
        Figures {
            used: self.used / self.wanted,
            settled: self.settled[0] / self.settled[1],
            follow_median: rank(0.5),
            follow_p95: rank(0.95),
            ..Figures::default()
        }
    }
}
