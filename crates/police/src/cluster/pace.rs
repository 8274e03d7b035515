//! When a host writes a report and when a leader decides: soon after something has changed sharply, and in the mean not
//! more than once a period. The cap needs none of this: reports and turns may come at any time.

use std::time::Duration;

use super::wire::{HostGrant, HostReport};

/// Part of a period after which a regular report or turn is due: timers are never exact.
const DUE: f64 = 0.9;
/// Reports that a host may save up, and how many of them regular ones leave to those that cannot wait.
const REPORTS: f64 = 6.0;
const RESERVED: f64 = 1.0;
/// Grants for every host that a leader may save up, and periods between two turns.
const GRANTS: f64 = 4.0;
const GAP: f64 = 0.1;
/// The same for each host more: the more there are, the longer a leader takes to decide.
const GAP_OF_HOST: f64 = 5e-5;
/// Periods after which a report that says nothing new is written all the same: the last one may be lost.
const ANYWAY: f64 = 3.0;
/// A rate that differs by less than this share is no news.
const SAME: f64 = 0.02;
/// A demand that differs by more than this share cannot wait, where it is at least this share of the grant.
const SHARP: f64 = 0.1;
const SMALL: f64 = 0.05;

/// Grows by one in a period, up to a limit.
#[derive(Debug, Clone, Copy)]
struct Budget {
    left: f64,
    most: f64,
    grown: Duration,
}

impl Budget {
    fn new(most: f64) -> Self {
        Self {
            left: most,
            most,
            grown: Duration::ZERO,
        }
    }

    fn grow(&mut self, now: Duration, period: Duration) {
        let periods = now.saturating_sub(self.grown).as_secs_f64() / period.as_secs_f64();
        self.left = (self.left + periods).min(self.most);
        self.grown = self.grown.max(now);
    }
}

/// The reports of a host.
#[derive(Debug, Clone)]
pub(super) struct Reports {
    budget: Budget,
    /// The last one, when it was given and under which lease.
    last: Option<(Duration, i64, HostReport)>,
}

impl Default for Reports {
    fn default() -> Self {
        Self {
            budget: Budget::new(REPORTS),
            last: None,
        }
    }
}

impl Reports {
    /// The report, when it is to be written now. `grant` is what the host holds or is about to.
    pub(super) fn due(
        &mut self,
        now: Duration,
        period: Duration,
        lease: i64,
        grant: Option<&HostGrant>,
        report: HostReport,
    ) -> Option<HostReport> {
        self.budget.grow(now, period);
        let last = self.last.as_ref().filter(|(_, of, _)| *of == lease);
        let writes = match last {
            None => self.budget.left >= 1.0,
            Some((at, _, last)) => {
                let age = now.saturating_sub(*at);
                let regular = age >= period.mul_f64(DUE) && self.budget.left >= 1.0 + RESERVED;
                let anyway = age >= period.mul_f64(ANYWAY - 1.0 + DUE);
                is_sharp(last, &report, grant) && self.budget.left >= 1.0
                    || regular && (anyway || is_news(last, &report))
            }
        };
        if !writes {
            return None;
        }
        self.budget.left -= 1.0;
        self.last = Some((now, lease, report.clone()));
        Some(report)
    }
}

/// The turns of a leader.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    budget: Budget,
    last: Option<Duration>,
    /// Something has changed that cannot wait.
    urgent: bool,
    /// Since when transactions are on their way.
    writing: Option<Duration>,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            budget: Budget::new(GRANTS),
            last: None,
            urgent: false,
            writing: None,
        }
    }
}

impl Turns {
    /// Something has changed that cannot wait for the next regular turn.
    pub(super) fn hurry(&mut self) {
        self.urgent = true;
    }

    /// What came of the last transactions is known.
    pub(super) fn written(&mut self) {
        self.writing = None;
    }

    /// Whether it is the leader's turn.
    pub(super) fn due(&mut self, now: Duration, period: Duration, hosts: usize) -> bool {
        self.budget.grow(now, period);
        let age = |at: Duration| now.saturating_sub(at);
        // What is on its way is not in the view yet.
        if self.budget.left <= 0.0 || self.writing.is_some_and(|since| age(since) < period) {
            return false;
        }
        let soon = (GAP + GAP_OF_HOST * hosts as f64).min(DUE);
        let wait = if self.urgent { soon } else { DUE };
        self.last
            .is_none_or(|last| age(last) >= period.mul_f64(wait))
    }

    /// It was; so many of all `hosts` get another grant.
    pub(super) fn took(&mut self, now: Duration, grants: usize, hosts: usize) {
        self.last = Some(now);
        self.urgent = false;
        if grants > 0 {
            self.budget.left -= grants as f64 / hosts.max(1) as f64;
            self.writing = Some(now);
        }
    }
}

/// Whether a report cannot wait: it frees what others lack, or a demand has changed much. `grant` is the host's last.
pub(super) fn is_sharp(old: &HostReport, new: &HostReport, grant: Option<&HostGrant>) -> bool {
    let frees = |grant: &HostGrant| {
        let lowered = grant.tenants.values().any(|of| of.ceiling() > of.max);
        lowered && old.holds != grant.number && new.holds == grant.number
    };
    let turns = |(tenant, new): (&String, &super::Usage)| {
        let Some(old) = old.tenants.get(tenant) else {
            return true;
        };
        let (Some(old), Some(new)) = (old.demand, new.demand) else {
            return old.demand.is_some() != new.demand.is_some();
        };
        let has = grant.and_then(|grant| grant.tenants.get(tenant));
        let small = has.map_or(0.0, |has| SMALL * has.max.bps());
        let change = old.0.abs_diff(new.0) as f64;
        change > small && change > SHARP * old.max(new).bps()
    };
    grant.is_some_and(frees) || new.tenants.iter().any(turns)
}

/// Whether a report says something that the last one did not.
fn is_news(old: &HostReport, new: &HostReport) -> bool {
    let differ = |old: nicety_model::BitRate, new: nicety_model::BitRate| {
        old.0.abs_diff(new.0) as f64 > SAME * old.max(new).bps()
    };
    let changed = |(tenant, new): (&String, &super::Usage)| {
        let Some(old) = old.tenants.get(tenant) else {
            return true;
        };
        let demand = match (old.demand, new.demand) {
            (Some(old), Some(new)) => differ(old, new),
            (old, new) => old.is_some() != new.is_some(),
        };
        demand || differ(old.used, new.used)
    };
    old.holds != new.holds || new.tenants.iter().any(changed)
}

#[cfg(test)]
mod tests;
