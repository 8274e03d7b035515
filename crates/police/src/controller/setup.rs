//! How a port is limited and counted.

use crate::driver::Steps;
use crate::meter::Counters;
use crate::policy::Policy;

/// How a port is limited and counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PortSetup {
    /// Limits it takes.
    pub steps: Steps,
    /// Its counters.
    pub counters: Counters,
    /// What it never gets more than, besides its tenant's cap, in bits per second: its own hard
    /// or soft limit.
    pub cap_bps: f64,
}

impl PortSetup {
    /// Periods that its counters are behind.
    pub(super) fn behind(&self, policy: &Policy) -> u32 {
        (self.counters.staleness.as_secs_f64() / policy.period.as_secs_f64()).ceil() as u32
    }

    /// A port limited by tc, counted by the kernel.
    pub fn tc(policy: &Policy) -> Self {
        Self {
            steps: Steps::tc(),
            counters: Counters::kernel(),
            cap_bps: policy.capacity.bps(),
        }
    }
}
