//! Which time stamps latency is taken with, and why not the NIC's.

use nicety_model::note::MachineNote;
use nicety_model::{Direction, Note};
use nicety_netdev::ethtool::HardwareStamps;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_packet::{MacAddr, ptp};
use nicety_paths::Path;
use nicety_port::probes::{ProbeError, ProbePort, Prober, Stamps, restore_left};

use crate::setup_error::SetupError;

/// What it costs that the NIC has none.
pub const LOST: &str =
    "latency is taken with the kernel's clock and has interrupts and queues of both ends in it";

/// Whether probes can be stamped.
pub fn usable(stamps: &HardwareStamps) -> bool {
    stamps.tx && stamps.rx && stamps.clock.is_some() && ptp::wanted(stamps.rx_filters).is_some()
}

/// What a driver reports of its hardware.
pub fn in_words(reported: &Result<HardwareStamps, NetError>) -> &'static str {
    match reported {
        Ok(stamps) if stamps.tx && stamps.rx && stamps.clock.is_some() => {
            match (stamps.rx_all, ptp::wanted(stamps.rx_filters)) {
                (true, _) => "of every received frame; latency trials use them for probes",
                (false, Some(_)) => "of PTP messages; latency trials use them for probes",
                (false, None) => "of PTP messages over UDP only, which nicety does not send",
            }
        }
        Ok(stamps) => match (stamps.rx, stamps.tx) {
            (true, true) => "the driver does not show the NIC's clock",
            (true, false) => "of received frames only",
            (false, true) => "of sent frames only",
            (false, false) => "the driver has none",
        },
        Err(NetError::Unsupported { .. }) => "the driver has none",
        Err(_) => "the driver does not tell",
    }
}

/// What sends probes that the NICs of both ports of `path` stamp, and what to say about the time
/// stamps of the run. Between interfaces that nicety has made there are none, and it goes unsaid.
///
/// # Errors
/// When there are none and `asked` insists on them.
pub fn prober(
    path: &dyn Path,
    direction: Direction,
    asked: Stamps,
) -> Result<(Option<Prober>, Option<Note>), SetupError> {
    if asked == Stamps::Software || asked == Stamps::Auto && !path.facts().existing_ports {
        return Ok((None, None));
    }
    let ports = path.ports().each_ref().map(|port| ProbePort {
        ns: port.ns.clone(),
        interface: port.name.clone(),
        mac: MacAddr(port.mac.0),
    });
    let found = Prober::new(ports, direction).and_then(|prober| {
        // Whether the NICs may be told; they stamp again what they did at once.
        drop(prober.arm()?);
        Ok(prober)
    });
    match found {
        Ok(prober) => {
            let nics = prober.name().to_string();
            let note = MachineNote::StampsHardware { nics };
            Ok((Some(prober), Some(note.into())))
        }
        Err(error) if asked == Stamps::Hardware => Err(SetupError::Stamps(error)),
        Err(error) => {
            let why = error.to_string();
            Ok((None, Some(MachineNote::StampsSoftware { why }.into())))
        }
    }
}

/// Has NICs stamp what they did before a nicety that was killed; says which.
pub fn restore() -> Vec<String> {
    let restored = NetNs::current()
        .map_err(ProbeError::from)
        .and_then(|ns| restore_left(&ns));
    restored.unwrap_or_else(|error| vec![format!("time stamps of NICs: {error}")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nicety_can_use_is_told_from_what_it_cannot() {
        let stamps = |tx, rx, rx_filters, clock| {
            in_words(&Ok(HardwareStamps {
                tx,
                rx,
                rx_all: rx_filters & 2 != 0,
                rx_filters,
                clock,
            }))
        };
        // igb on an 82576, on an i350, a PHY that knows PTP over UDP only.
        assert!(stamps(true, true, 0x1031, Some(0)).starts_with("of PTP messages; "));
        assert!(stamps(true, true, 0b11, Some(0)).contains("every received frame"));
        assert!(stamps(true, true, 0xc1, Some(0)).contains("UDP only"));
        assert!(stamps(true, true, 0b11, None).contains("clock"));
        assert!(stamps(true, false, 0, Some(0)).contains("sent frames only"));
        assert_eq!(stamps(false, false, 0, None), "the driver has none");
    }
}
