//! Which time stamps latency is taken with, and why not the NIC's.

use nicety_host::ethtool::{Ethtool, HardwareStamps};
use nicety_host::net_error::NetError;
use nicety_testbed::Path;

/// What it costs that the NIC's are not used.
pub const LOST: &str =
    "latency is taken with the kernel's clock and has interrupts and queues of both ends in it";

/// What a driver says of its hardware.
pub fn in_words(told: &Result<HardwareStamps, NetError>) -> &'static str {
    match told {
        Ok(stamps) => match (stamps.rx, stamps.rx_all, stamps.tx) {
            (_, true, _) => "of every received frame; nicety does not read them yet",
            (true, false, _) => "of received PTP messages only, which test frames are not",
            (false, _, true) => "of sent frames only",
            (false, _, false) => "the driver has none",
        },
        Err(NetError::Unsupported { .. }) => "the driver has none",
        Err(_) => "the driver does not tell",
    }
}

/// Says for ports that are not ends of veth pairs which time stamps a run has.
pub fn note(path: &dyn Path) -> String {
    let told = path.ports().each_ref().map(|port| {
        let stamps = Ethtool::open(&port.ns).and_then(|e| e.hardware_stamps(&port.name));
        format!("{}: {}", port.name, in_words(&stamps))
    });
    format!(
        "time stamps: made in software at both ends, CLOCK_MONOTONIC of this host; hardware time \
         stamps are not used ({})",
        told.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nic_that_knows_ptp_only_is_told_from_one_that_stamps_all() {
        let stamps = |tx, rx, rx_all| in_words(&Ok(HardwareStamps { tx, rx, rx_all }));
        // igb on an 82576, as on an 82580.
        assert!(stamps(true, true, false).contains("PTP messages only"));
        assert!(stamps(true, true, true).contains("every received frame"));
        assert!(stamps(true, false, false).contains("sent frames only"));
        assert_eq!(stamps(false, false, false), "the driver has none");
    }
}
