//! What a path does to frames beside losing them.

use nicety_model::note::SearchNote;
use nicety_model::{Fps, FrameCounts, LossRatio, TrialRecord};

/// Share of the frames from which a path that repeats or reorders them is at fault; below it a flooded frame, or a flow
/// that moved to another queue, explains them.
const REPEATED: f64 = 0.01;
/// The same for frames that arrived damaged: no healthy link has so many.
const DAMAGED: f64 = 0.001;

/// Frames of the trials so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Delivery {
    all: FrameCounts,
    /// Those of trials within the goal: overload has effects of its own.
    within_goal: FrameCounts,
}

impl Delivery {
    /// Takes the frames of a trial that counts.
    pub fn observe(&mut self, record: &TrialRecord, meets: bool) {
        self.all.add(&record.frames);
        if meets {
            self.within_goal.add(&record.frames);
        }
    }

    /// Why no load met the goal, where it was not overload.
    pub fn dead(&self) -> Option<SearchNote> {
        let frames = &self.all;
        let damaged = LossRatio::of(frames.corrupt, frames.sent);
        if damaged.0 > DAMAGED {
            return Some(SearchNote::Damaged { share: damaged });
        }
        (frames.sent > 0 && frames.received == 0).then_some(SearchNote::NothingArrived {
            frames: frames.sent,
        })
    }

    /// What makes a throughput that was found no measure of the path. Frames of several flows may overtake each other.
    pub fn fault(&self, throughput: Fps, flows: u32) -> Option<SearchNote> {
        let frames = &self.within_goal;
        let share = |count| LossRatio::of(count, frames.received);
        // In a loop a frame may arrive many times.
        let repeated = frames.duplicate as f64 / frames.received.max(1) as f64;
        if repeated > REPEATED {
            return Some(SearchNote::Repeated {
                share: repeated,
                receiver_fps: Fps(throughput.0 * (1.0 + repeated)),
            });
        }
        let damaged = share(frames.corrupt);
        if damaged.0 > DAMAGED {
            return Some(SearchNote::Damaged { share: damaged });
        }
        let reordered = share(frames.reordered);
        (flows == 1 && reordered.0 > REPEATED).then_some(SearchNote::Reordered { share: reordered })
    }
}
