//! What the intervals of a constant load come to: totals, the alarm, and what is kept of them.

mod keep;
mod points;

use nicety_model::interval::{
    Alarm, Gap, Interval, LatencyHistogram, LoadLine, LoadSummary, LossyInterval,
};
use nicety_model::{LossEntry, SCHEMA};

use crate::histogram;

pub use keep::{Keeper, MIN_KEPT_S};
pub use points::{POINTS, Points};

/// Lossy intervals that a summary lists.
pub const LOSSES: usize = 50;
/// Gaps that a summary lists.
pub const GAPS: usize = 50;
/// Places of loss that a summary keeps apart.
pub const PLACES: usize = 32;
/// Place of frames of further places.
const ELSEWHERE: &str = "other places";

/// All intervals so far, in memory that does not grow with their number.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    sum: LoadSummary,
    /// Offered load, and that asked for, times the time in which frames were sent.
    offered: f64,
    asked: f64,
    alarmed: bool,
}

impl Totals {
    /// Takes a line of an earlier session: what was said then is not said again.
    pub fn replay(&mut self, line: &LoadLine) {
        match line {
            LoadLine::Interval(interval) => drop(self.observe(interval)),
            LoadLine::Gap(gap) => self.gap(gap),
            LoadLine::Alarm(_) | LoadLine::Summary(_) => {}
        }
    }

    /// Takes an interval; the alarm where it is the first with loss.
    pub fn observe(&mut self, interval: &Interval) -> Option<Alarm> {
        let sum = &mut self.sum;
        if sum.intervals == 0 && sum.gap_count == 0 {
            sum.started_unix_s = interval.started_unix_s;
        }
        sum.ended_unix_s = interval.ended_unix_s();
        sum.intervals = sum.intervals.max(interval.number);
        sum.sending_s += interval.sending_s;
        sum.wall_s += interval.wall_s;
        self.offered += interval.offered_fps * interval.sending_s;
        self.asked += interval.load_fps * interval.sending_s;
        sum.frames.add(&interval.frames);
        sum.set_apart += interval.set_apart;
        let several = interval.several();
        sum.invalid_intervals += several.invalid;
        sum.lossy_intervals += several.lossy;
        add_places(&mut sum.loss_ledger, &interval.loss_ledger, PLACES);
        histogram::merge(&mut sum.histogram, &interval.histogram);
        sum.latency_us = histogram::summary(sum.latency_us, interval.latency_us, &sum.histogram);
        let lost = interval.lost();
        if lost == 0 {
            return None;
        }
        sum.last_loss_unix_s = Some(last_loss(interval));
        if sum.losses.len() < LOSSES {
            sum.losses.push(LossyInterval {
                number: interval.number,
                at_unix_s: interval.loss_at_unix_s(),
                lost,
                place: place(&interval.loss_ledger).to_owned(),
            });
        }
        let first = !std::mem::replace(&mut self.alarmed, true);
        first.then(|| Alarm {
            schema: SCHEMA,
            number: interval.number,
            at_unix_s: interval.loss_at_unix_s(),
            lost,
            sent: interval.frames.sent,
            loss_ledger: interval.loss_ledger.clone(),
        })
    }

    /// Takes a time in which nothing was counted.
    pub fn gap(&mut self, gap: &Gap) {
        let sum = &mut self.sum;
        if sum.intervals == 0 && sum.gap_count == 0 {
            sum.started_unix_s = gap.from_unix_s;
        }
        sum.gap_count += 1;
        sum.gap_s += (gap.to_unix_s - gap.from_unix_s).max(0.0);
        sum.ended_unix_s = sum.ended_unix_s.max(gap.to_unix_s);
        if sum.gaps.len() < GAPS {
            sum.gaps.push(gap.clone());
        }
    }

    /// Length of all intervals in seconds.
    pub fn wall_s(&self) -> f64 {
        self.sum.wall_s
    }

    /// Number of the last interval.
    pub fn intervals(&self) -> u64 {
        self.sum.intervals
    }

    /// Start of the first interval, seconds since the Unix epoch; `None` before the first line.
    pub fn started_unix_s(&self) -> Option<f64> {
        (self.sum.started_unix_s > 0.0).then_some(self.sum.started_unix_s)
    }

    /// End of what is known, seconds since the Unix epoch; `None` before the first line.
    pub fn ended_unix_s(&self) -> Option<f64> {
        (self.sum.ended_unix_s > 0.0).then_some(self.sum.ended_unix_s)
    }

    /// Lost frames, without those set apart.
    pub fn lost(&self) -> u64 {
        self.sum.lost()
    }

    /// What it comes to.
    pub fn summary(&self, complete: bool) -> LoadSummary {
        let sum = &self.sum;
        let counted = sum.frames.sent.saturating_sub(sum.set_apart);
        LoadSummary {
            schema: SCHEMA,
            complete,
            load_fps: ratio(self.asked, sum.sending_s),
            offered_fps: ratio(self.offered, sum.sending_s),
            loss_ratio: ratio(sum.lost() as f64, counted as f64),
            ..sum.clone()
        }
    }
}

fn ratio(of: f64, by: f64) -> f64 {
    if by > 0.0 { of / by } else { 0.0 }
}

/// Where most of a ledger's frames were lost.
pub fn place(ledger: &[LossEntry]) -> &str {
    let most = ledger.iter().max_by_key(|entry| entry.frames);
    most.map_or("unexplained", |entry| entry.place.as_str())
}

/// When frames of an interval were lost last, as well as that is known.
fn last_loss(interval: &Interval) -> f64 {
    let ends = interval
        .losses
        .iter()
        .map(|span| span.at_unix_s + span.seconds);
    let last = ends.fold(interval.loss_at_unix_s(), f64::max);
    let told: u64 = interval.losses.iter().map(|span| span.frames).sum();
    // Later spans may have found no room.
    if told < interval.frames.lost {
        interval.ended_unix_s()
    } else {
        last
    }
}

/// Adds the entries of a ledger, most first; those beyond `room` places become one.
pub(crate) fn add_places(all: &mut Vec<LossEntry>, more: &[LossEntry], room: usize) {
    for entry in more.iter().filter(|entry| entry.frames > 0) {
        let same =
            |known: &&mut LossEntry| known.place == entry.place && known.cause == entry.cause;
        match all.iter_mut().find(same) {
            Some(known) => known.frames += entry.frames,
            None => all.push(entry.clone()),
        }
    }
    all.sort_by_key(|entry| std::cmp::Reverse(entry.frames));
    if all.len() <= room {
        return;
    }
    let rest = all.split_off(room.saturating_sub(1));
    let mut frames: u64 = rest.iter().map(|entry| entry.frames).sum();
    all.retain(|entry| {
        let is_rest = entry.place == ELSEWHERE && entry.cause.is_none();
        if is_rest {
            frames += entry.frames;
        }
        !is_rest
    });
    all.push(LossEntry::counted(ELSEWHERE, frames));
}

/// The histogram and summary of one more interval.
pub(crate) fn add_latency(all: &mut Interval, more: &Interval) {
    let mut merged: LatencyHistogram = std::mem::take(&mut all.histogram);
    histogram::merge(&mut merged, &more.histogram);
    all.latency_us = histogram::summary(all.latency_us, more.latency_us, &merged);
    all.histogram = merged;
}

#[cfg(test)]
mod tests;
