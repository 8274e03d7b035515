//! What NICs' stamps said in the latency trials.

use nicety_model::{LatencySummary, TrialRecord};

use super::Cell;

/// How a trial's note begins that says why stamps were not used.
const NOT_USED: &str = "hardware time stamps are not used";

impl Cell {
    /// Keeps what NICs' stamps said in a latency trial at this share of the throughput, where they
    /// were used.
    pub(super) fn hardware(&mut self, record: &TrialRecord, share: Option<f64>) {
        let Some(mut hardware) = record.hardware_latency.clone() else {
            let why = record.notes.iter().find(|note| note.starts_with(NOT_USED));
            self.notes.extend(
                why.filter(|why| !self.notes.contains(why))
                    .cloned()
                    .into_iter()
                    .collect::<Vec<_>>(),
            );
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
