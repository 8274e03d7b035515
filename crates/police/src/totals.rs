//! Totals that ports have sent and received since the daemon started, from counters that wrap,
//! restart or change owners.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// Totals sent and received by a port, seen from its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Total {
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Frames sent.
    pub tx_frames: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Frames received.
    pub rx_frames: u64,
}

impl Total {
    /// The same seen from the other end.
    #[must_use]
    pub fn turned(self) -> Self {
        Self {
            tx_bytes: self.rx_bytes,
            tx_frames: self.rx_frames,
            rx_bytes: self.tx_bytes,
            rx_frames: self.tx_frames,
        }
    }
}

/// Counters of a port at one moment, seen from its owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Source of the counters; a new source begins anew.
    pub source: Cow<'static, str>,
    /// Their values.
    pub now: Total,
    /// Width of the byte counters in bits.
    pub byte_bits: u32,
    /// Width of the frame counters in bits.
    pub frame_bits: u32,
    /// What the interface itself has counted, before any limit of what its owner sends; none where nothing but the
    /// source counts.
    pub interface: Option<Total>,
    /// What its limiter holds back; none without one.
    pub held: Option<Held>,
}

/// What a limiter holds back of what an owner sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Held {
    /// Frames that it has dropped since it was made.
    pub drops: u64,
    /// Bytes that wait in it.
    pub waiting: u64,
}

/// Adds up.
#[derive(Debug, Clone, Default)]
pub struct Adder {
    last: Option<Counts>,
    /// Since the first counters.
    pub total: Total,
}

impl Adder {
    /// Takes the counters of a period; none when there are none just now.
    pub fn take(&mut self, counts: Option<Counts>) {
        let Some(now) = counts else {
            self.last = None;
            return;
        };
        let same = self.last.take().filter(|last| last.source == now.source);
        if let Some(Counts { now: was, .. }) = same {
            let Total {
                tx_bytes,
                tx_frames,
                rx_bytes,
                rx_frames,
            } = now.now;
            let total = &mut self.total;
            total.tx_bytes += grown(was.tx_bytes, tx_bytes, now.byte_bits);
            total.rx_bytes += grown(was.rx_bytes, rx_bytes, now.byte_bits);
            total.tx_frames += grown(was.tx_frames, tx_frames, now.frame_bits);
            total.rx_frames += grown(was.rx_frames, rx_frames, now.frame_bits);
        }
        self.last = Some(now);
    }
}

/// Growth of a counter of `bits` bits. A full one that went back has begun anew.
pub(crate) fn grown(was: u64, now: u64, bits: u32) -> u64 {
    if bits >= 64 {
        return now.checked_sub(was).unwrap_or(now);
    }
    now.wrapping_sub(was) & ((1 << bits) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_only_grow() {
        let at = |source: &'static str, bytes, bits| {
            Some(Counts {
                source: source.into(),
                now: Total {
                    tx_bytes: bytes,
                    ..Total::default()
                },
                byte_bits: bits,
                frame_bits: 32,
                interface: None,
                held: None,
            })
        };
        let mut adder = Adder::default();
        let mut sent = |counts| {
            adder.take(counts);
            adder.total.tx_bytes
        };
        assert_eq!(sent(at("interface", 1_000, 64)), 0);
        assert_eq!(sent(at("interface", 1_500, 64)), 500);
        // A limiter counts from 0.
        assert_eq!(sent(at("limiter", 7, 64)), 500);
        assert_eq!(sent(at("limiter", 17, 64)), 510);
        assert_eq!(sent(at("limiter", 4, 64)), 514);
        assert_eq!(sent(None), 514);
        assert_eq!(sent(at("registers", 0xffff_ffff, 32)), 514);
        assert_eq!(sent(at("registers", 1, 32)), 516);
    }
}
