//! Probes: event messages of the Precision Time Protocol over Ethernet (IEEE 1588-2008 §13.3 and
//! annex F), which NICs stamp that stamp nothing else. Only what makes a NIC stamp them is in them;
//! no clock follows a Sync without the Announce that goes with it.

mod filter;

pub use filter::{FILTER_NONE, takes_probes, wanted};

use crate::mac::MacAddr;

/// EtherType of PTP over Ethernet.
pub const TYPE_PTP: u16 = 0x88f7;
/// Bytes of a probe, without FCS: the shortest frame there is.
pub const PROBE_BYTES: usize = 60;

const HEADER: usize = 14;
/// Bytes of a Sync message (table 26).
const SYNC_BYTES: u8 = 44;
/// A domain that its user defines (§7.1): that of no clock by default.
const DOMAIN: u8 = 127;
/// sourcePortIdentity within the header: ours.
const IDENTITY: usize = HEADER + 20;
const OURS: &[u8; 6] = b"nicety";
const NUMBER: usize = HEADER + 30;

/// One probe among those of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Probe {
    /// Stream beside which it is sent: 0 from port A, 1 from port B.
    pub stream: u8,
    /// Low byte of the trial's number.
    pub trial: u8,
    /// Number within stream and trial.
    pub number: u16,
}

impl Probe {
    /// The frame from station `from` to station `to`.
    pub fn frame(&self, from: MacAddr, to: MacAddr) -> [u8; PROBE_BYTES] {
        let mut frame = [0; PROBE_BYTES];
        frame[..6].copy_from_slice(&to.0);
        frame[6..12].copy_from_slice(&from.0);
        frame[12..HEADER].copy_from_slice(&TYPE_PTP.to_be_bytes());
        // Byte 0 is the message type, Sync; then version 2.
        frame[HEADER + 1] = 2;
        frame[HEADER + 3] = SYNC_BYTES;
        frame[HEADER + 4] = DOMAIN;
        frame[IDENTITY..IDENTITY + 6].copy_from_slice(OURS);
        frame[IDENTITY + 6] = self.stream;
        frame[IDENTITY + 7] = self.trial;
        frame[NUMBER..NUMBER + 2].copy_from_slice(&self.number.to_be_bytes());
        frame
    }

    /// The probe in a frame, if it is one. A transparent clock on the way may have written its
    /// correction into it.
    pub fn of(frame: &[u8]) -> Option<Self> {
        let head = frame.get(..NUMBER + 2)?;
        let kind = head[12..HEADER] == TYPE_PTP.to_be_bytes();
        let sync = head[HEADER] & 0xf == 0 && head[HEADER + 1] & 0xf == 2;
        let ours = &head[IDENTITY..IDENTITY + 6] == OURS && head[HEADER + 4] == DOMAIN;
        (kind && sync && ours).then(|| Self {
            stream: head[IDENTITY + 6],
            trial: head[IDENTITY + 7],
            number: u16::from_be_bytes([head[NUMBER], head[NUMBER + 1]]),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_probe_is_read_back(stream: u8, trial: u8, number: u16, correction: [u8; 8]) {
            let probe = Probe { stream, trial, number };
            let mut frame = probe.frame(MacAddr::local(1), MacAddr::local(2));
            frame[HEADER + 8..HEADER + 16].copy_from_slice(&correction);
            prop_assert_eq!(Probe::of(&frame), Some(probe));
        }

        #[test]
        fn nothing_else_is_one(frame in proptest::collection::vec(any::<u8>(), 0..80)) {
            // Six bytes of ours do not come by chance.
            prop_assert_eq!(Probe::of(&frame), None);
        }
    }

    #[test]
    fn cut_short_or_changed_it_is_none() {
        let probe = Probe {
            stream: 1,
            trial: 2,
            number: 3,
        };
        let frame = probe.frame(MacAddr::local(1), MacAddr::local(2));
        assert_eq!(Probe::of(&frame[..NUMBER + 1]), None);
        for at in [12, 13, HEADER, HEADER + 1, HEADER + 4, IDENTITY] {
            let mut other = frame;
            other[at] ^= 1;
            assert_eq!(Probe::of(&other), None, "byte {at}");
        }
    }
}
