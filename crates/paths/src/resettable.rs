//! Paths that can be reset, and how frames behind one are seen.

use std::time::Duration;

use nicety_model::ResetKind;
use nicety_netdev::link::Links;
use nicety_netdev::net_error::NetError;

use crate::error::PathError;
use crate::path::PathPort;

/// A path that can be reset while frames come.
pub trait Resettable: Sync {
    /// How.
    fn by(&self) -> ResetKind;

    /// Time that it has to come back; much longer than it ever took.
    fn limit(&self) -> Duration;

    /// Resets it, and does not wait until it forwards again. It works as before then, but counters and threads
    /// may be others: whoever measures more than frames builds it anew.
    ///
    /// # Errors
    /// When that is not possible.
    fn reset(&self) -> Result<(), PathError>;
}

/// Frames that arrive at a port, whoever takes them.
#[derive(Debug)]
pub struct Receipt {
    links: Links,
    name: String,
}

impl Receipt {
    /// Of a port.
    ///
    /// # Errors
    /// When its namespace cannot be asked.
    pub fn at(port: &PathPort) -> Result<Self, NetError> {
        Ok(Self {
            links: Links::open(&port.ns)?,
            name: port.name.clone(),
        })
    }

    /// Frames so far.
    ///
    /// # Errors
    /// When the port is gone.
    pub fn frames(&self) -> Result<u64, NetError> {
        let counters = self.links.get(&self.name)?.counters;
        // What a receiving XDP program takes some drivers count as dropped.
        Ok(counters.rx_packets + counters.rx_dropped)
    }
}
