//! First packets of sockets through this machine, as they pass: nothing is sent.

use nicety_account::flows::UnderWay;
use nicety_fate::Flows;
use nicety_model::flow::{FlowFilter, FlowPacket};
use nicety_port::clock;

use crate::error::RunError;

/// The programs, and the packets under way.
#[derive(Debug)]
pub struct Follower {
    flows: Flows,
    way: UnderWay,
    begun_ns: u64,
}

/// Packets whose way has ended.
#[derive(Debug, Clone, Default)]
pub struct Ended {
    /// The packets.
    pub packets: Vec<FlowPacket>,
    /// Times that a sighting could not be noted, since the beginning.
    pub unnoted: u64,
}

impl Follower {
    /// Follows packets that fit `filter` from now on.
    ///
    /// # Errors
    /// The programs may not be loaded.
    pub fn open(filter: &FlowFilter) -> Result<Self, RunError> {
        Ok(Self {
            flows: Flows::open(filter).map_err(RunError::Trace)?,
            way: UnderWay::default(),
            begun_ns: clock::monotonic_ns(),
        })
    }

    /// Packets that have ended since this was asked last; a packet has ended when it was seen nowhere for 0.3 s.
    pub fn ended(&mut self) -> Ended {
        let followed = self.flows.read();
        self.way.add(&followed.sights);
        let now = clock::monotonic_ns();
        Ended {
            packets: self.way.ended(&followed.stations, self.begun_ns, now),
            unnoted: followed.unnoted,
        }
    }
}
