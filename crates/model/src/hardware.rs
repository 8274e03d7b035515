//! One-way latency by the time stamps of NICs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::latency::LatencySummary;

/// What became of a trial's probes: frames beside the load that NICs stamp. They are no test frames
/// and enter neither loss nor rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HardwareProbes {
    /// Probes sent, over all directions.
    pub sent: u64,
    /// Stamped at both ends: those that the latency is of.
    pub stamped: u64,
    /// Never arrived.
    pub lost: u64,
    /// Arrived, and one of the NICs has not stamped them; or by their clocks before they were sent.
    pub not_stamped: u64,
    /// Of these, those that arrived before they were sent, by the clocks.
    pub clock_errors: u64,
}

/// Latency by the stamps of both NICs, measured beside the latency by the kernel's clock and never
/// mixed with it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HardwareLatency {
    /// Latency of the probes; absent when none was stamped at both ends.
    pub latency_us: Option<LatencySummary>,
    /// Drivers of port A and port B.
    pub drivers: Vec<String>,
    /// Clocks of port A and port B, as in /sys/class/ptp; one where they share it.
    pub clocks: Vec<String>,
    /// Largest error of the difference of both clocks, in ns; 0 where they are one clock.
    pub offset_error_ns: f64,
    /// How much faster the clock of port B is than that of port A, in billionths.
    pub drift_ppb: f64,
    /// The probes.
    pub probes: HardwareProbes,
    /// Probes over probes and test frames sent: the load beyond the offered one.
    pub load_share: f64,
}

impl HardwareLatency {
    /// Whose stamps, how far they can be trusted, and how many.
    pub fn in_words(&self) -> String {
        let mut drivers = self.drivers.clone();
        drivers.dedup();
        let clocks = match self.clocks.as_slice() {
            [one] => format!("PHC {one} of both ports"),
            several => format!(
                "PHC {}, offset error ± {:.0} ns",
                several.join(" and "),
                self.offset_error_ns
            ),
        };
        let probes = &self.probes;
        format!(
            "hardware stamps of {}, {clocks}, {} probes, {} lost, {} not stamped",
            drivers.join(" and "),
            probes.sent,
            probes.lost,
            probes.not_stamped
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stamps_are_named() {
        let mut hardware = HardwareLatency {
            latency_us: None,
            drivers: vec!["igb".to_owned(), "igb".to_owned()],
            clocks: vec!["ptp0".to_owned(), "ptp1".to_owned()],
            offset_error_ns: 411.6,
            drift_ppb: 3.0,
            probes: HardwareProbes {
                sent: 90,
                stamped: 87,
                lost: 1,
                not_stamped: 2,
                clock_errors: 0,
            },
            load_share: 0.01,
        };
        assert_eq!(
            hardware.in_words(),
            "hardware stamps of igb, PHC ptp0 and ptp1, offset error ± 412 ns, 90 probes, 1 lost, \
             2 not stamped"
        );
        hardware.clocks.pop();
        assert!(
            hardware
                .in_words()
                .contains(" igb, PHC ptp0 of both ports, 90 probes")
        );
    }
}
