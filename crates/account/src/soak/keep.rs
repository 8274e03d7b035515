//! What is kept of a soak's intervals: at most a line in ten seconds, and none longer than a few thousand bytes, so
//! that an hour takes less than a megabyte whatever its intervals are like.

use nicety_model::interval::{Interval, LossSpan, Several};

use super::{add_latency, add_places};
use crate::lost::SPANS;

/// Shortest time that a kept line stands for, in seconds.
pub const MIN_KEPT_S: f64 = 10.0;
/// Places of loss that a kept line has.
const PLACES: usize = 6;
/// Bytes of a name or a reason that are kept.
const WORDS: usize = 60;
/// Losses that a kept line has a time of.
const KEPT_SPANS: usize = 4;

/// Puts short intervals together before they are kept.
#[derive(Debug, Clone, Default)]
pub struct Keeper {
    open: Option<Interval>,
}

impl Keeper {
    /// Takes an interval; a line to keep, where enough has come together.
    pub fn add(&mut self, interval: &Interval) -> Option<Interval> {
        let mut one = interval.clone();
        one.flows.clear();
        match &mut self.open {
            None => self.open = Some(one),
            Some(all) => put(all, &one),
        }
        match &self.open {
            // Half a second less, so that intervals of ten seconds are kept one by one.
            Some(all) if all.wall_s >= MIN_KEPT_S - 0.5 => self.flush(),
            _ => None,
        }
    }

    /// What has come together so far: before a gap, and at the end.
    pub fn flush(&mut self) -> Option<Interval> {
        let mut all = self.open.take()?;
        bound(&mut all);
        Some(all)
    }
}

/// Puts an interval behind others.
pub(super) fn put(all: &mut Interval, more: &Interval) {
    let (before, added) = (all.several(), more.several());
    all.several = Some(Several {
        lossy: before.lossy + added.lossy,
        invalid: before.invalid + added.invalid,
    });
    add_latency(all, more);
    let sending_s = all.sending_s + more.sending_s;
    if sending_s > 0.0 {
        let frames = |of: &Interval| of.received_fps * of.sending_s;
        all.received_fps = (frames(all) + frames(more)) / sending_s;
    }
    all.sending_s = sending_s;
    // What is between them was neither sent nor drained, and is some milliseconds.
    all.wall_s = more.ended_unix_s() - all.started_unix_s;
    all.number = more.number;
    all.load_fps = more.load_fps;
    all.offered_fps = all.offered_fps.min(more.offered_fps);
    all.frames.add(&more.frames);
    all.set_apart += more.set_apart;
    if all.validity.is_valid() {
        all.validity = more.validity.clone();
    }
    let room = SPANS.saturating_sub(all.losses.len());
    let spans: Vec<LossSpan> = more.losses.iter().take(room).copied().collect();
    all.losses.extend(spans);
    add_places(&mut all.loss_ledger, &more.loss_ledger, PLACES);
}

/// Keeps a line short, whatever a path calls its places.
fn bound(all: &mut Interval) {
    use nicety_model::Validity;
    all.losses.truncate(KEPT_SPANS);
    let ledger = std::mem::take(&mut all.loss_ledger);
    add_places(&mut all.loss_ledger, &ledger, PLACES);
    for entry in &mut all.loss_ledger {
        cut(&mut entry.place);
    }
    if let Validity::LoadMissed { why } | Validity::Stalled { why } | Validity::Broken { why } =
        &mut all.validity
    {
        cut(why);
    }
}

fn cut(text: &mut String) {
    if text.len() > WORDS {
        let end = text.floor_char_boundary(WORDS);
        text.truncate(end);
        text.push('…');
    }
}
