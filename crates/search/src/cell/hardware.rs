//! Latency by NICs' stamps in the latency trials.

use nicety_model::note::{Percentiles, SearchNote, TrialNote};
use nicety_model::{LatencySummary, Note, TrialRecord};

use super::Cell;

impl Cell {
    /// Keeps what NICs' stamps said in a latency trial at this share of the throughput, where they
    /// were used.
    pub(super) fn hardware(&mut self, record: &TrialRecord, share: Option<f64>) {
        let Some(mut hardware) = record.hardware_latency.clone() else {
            let mut notes = record.notes.iter();
            if let Some(why) =
                notes.find(|note| matches!(note, Note::Trial(TrialNote::StampsUnused { .. })))
                && !self.notes.contains(why)
            {
                self.notes.push(why.clone());
            }
            return;
        };
        if let Some(summary) = &mut hardware.latency_us {
            summary.load_ratio = share;
        }
        let percentiles = |l: &LatencySummary| Percentiles {
            p50: l.p50,
            p99: l.p99,
        };
        let note = SearchNote::HardwareLatency {
            load_ratio: share,
            nics_us: hardware.latency_us.as_ref().map(percentiles),
            kernel_us: record.latency_us.as_ref().map(percentiles),
            stamps: hardware.clone(),
        };
        self.notes.push(note.into());
        self.hardware.push(hardware);
    }
}
