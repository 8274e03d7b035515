//! A path on a machine that others use, slot by slot: a fluid queue before a server whose speed
//! varies and that stands still now and then. Time goes on from trial to trial, so that slow phases
//! and drift are where they are whoever asks.

use super::Slot;
use super::traces::{Gaps, TRACE_S, within};

/// Length of a slot in seconds, as engines have it.
pub const SLOT_S: f64 = nicety_model::windows::SLOT_NS as f64 * 1e-9;
/// Time over which the speed stays as it is, in seconds.
const SPEED_S: f64 = 0.1;
/// Period of the drift in seconds.
const DRIFT_S: f64 = 120.0;

/// What disturbs a path; nothing by default.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Busy {
    /// Frames per second of the undisturbed path.
    pub capacity: f64,
    /// Frames that wait while it stands still.
    pub ring: f64,
    /// Stalls per second (Poisson).
    pub stalls_per_s: f64,
    /// Mean length of a stall in seconds (exponential).
    pub stall_s: f64,
    /// Relative standard deviation of the speed from one tenth of a second to the next.
    pub jitter: f64,
    /// Slow phases per second (Poisson).
    pub slow_per_s: f64,
    /// Their mean length in seconds (exponential).
    pub slow_s: f64,
    /// Share of the speed that is missing in them.
    pub slow_by: f64,
    /// Share by which the speed drifts either way, in two minutes.
    pub drift: f64,
    /// Every so many frames one is lost, whatever the load; 0 for none.
    pub every: u64,
    /// Recorded times in which it stands still besides.
    pub gaps: Gaps,
}

impl Busy {
    /// A path that nothing disturbs.
    pub fn quiet(capacity: f64, ring: f64) -> Self {
        Self {
            capacity,
            ring,
            stalls_per_s: 0.0,
            stall_s: 0.0,
            jitter: 0.0,
            slow_per_s: 0.0,
            slow_s: 0.0,
            slow_by: 0.0,
            drift: 0.0,
            every: 0,
            gaps: &[],
        }
    }
}

/// The machine's state between two slots.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    now: f64,
    /// Speed of this tenth of a second, and when it ends.
    speed: f64,
    speed_until: f64,
    /// The slow phase under way or to come.
    slow: (f64, f64),
    frames: f64,
    /// Where in the record of its gaps the time begins.
    phase: Option<f64>,
}

/// As the tester sees stalls: from this length on, and frames are set apart from so long before to so long after one
/// (`nicety_port::stalls`, `nicety_trial::stalls`).
const SEEN_S: f64 = 0.45e-3;
const BEFORE_S: f64 = 0.5e-3;
const AFTER_S: f64 = 2e-3;

impl State {
    /// Time passes without load.
    pub(super) fn wait(&mut self, seconds: f64) {
        self.now += seconds;
    }

    /// Sends `load` frames per second for `count` slots, into an empty queue.
    pub(super) fn send(
        &mut self,
        path: &Busy,
        load: f64,
        count: u64,
        random: &mut fastrand::Rng,
    ) -> Vec<Slot> {
        let mut queued: f64 = 0.0;
        let mut slots = Vec::new();
        let phase = *self.phase.get_or_insert_with(|| random.f64() * TRACE_S);
        for _ in 0..count {
            let capacity = path.capacity * self.speed(path, random);
            let standing = stalls(path, random);
            let begin = phase + self.now;
            let mut lost = 0.0;
            let mut pieces = vec![(load, standing)];
            let mut at = begin + standing;
            for (start, end) in within(path.gaps, at, begin + SLOT_S) {
                pieces.extend([(load - capacity, start - at), (load, end - start)]);
                at = end;
            }
            pieces.push((load - capacity, begin + SLOT_S - at));
            let mut near = within(path.gaps, begin - AFTER_S, begin + SLOT_S + BEFORE_S);
            let apart = standing > SEEN_S || near.any(|(start, end)| end - start > SEEN_S);
            for (rate, time) in pieces {
                let level = queued + rate * time;
                lost += (level - path.ring).max(0.0);
                queued = level.clamp(0.0, path.ring);
            }
            let sent = load * SLOT_S;
            if path.every > 0 {
                let nth = |frames: f64| (frames / path.every as f64).floor();
                lost += nth(self.frames + sent) - nth(self.frames);
            }
            self.frames += sent;
            self.now += SLOT_S;
            slots.push(Slot {
                sent,
                lost: lost.min(sent),
                apart,
            });
        }
        slots
    }

    /// Speed now, as a share of the undisturbed path's.
    fn speed(&mut self, path: &Busy, random: &mut fastrand::Rng) -> f64 {
        if self.now >= self.speed_until {
            self.speed = 1.0 + path.jitter * super::normal(random);
            self.speed_until = self.now + SPEED_S;
        }
        let mut speed = self.speed;
        if path.drift > 0.0 {
            speed *= 1.0 + path.drift * (std::f64::consts::TAU * self.now / DRIFT_S).sin();
        }
        if path.slow_per_s > 0.0 {
            while self.now >= self.slow.1 {
                let begin = self.slow.1 + super::exponential(random, 1.0 / path.slow_per_s);
                self.slow = (begin, begin + super::exponential(random, path.slow_s));
            }
            if self.now >= self.slow.0 {
                speed *= 1.0 - path.slow_by;
            }
        }
        speed
    }
}

/// Time for which the path stands still in a slot.
fn stalls(path: &Busy, random: &mut fastrand::Rng) -> f64 {
    if path.stalls_per_s <= 0.0 {
        return 0.0;
    }
    let (mut at, mut sum) = (super::exponential(random, 1.0 / path.stalls_per_s), 0.0);
    while at < SLOT_S {
        sum += super::exponential(random, path.stall_s);
        at += super::exponential(random, 1.0 / path.stalls_per_s);
    }
    sum.min(SLOT_S)
}
