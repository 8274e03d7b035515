//! Who counts a function, and what these counters are like.

use std::time::Duration;

use nicety_host::vf::{FunctionState, RegisterCounters};
use nicety_model::BitRate;
use nicety_police::Driver;
use nicety_police::meter::{Counters, FCS, WIRE_OVERHEAD};

use crate::police::totals::Total;

/// What counts a function.
#[derive(Debug, Clone, Copy)]
pub enum Counted {
    Registers {
        bits: u32,
        counters: RegisterCounters,
    },
    Driver,
    Interface(Total),
    /// What has passed a policer, and how many frames have not.
    Policed(Total, u64),
}

/// Both ways.
pub fn total(counted: &Counted, function: &FunctionState) -> Total {
    match counted {
        Counted::Registers { counters, .. } => Total {
            tx_bytes: counters.tx_bytes,
            tx_frames: counters.tx_packets,
            rx_bytes: counters.rx_bytes,
            rx_frames: counters.rx_packets,
        },
        Counted::Driver => {
            let told = function.counters.unwrap_or_default();
            Total {
                tx_bytes: told.tx_bytes,
                tx_frames: told.tx_packets,
                rx_bytes: told.rx_bytes,
                rx_frames: told.rx_packets,
            }
        }
        Counted::Interface(total) | Counted::Policed(total, _) => *total,
    }
}

/// What the counters are like.
pub fn counters(counted: Option<&Counted>, driver: &Driver, link: BitRate) -> Counters {
    match counted {
        Some(Counted::Registers { bits, .. }) => Counters {
            byte_bits: *bits,
            frame_bits: 32,
            overhead: WIRE_OVERHEAD,
            staleness: Duration::ZERO,
            ceiling_bps: link.bps(),
        },
        Some(Counted::Driver) => Counters {
            overhead: WIRE_OVERHEAD + FCS,
            staleness: driver.staleness(),
            ..Counters::kernel()
        },
        Some(Counted::Interface(_) | Counted::Policed(..)) | None => Counters::kernel(),
    }
}
