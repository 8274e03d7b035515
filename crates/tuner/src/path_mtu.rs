//! Tries the path to a peer before and after an MTU grows.

use std::net::IpAddr;

use nicety_advisor::path_mtu::{refusal, sizes};
use nicety_model::knob::Change;
use nicety_model::path_mtu::{Carried, PathProbe};
use nicety_netdev::path_mtu::{ProbeError, known, probe};

use crate::TuneError;
use crate::error::Stop;

/// Packets of a size before it counts as not carried, one a second.
const TRIES: u32 = 3;
/// The same after a change: a NIC that resets brings its link back within seconds.
const TRIES_AFTER: u32 = 20;

/// Whether the peer answers packets of the size that its path has now.
pub fn now(peer: IpAddr) -> Result<PathProbe, ProbeError> {
    known(peer).and_then(|bytes| probe(peer, bytes, TRIES))
}

/// A peer that answered before the change.
#[derive(Debug, Clone, Copy)]
pub struct PathCheck {
    peer: IpAddr,
    small: u32,
    large: u32,
}

impl PathCheck {
    /// Asks the peer before an MTU grows; `None` when none does, or no peer is named.
    ///
    /// # Errors
    /// When it does not answer: afterwards that would tell nothing.
    pub fn before(peer: Option<IpAddr>, changes: &[&Change]) -> Result<Option<Self>, TuneError> {
        let (Some(peer), Some((small, large))) = (peer, sizes(changes)) else {
            return Ok(None);
        };
        // A path that takes less than this host's MTU is tried with what it takes.
        let small = known(peer)?.min(small);
        let found = probe(peer, small, TRIES)?;
        match found.carried {
            Carried::Yes => Ok(Some(Self { peer, small, large })),
            _ => Err(TuneError::DeadPath(found)),
        }
    }

    /// Tries the larger size.
    ///
    /// # Errors
    /// Why the change must be undone.
    pub fn after(&self) -> Result<(), Stop> {
        let small = probe(self.peer, self.small, TRIES_AFTER)?;
        let large = match small.carried {
            Carried::Yes => Some(probe(self.peer, self.large, TRIES)?),
            _ => None,
        };
        refusal(small, large).map_or(Ok(()), |why| Err(Stop::Path(why)))
    }
}
