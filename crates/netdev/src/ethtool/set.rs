//! Changes rings and channels.

use super::request::Request;
use super::{Channels, ETHTOOL_GCHANNELS, ETHTOOL_GRINGPARAM, Ethtool, QueueCounts, Rings};
use crate::net_error::NetError;

const ETHTOOL_SRINGPARAM: u32 = 0x11;
const ETHTOOL_SCHANNELS: u32 = 0x3d;

impl Ethtool {
    /// Sets the lengths of the rings, in descriptors; the others (mini, jumbo) stay. Drivers
    /// usually take the link down for it, and a physical function resets its virtual ones.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::Unsupported`], [`NetError::NotPermitted`], or what
    /// the driver says.
    pub fn set_rings(
        &self,
        interface: &str,
        change: impl FnOnce(&mut Rings),
    ) -> Result<(), NetError> {
        let mut wanted = self.rings(interface)?;
        change(&mut wanted);
        let request = Request::new(ETHTOOL_GRINGPARAM, 36);
        let mut request = self.call(interface, "read rings of", request)?;
        request.put_word(0, ETHTOOL_SRINGPARAM);
        request.put_word(20, wanted.rx);
        request.put_word(32, wanted.tx);
        self.call(interface, "set rings of", request).map(drop)
    }

    /// Sets the numbers of channels. Interrupts, steering and the RSS table may start anew.
    ///
    /// # Errors
    /// As [`Self::set_rings`].
    pub fn set_channels(
        &self,
        interface: &str,
        change: impl FnOnce(&mut QueueCounts),
    ) -> Result<(), NetError> {
        let Channels { mut current, .. } = self.channels(interface)?;
        change(&mut current);
        let request = Request::new(ETHTOOL_GCHANNELS, 36);
        let mut request = self.call(interface, "read channels of", request)?;
        request.put_word(0, ETHTOOL_SCHANNELS);
        request.put_word(20, current.rx);
        request.put_word(24, current.tx);
        request.put_word(32, current.combined);
        self.call(interface, "set channels of", request).map(drop)
    }
}
