//! Who counts a function, and what these counters are like.

use std::time::Duration;

use nicety_model::BitRate;
use nicety_netdev::vf::{FunctionState, RegisterCounters};
use nicety_police::Driver;
use nicety_police::meter::{Counters, FCS, WIRE_OVERHEAD};
use nicety_police::totals::Total;

/// What counts a function.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// Registers of the NIC.
    Registers {
        bits: u32,
        counters: RegisterCounters,
    },
    /// The driver.
    Driver,
    /// An interface.
    Interface(Total),
    /// What a policer has forwarded, and how many frames it has dropped.
    Policed(Total, u64),
}

impl Source {
    /// In a word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Registers { .. } => "registers",
            Self::Driver => "driver",
            Self::Interface(_) => "interface",
            Self::Policed(..) => "policer",
        }
    }
}

/// Both ways.
pub fn total(source: &Source, function: &FunctionState) -> Total {
    match source {
        Source::Registers { counters, .. } => Total {
            tx_bytes: counters.tx_bytes,
            tx_frames: counters.tx_packets,
            rx_bytes: counters.rx_bytes,
            rx_frames: counters.rx_packets,
        },
        Source::Driver => {
            let reported = function.counters.unwrap_or_default();
            Total {
                tx_bytes: reported.tx_bytes,
                tx_frames: reported.tx_packets,
                rx_bytes: reported.rx_bytes,
                rx_frames: reported.rx_packets,
            }
        }
        Source::Interface(total) | Source::Policed(total, _) => *total,
    }
}

/// What the counters are like.
pub fn counters(source: Option<&Source>, driver: &Driver, link: BitRate) -> Counters {
    match source {
        Some(Source::Registers { bits, .. }) => Counters {
            byte_bits: *bits,
            frame_bits: 32,
            overhead: WIRE_OVERHEAD,
            staleness: Duration::ZERO,
            ceiling_bps: link.bps(),
        },
        Some(Source::Driver) => Counters {
            overhead: WIRE_OVERHEAD + FCS,
            staleness: driver.staleness(),
            ..Counters::kernel()
        },
        Some(Source::Interface(_) | Source::Policed(..)) | None => Counters::kernel(),
    }
}
