//! Loss over short windows of a trial, by the time of sending.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Fps, LossRatio};

/// Slots by which engines tell apart when frames were sent: 2^23 ns. Windows are whole slots.
pub const SLOT_NS: u64 = 1 << 23;

/// Loss of a trial's frames in windows of whole slots, by the time of sending.
///
/// A trial of a second judges the worst moment of the machine in that second; a window of 50 ms
/// judges the path in most of them. A load meets its goal when more than half of its windows do:
/// RFC 9971's exceed ratio of one half, with the window as the trial. Slots in which a CPU of the path
/// stood still are in no window, unless there are no others: they are set apart by time, never by what was lost in them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Windows {
    /// Length of each window, in seconds.
    pub length_s: f64,
    /// Frames sent in each window, over all directions, in order of time.
    pub sent: Vec<u64>,
    /// Of these, frames that never arrived; as many numbers as in `sent`.
    pub lost: Vec<u64>,
    /// Time of sending that is in no window because a CPU of the path stood still, in seconds.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub apart_s: f64,
    /// Not even one window was left, so these are of all the time: one within the goal says that the load is carried,
    /// one beyond it says nothing.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub disturbed: bool,
}

/// Frames of one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Frames sent in it.
    pub sent: u64,
    /// Of these, frames that never arrived.
    pub lost: u64,
}

impl Window {
    /// Lost over sent, for any reason.
    pub fn loss_ratio(self) -> LossRatio {
        LossRatio::of(self.lost, self.sent)
    }

    /// Whether its loss is within `goal`.
    pub fn meets(self, goal: f64) -> bool {
        self.loss_ratio().0 <= goal
    }
}

impl Windows {
    /// Windows of `many` of these slots of `slot_s` each, one behind the other; each slot with whether it is set
    /// apart. What is left over at the end is in no window.
    pub fn of_slots(slots: &[(Window, bool)], many: usize, slot_s: f64) -> Self {
        let many = many.max(1);
        let clean: Vec<Window> = slots
            .iter()
            .filter(|slot| !slot.1)
            .map(|slot| slot.0)
            .collect();
        let all: Vec<Window> = slots.iter().map(|slot| slot.0).collect();
        let disturbed = clean.len() < many && clean.len() < all.len();
        let sum = |part: &[Window]| {
            let sum = |of: fn(&Window) -> u64| part.iter().map(of).sum::<u64>();
            (sum(|window| window.sent), sum(|window| window.lost))
        };
        let judged = if disturbed { &all } else { &clean };
        let (sent, lost) = judged.chunks_exact(many).map(sum).unzip();
        Self {
            length_s: many as f64 * slot_s,
            sent,
            lost,
            apart_s: (all.len() - clean.len()) as f64 * slot_s,
            disturbed,
        }
    }

    /// The windows in which frames were sent.
    pub fn iter(&self) -> impl Iterator<Item = Window> + '_ {
        self.sent
            .iter()
            .zip(&self.lost)
            .map(|(&sent, &lost)| Window { sent, lost })
            .filter(|window| window.sent > 0)
    }

    /// Share of the time that was not set apart.
    pub fn clean(&self) -> f64 {
        let judged_s = self.length_s * self.sent.len() as f64;
        match self.apart_s {
            _ if self.disturbed => 0.0,
            0.0 => 1.0,
            apart_s => judged_s / (judged_s + apart_s),
        }
    }

    /// Windows within `goal`, and windows beyond it.
    pub fn judged(&self, goal: f64) -> (u32, u32) {
        self.judged_from(0.0, goal)
    }

    /// The same of those windows in which at least `least` frames were sent.
    pub fn judged_from(&self, least: f64, goal: f64) -> (u32, u32) {
        self.iter()
            .filter(|window| window.sent as f64 >= least)
            .fold((0, 0), |(good, bad), window| {
                if window.meets(goal) {
                    (good + 1, bad)
                } else {
                    (good, bad + 1)
                }
            })
    }

    /// The same in windows of `length_s`, each of as many whole ones of these as come nearest; what is
    /// left over at the end is none. Windows are never split.
    pub fn merged(&self, length_s: f64) -> Self {
        let many = (length_s / self.length_s).round();
        // Not so for a length that is no number, either.
        if many.is_nan() || many < 2.0 {
            return self.clone();
        }
        let sums = |of: &[u64]| -> Vec<u64> {
            let parts = of.chunks_exact(many as usize);
            parts.map(|part| part.iter().sum()).collect()
        };
        Self {
            length_s: self.length_s * many,
            sent: sums(&self.sent),
            lost: sums(&self.lost),
            apart_s: self.apart_s,
            disturbed: self.disturbed,
        }
    }

    /// Median of the windows' forwarding rates, per direction; `None` without windows.
    pub fn forwarding(&self, directions: u32) -> Option<Fps> {
        let per_s = |window: Window| {
            (window.sent.saturating_sub(window.lost)) as f64
                / (self.length_s * f64::from(directions.max(1)))
        };
        let mut rates: Vec<f64> = self.iter().map(per_s).collect();
        rates.sort_by(f64::total_cmp);
        let last = rates.len().checked_sub(1).filter(|_| self.length_s > 0.0)?;
        Some(Fps(f64::midpoint(rates[last / 2], rates[last.div_ceil(2)])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_windows_keep_their_frames_and_leave_out_the_rest() {
        let slots = Windows {
            length_s: 0.01,
            sent: vec![100; 7],
            lost: vec![1, 0, 0, 0, 5, 0, 9],
            apart_s: 0.0,
            disturbed: false,
        };
        let merged = slots.merged(0.0301);
        assert_eq!((merged.sent, merged.lost), (vec![300; 2], vec![1, 5]));
        assert!((merged.length_s - 0.03).abs() < 1e-12);
        assert_eq!(slots.merged(0.01), slots);
        assert_eq!(slots.merged(f64::NAN), slots);
        assert!(slots.merged(1.0).sent.is_empty());
    }

    #[test]
    fn windows_are_judged_one_by_one() {
        let windows = Windows {
            length_s: 0.05,
            sent: vec![10_000, 10_000, 0, 10_000, 10_000],
            lost: vec![0, 1, 0, 2, 5_000],
            apart_s: 0.0,
            disturbed: false,
        };
        assert_eq!(windows.judged(1e-4), (2, 2));
        assert_eq!(windows.judged(0.0), (1, 3));
        // The two in the middle of 5000, 9998, 9999 and 10000 frames.
        let forwarding = windows.forwarding(1).unwrap();
        assert!((forwarding.0 - 199_970.0).abs() < 1e-6, "{forwarding:?}");
        assert!((windows.forwarding(2).unwrap().0 - 99_985.0).abs() < 1e-6);
        assert_eq!(Windows::default().forwarding(1), None);
    }
}
