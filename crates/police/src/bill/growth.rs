//! What has passed between two readings of a port's counters.

use std::time::Duration;

use crate::totals::{Counts, Total};

/// What has passed one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Growth {
    /// Bytes that are certain.
    pub bytes: u64,
    /// Frames that are certain.
    pub frames: u64,
    /// Bytes that may have passed besides.
    pub unseen: u64,
}

/// Most bytes that can pass in a time at a rate in bits per second.
pub(super) fn most(time: Duration, bps: f64) -> u64 {
    (time.as_secs_f64() * bps / 8.0).ceil() as u64
}

/// What grew between two readings that are `time` apart on a port that cannot pass more than `bps`: sent and
/// received. Where nobody watched meanwhile, a limiter may be another one that has counted further.
pub(super) fn between(
    was: &Counts,
    now: &Counts,
    (time, unwatched): (Duration, bool),
    bps: f64,
) -> [Growth; 2] {
    let most = most(time, bps);
    let same = was.source == now.source;
    let face = was.interface.zip(now.interface);
    let bits = (now.byte_bits, now.frame_bits);
    let own = same.then(|| counter(sent(was.now), sent(now.now), bits, most));
    let tx = match (own, face) {
        (Some(Step::On(growth)), Some((before, after))) if unwatched && now.is_limited() => {
            let offered = grown(before.tx_bytes, after.tx_bytes, most);
            Growth {
                unseen: offered.saturating_sub(growth.bytes),
                ..growth
            }
        }
        // It has counted on.
        (Some(Step::On(growth)), _) => growth,
        // A limiter has come and has dropped nothing: all that was offered has passed, or waits.
        (None, Some((before, after)))
            if was.source == INTERFACE && now.drops_nothing() && !unwatched =>
        {
            let waiting = now.held.map_or(0, |held| held.waiting);
            let offered = grown(before.tx_bytes, after.tx_bytes, most);
            Growth {
                bytes: offered.saturating_sub(waiting).max(now.now.tx_bytes),
                frames: now
                    .now
                    .tx_frames
                    .max(after.tx_frames.saturating_sub(before.tx_frames)),
                unseen: waiting,
            }
        }
        // A limiter that begins anew was made since: all that it counts is new, and before it no more has passed than
        // was offered.
        (_, Some((before, after))) if now.is_limited() => {
            let (bytes, frames) = sent(now.now);
            let offered = grown(before.tx_bytes, after.tx_bytes, most);
            Growth {
                bytes,
                frames,
                unseen: offered.saturating_sub(bytes),
            }
        }
        // The limiter is gone, and what it dropped before is not known.
        (_, Some((before, after))) if was.is_limited() => Growth {
            unseen: grown(before.tx_bytes, after.tx_bytes, most),
            ..Growth::default()
        },
        (Some(Step::Anew), _) => begun(sent(now.now), most),
        (None, _) => Growth {
            unseen: most,
            ..Growth::default()
        },
    };
    let rx = match (face, same) {
        (Some((before, after)), _) => {
            counter(received(before), received(after), (64, 64), most).growth(received(after), most)
        }
        (None, true) => {
            let step = counter(received(was.now), received(now.now), bits, most);
            step.growth(received(now.now), most)
        }
        (None, false) => Growth {
            unseen: most,
            ..Growth::default()
        },
    };
    [tx, rx]
}

/// What a port that is new has counted since it was made: sent and received.
pub(super) fn since_birth(now: &Counts) -> [Growth; 2] {
    // A limiter is younger than its interface.
    let offered = now.interface.map(|face| face.tx_bytes);
    let (bytes, frames) = sent(now.now);
    let tx = Growth {
        bytes,
        frames,
        unseen: offered.map_or(0, |offered| offered.saturating_sub(bytes)),
    };
    let (bytes, frames) = received(now.interface.unwrap_or(now.now));
    let rx = Growth {
        bytes,
        frames,
        unseen: 0,
    };
    [tx, rx]
}

impl Counts {
    /// The interface has counted this.
    pub(super) fn count(&mut self, interface: Total) {
        self.interface = Some(interface);
        (self.now.rx_bytes, self.now.rx_frames) = (interface.rx_bytes, interface.rx_frames);
        if self.source == INTERFACE {
            self.now = interface;
        }
    }

    /// Its limiter has dropped nothing since it was made.
    fn drops_nothing(&self) -> bool {
        self.held.is_some_and(|held| held.drops == 0)
    }

    /// What counts is a limiter below the interface.
    fn is_limited(&self) -> bool {
        self.interface.is_some() && self.source != INTERFACE
    }
}

/// The source that is the interface itself.
pub const INTERFACE: &str = "interface";

enum Step {
    On(Growth),
    Anew,
}

impl Step {
    fn growth(self, now: (u64, u64), most: u64) -> Growth {
        match self {
            Self::On(growth) => growth,
            Self::Anew => begun(now, most),
        }
    }
}

fn sent(total: Total) -> (u64, u64) {
    (total.tx_bytes, total.tx_frames)
}

fn received(total: Total) -> (u64, u64) {
    (total.rx_bytes, total.rx_frames)
}

/// A counter that began anew somewhere between two readings.
fn begun((bytes, frames): (u64, u64), most: u64) -> Growth {
    Growth {
        bytes,
        frames,
        unseen: most.saturating_sub(bytes),
    }
}

/// Growth of a full counter; one that went back may have grown as much as can pass.
fn grown(was: u64, now: u64, most: u64) -> u64 {
    now.checked_sub(was).unwrap_or(most.max(now))
}

/// A pair of counters, bytes and frames.
fn counter(was: (u64, u64), now: (u64, u64), bits: (u32, u32), most: u64) -> Step {
    if bits.0 >= 64 && (now.0 < was.0 || bits.1 >= 64 && now.1 < was.1) {
        return Step::Anew;
    }
    let bytes = crate::totals::grown(was.0, now.0, bits.0);
    // A narrow counter may have gone round more than once.
    let rounds = match bits.0 {
        64.. => 0,
        bits => most.saturating_sub(bytes) >> bits,
    };
    Step::On(Growth {
        bytes,
        frames: crate::totals::grown(was.1, now.1, bits.1),
        unseen: rounds.checked_shl(bits.0).unwrap_or(0),
    })
}
