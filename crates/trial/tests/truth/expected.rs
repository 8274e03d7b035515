//! What a fault must look like in the accounts, worked out frame by frame from what the fault is
//! said to do.

use nicety_model::{BurstLengths, StreamCounts};
use nicety_testkit::wire::{Fault, WireCounts};

/// What became of a stream, as far as its order and number go.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fates {
    pub received: u64,
    pub duplicate: u64,
    pub reordered: u64,
    pub loss_bursts: BurstLengths,
    pub reorder_bursts: BurstLengths,
    pub reorder_extent_max: u64,
}

impl From<&StreamCounts> for Fates {
    fn from(stream: &StreamCounts) -> Self {
        Self {
            received: stream.frames.received,
            duplicate: stream.frames.duplicate,
            reordered: stream.frames.reordered,
            loss_bursts: stream.loss_bursts.clone(),
            reorder_bursts: stream.reorder_bursts.clone(),
            reorder_extent_max: stream.reorder_extent_max,
        }
    }
}

/// What `sent` frames meet on a wire with `fault`.
pub fn fates(fault: &Fault, sent: u64) -> Fates {
    let mut fates = Fates {
        received: sent,
        ..Fates::default()
    };
    match fault {
        Fault::None | Fault::Inject { .. } => {}
        Fault::Drop { every, run, times } => {
            for burst in 0..(*times).min(sent.div_ceil(*every)) {
                let (first, end) = ((burst + 1) * every - run, (burst + 1) * every);
                let lost = end.min(sent).saturating_sub(first);
                fates.loss_bursts.record(lost);
                fates.received -= lost;
            }
        }
        Fault::Duplicate { every } => fates.duplicate = sent / every,
        Fault::Delay { every, run, by } => {
            for burst in 1..=sent.div_ceil(*every) {
                if burst * every + by <= sent {
                    fates.reordered += run;
                    fates.reorder_bursts.record(*run);
                    // RFC 4737 §4.2.1: the last of a burst finds the others before it as well.
                    fates.reorder_extent_max = by + run - 1;
                } else {
                    let kept = (burst * every)
                        .min(sent)
                        .saturating_sub(burst * every - run);
                    fates.loss_bursts.record(kept);
                    fates.received -= kept;
                }
            }
        }
        Fault::Flip { every } => {
            // Bits of hardware addresses are the path's affair, what is behind them is not.
            unreachable!("one in {every}: see damage.rs")
        }
    }
    fates
}

/// Whether both sides of the wire agree with the tester: no frame is anywhere else.
pub fn agree(stream: &StreamCounts, wire: &WireCounts) -> bool {
    let frames = &stream.frames;
    let arrived = frames.received + frames.duplicate + frames.corrupt + frames.foreign;
    (wire.entered, wire.left, wire.refused) == (frames.sent, arrived, 0)
}
