//! How long an interface waits before it interrupts (`struct ethtool_coalesce`).

use super::Ethtool;
use super::request::Request;
use crate::net_error::NetError;

const ETHTOOL_GCOALESCE: u32 = 0x0e;
const ETHTOOL_SCOALESCE: u32 = 0x0f;
/// 23 words (include/uapi/linux/ethtool.h).
const SIZE: usize = 92;
const RX_USECS: usize = 4;
const RX_FRAMES: usize = 8;
const TX_USECS: usize = 20;
const TX_FRAMES: usize = 24;
const ADAPTIVE_RX: usize = 40;
const ADAPTIVE_TX: usize = 44;

/// Interrupt coalescing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coalesce {
    /// Wait after a received frame, in µs.
    pub rx_usecs: u32,
    /// Or until so many frames came.
    pub rx_frames: u32,
    /// Wait after a sent frame, in µs.
    pub tx_usecs: u32,
    /// Or until so many frames went.
    pub tx_frames: u32,
    /// The driver adapts the receive values.
    pub adaptive_rx: bool,
    /// The driver adapts the transmit values.
    pub adaptive_tx: bool,
}

impl Ethtool {
    /// Interrupt coalescing.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::Unsupported`].
    pub fn coalesce(&self, interface: &str) -> Result<Coalesce, NetError> {
        let answer = self.coalesce_words(interface)?;
        Ok(Coalesce {
            rx_usecs: answer.word(RX_USECS),
            rx_frames: answer.word(RX_FRAMES),
            tx_usecs: answer.word(TX_USECS),
            tx_frames: answer.word(TX_FRAMES),
            adaptive_rx: answer.word(ADAPTIVE_RX) != 0,
            adaptive_tx: answer.word(ADAPTIVE_TX) != 0,
        })
    }

    /// Sets what `change` changes and leaves every other word of the structure as it is.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::Unsupported`], [`NetError::NotPermitted`], or what
    /// the driver says.
    pub fn set_coalesce(
        &self,
        interface: &str,
        change: impl FnOnce(&mut Coalesce),
    ) -> Result<(), NetError> {
        let mut wanted = self.coalesce(interface)?;
        change(&mut wanted);
        let mut request = self.coalesce_words(interface)?;
        request.put_word(0, ETHTOOL_SCOALESCE);
        for (at, value) in [
            (RX_USECS, wanted.rx_usecs),
            (RX_FRAMES, wanted.rx_frames),
            (TX_USECS, wanted.tx_usecs),
            (TX_FRAMES, wanted.tx_frames),
            (ADAPTIVE_RX, wanted.adaptive_rx.into()),
            (ADAPTIVE_TX, wanted.adaptive_tx.into()),
        ] {
            request.put_word(at, value);
        }
        self.call(interface, "set coalescing of", request).map(drop)
    }

    fn coalesce_words(&self, interface: &str) -> Result<Request, NetError> {
        let request = Request::new(ETHTOOL_GCOALESCE, SIZE);
        self.call(interface, "read coalescing of", request)
    }
}
