//! What NICs' stamps said in the latency trials.

use nicety_model::{LatencySummary, STAMPS_NOT_USED, TrialRecord};

use super::Cell;

impl Cell {
    /// Keeps what NICs' stamps said in a latency trial at this share of the throughput, where they
    /// were used.
    pub(super) fn hardware(&mut self, record: &TrialRecord, share: Option<f64>) {
        let Some(mut hardware) = record.hardware_latency.clone() else {
            let mut notes = record.notes.iter();
            if let Some(why) = notes.find(|note| note.starts_with(STAMPS_NOT_USED))
                && !self.notes.contains(why)
            {
                self.notes.push(why.clone());
            }
            return;
        };
        if let Some(summary) = &mut hardware.latency_us {
            summary.load_ratio = share;
        }
        let at = share.map_or_else(String::new, |share| format!(" at {:.0} %", share * 100.0));
        let by = |name: &str, latency: Option<&LatencySummary>| match latency {
            Some(l) => format!("p50 {:.1}, p99 {:.1} µs by {name}", l.p50, l.p99),
            None => format!("none by {name}"),
        };
        self.notes.push(format!(
            "latency{at}: {}; {}; {}",
            by("the NICs' clocks", hardware.latency_us.as_ref()),
            by("the kernel's", record.latency_us.as_ref()),
            hardware.in_words()
        ));
        self.hardware.push(hardware);
    }
}
