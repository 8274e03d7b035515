//! Slots of five minutes, and how what passed in a time is laid into them.

use std::collections::BTreeMap;
use std::time::Duration;

use nicety_model::bill::{SLOT_SECONDS, Traffic};
use serde::{Deserialize, Serialize};

use super::clocks::stepped;
use super::growth::Growth;

/// What passed in a longer time is laid into the last of it: a clock may be set to any year.
const LONGEST: Duration = Duration::from_secs(31 * 86_400);

/// A moment on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Since the machine has booted, asleep or not: only goes forward.
    pub boot: Duration,
    /// Since 1970 (UTC): may be set.
    pub wall: Duration,
}

impl Moment {
    /// When the slot of this moment begins, in seconds since 1970.
    pub fn slot(self) -> i64 {
        slot(millis(self.wall))
    }

    /// How much further the clock on the wall has gone since an earlier moment than the other one, in milliseconds.
    pub(super) fn ahead_of(self, before: Self) -> i64 {
        let gone = |now, before| millis(now).saturating_sub(millis(before));
        gone(self.wall, before.wall).saturating_sub(gone(self.boot, before.boot))
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn slot(ms: i64) -> i64 {
    ms.div_euclid(1_000).div_euclid(SLOT_SECONDS) * SLOT_SECONDS
}

/// The parts of a time that ends at `end` and lasts `time`, by the slots they are in, in milliseconds. The clock on
/// the wall as it is now tells the slots: one that was set back says when other things were, not how long they took.
pub(super) fn parts(end: Moment, time: Duration) -> Vec<(i64, u64)> {
    let end = millis(end.wall);
    let begin = end.saturating_sub(millis(time.min(LONGEST))).max(0);
    let mut parts = Vec::new();
    let mut at = begin;
    while at < end {
        let start = slot(at);
        let next = (start + SLOT_SECONDS).saturating_mul(1_000).min(end);
        parts.push((start, u64::try_from(next - at).unwrap_or(0)));
        at = next;
    }
    if parts.is_empty() {
        parts.push((slot(end), 0));
    }
    parts
}

/// The parts of a time between two moments. Where the clock on the wall was set meanwhile, what passed before that is in
/// slots of the clock as it was, and nobody knows how much that is.
pub(super) fn parts_between(was: Moment, end: Moment, time: Duration) -> Vec<(i64, u64)> {
    let laid = parts(end, time);
    if stepped(was, end).is_none() {
        return laid;
    }
    let unset = Moment {
        wall: was.wall.saturating_add(time),
        ..end
    };
    let before = parts(unset, time).into_iter();
    let mut all: BTreeMap<i64, u64> = before.map(|(start, _)| (start, 0)).collect();
    // At the begin of 1970 no time is left: all is in the last one.
    all.extend(laid.into_iter().map(|(start, ms)| (start, ms.max(1))));
    all.into_iter().collect()
}

/// Lays what passed into slots. In one slot it is certain; over several it is laid evenly, and each may have had none
/// or all of it.
pub(super) fn lay(growth: Growth, parts: &[(i64, u64)]) -> Vec<(i64, Traffic)> {
    let Growth {
        bytes,
        frames,
        unseen,
    } = growth;
    if let [(start, _)] = parts {
        let traffic = Traffic {
            bytes,
            frames,
            unseen,
            least: bytes,
            most: bytes.saturating_add(unseen),
        };
        return vec![(*start, traffic)];
    }
    let whole = parts.iter().map(|(_, ms)| ms).sum::<u64>().max(1);
    let share =
        |of: u64, until: u64| (u128::from(of) * u128::from(until) / u128::from(whole)) as u64;
    let mut until = 0;
    let mut laid = Vec::with_capacity(parts.len());
    for (start, ms) in parts {
        let before = until;
        until += ms;
        // Differences of sums: nothing is lost by rounding.
        let of = |whole| share(whole, until) - share(whole, before);
        let traffic = Traffic {
            bytes: of(bytes),
            frames: of(frames),
            unseen: of(unseen),
            least: 0,
            most: bytes.saturating_add(unseen),
        };
        laid.push((*start, traffic));
    }
    laid
}
