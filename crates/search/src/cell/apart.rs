//! Trials during which the hypervisor ran tester and path on CPUs that share no cache.

use nicety_model::TrialRecord;

use super::Cell;
use crate::visits::FAR;

/// Trials of a search that do not count because of that; what comes then counts, or a machine that
/// stays so would have no number.
const MOST: u32 = 6;

impl Cell {
    /// Notes how far apart tester and path were during a trial of the search, and says whether it
    /// does not count for that: loads are judged by windows, and it saw another machine than the
    /// others.
    pub(super) fn is_apart(&mut self, record: &TrialRecord) -> bool {
        let Some([before, after]) = record.cache_line_ns else {
            return false;
        };
        self.nearest_ns = self.nearest_ns.min(before).min(after);
        let far = before.max(after) > FAR * self.nearest_ns;
        if far && self.by_windows() && self.apart < MOST {
            self.apart += 1;
            return true;
        }
        self.cache_lines_ns.push(before.max(after));
        false
    }
}
