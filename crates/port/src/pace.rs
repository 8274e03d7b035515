//! The sender's schedule: when each frame is due, and what to do after falling behind.
//!
//! Slots are computed from the start of the schedule, never from the last frame, so the rate
//! is exact in the long run. A sender that was stopped (the hypervisor took its CPU) may catch
//! up only a little, see [`Arrears`]: sending the whole backlog at once would be a burst nobody
//! asked for, and the path would lose frames the load does not explain. Beyond that the schedule
//! itself is moved (a *slip*) and the move is reported.

use hdrhistogram::Histogram;
use nicety_model::{Fps, PacingReport};

/// Most frames sent back to back to catch up, at any rate.
pub const CATCH_UP_FRAMES: u64 = 64;
/// Fewest frames that may be owed: one that is due, and one that came due while that was sent.
const OWED_MIN: u64 = 2;
/// Lateness that is made up for: frames leave in batches of the kernel at rates at which many fall
/// into it, and interrupts take as long.
const MADE_UP_S: f64 = 64e-6;

/// What a late sender owes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrears {
    /// Most frames that may be due at once, 2 to [`CATCH_UP_FRAMES`]; with more the schedule slips.
    pub most: u64,
    /// Frames that are still due after a slip, 1 to `most`.
    pub kept: u64,
}

impl Arrears {
    /// Of a sender of `rate` in each stream. Only the frames of 64 µs may leave back to back, so that
    /// no burst is larger than what the load asks for in a time too short for any path to tell; of a
    /// sender that is later, only the frame due now is. With `catch_up` the sender makes up for as much
    /// as 64 frames at any rate and goes on owing them: in overload, where more is sent so and the path
    /// is full anyway.
    pub fn of(rate: Fps, catch_up: bool) -> Self {
        if catch_up {
            return Self {
                most: CATCH_UP_FRAMES,
                kept: CATCH_UP_FRAMES,
            };
        }
        let frames = (rate.0 * MADE_UP_S).ceil() as u64;
        Self {
            most: frames.clamp(OWED_MIN, CATCH_UP_FRAMES),
            kept: 1,
        }
    }
}

/// Most pieces of a timetable; what a schedule does beyond is not kept.
const PIECES: usize = 1 << 17;

/// When frames were due, with all moves of the schedule.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timetable {
    /// In the order of their first frames.
    pieces: Vec<Piece>,
}

/// A part of a schedule in which frames have the same distance.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    /// Its first frame, and when that is due.
    from: u64,
    at_ns: f64,
    rate: Fps,
}

impl Piece {
    fn due_ns(&self, number: u64) -> f64 {
        self.at_ns + number.saturating_sub(self.from) as f64 * 1e9 / self.rate.0
    }
}

impl Timetable {
    /// One of frames at `rate`, the first due at `start_ns`.
    pub fn even(rate: Fps, start_ns: u64) -> Self {
        let at_ns = start_ns as f64;
        let pieces = vec![Piece {
            from: 0,
            at_ns,
            rate,
        }];
        Self { pieces }
    }

    /// When a frame was due, in ns of the monotonic clock; `None` where nothing is known.
    pub fn due_ns(&self, number: u64) -> Option<f64> {
        let behind = self.pieces.partition_point(|piece| piece.from <= number);
        let piece = self.pieces.get(behind.checked_sub(1)?)?;
        Some(piece.due_ns(number))
    }

    fn push(&mut self, piece: Piece) {
        if let Some(last) = self.pieces.last_mut()
            && last.from == piece.from
        {
            *last = piece;
        } else if self.pieces.len() < PIECES {
            self.pieces.push(piece);
        }
    }
}

/// A rate that a schedule takes on.
#[derive(Debug, Clone, Copy)]
struct Step {
    at: u64,
    rate: Fps,
    arrears: Arrears,
}

/// Schedule of one sender for one trial.
#[derive(Debug)]
pub struct Pacer {
    rate: Fps,
    arrears: Arrears,
    frames: u64,
    /// When frame `from` is due: the first at this rate.
    base_ns: f64,
    from: u64,
    step: Option<Step>,
    timetable: Timetable,
    start_ns: u64,
    done: u64,
    refused: u64,
    burst_max: u32,
    slips: u32,
    slipped_ns: f64,
    slip_max_ns: f64,
    rests: u32,
    rested_ns: u64,
    late_ns: Option<Histogram<u64>>,
}

impl Pacer {
    /// `frames` frames at `rate`, the first one due at `start_ns`.
    pub fn new(rate: Fps, arrears: Arrears, frames: u64, start_ns: u64) -> Self {
        Self {
            rate,
            arrears,
            frames,
            base_ns: start_ns as f64,
            from: 0,
            step: None,
            timetable: Timetable::even(rate, start_ns),
            start_ns,
            done: 0,
            refused: 0,
            burst_max: 0,
            slips: 0,
            slipped_ns: 0.0,
            slip_max_ns: 0.0,
            rests: 0,
            rested_ns: 0,
            // 1 ns to 10 s with two digits; cannot fail for these constants, and without a
            // histogram only the lateness figures would be missing.
            late_ns: Histogram::new_with_bounds(1, 10_000_000_000, 2).ok(),
        }
    }

    /// The same schedule with another rate from frame number `at` on.
    #[must_use]
    pub fn with_step(mut self, at: u64, rate: Fps, arrears: Arrears) -> Self {
        self.step = Some(Step { at, rate, arrears });
        self
    }

    /// Frames to send now, at most `room`; moves the schedule when the sender fell too far
    /// behind. Zero before the next slot and after the last.
    pub fn due(&mut self, now_ns: u64, room: usize) -> usize {
        let now = now_ns as f64;
        if let Some(step) = self.step.take_if(|step| step.at <= self.done) {
            self.base_ns = self.slot_ns(step.at);
            (self.from, self.rate, self.arrears) = (step.at, step.rate, step.arrears);
            self.note();
        }
        if self.is_done() || now < self.base_ns {
            return 0;
        }
        let slots = self.from + ((now - self.base_ns) * self.rate.0 * 1e-9) as u64 + 1;
        let backlog = slots.min(self.frames).saturating_sub(self.done);
        if backlog == 0 {
            return 0;
        }
        // Frames behind the step have a distance of their own.
        let before = self.step.map_or(backlog, |step| step.at - self.done);
        let room = before.min(room as u64);
        let late_ns = now - self.slot_ns(self.done);
        if backlog > self.arrears.most {
            self.slip(now);
            return self.arrears.kept.min(room) as usize;
        }
        if let Some(late) = &mut self.late_ns {
            late.saturating_record(late_ns.max(0.0) as u64);
        }
        backlog.min(room) as usize
    }

    /// Counts `sent` frames put on the wire, and `refused` slots given up without a frame.
    pub fn sent(&mut self, sent: usize, refused: usize) {
        self.done += (sent + refused) as u64;
        self.refused += refused as u64;
        self.burst_max = self.burst_max.max(u32::try_from(sent).unwrap_or(u32::MAX));
    }

    /// Moves the schedule by a rest of `length_ns`: nothing is owed for it.
    pub fn rested(&mut self, length_ns: u64) {
        self.base_ns += length_ns as f64;
        self.rests += 1;
        self.rested_ns += length_ns;
        self.note();
    }

    /// Whether every slot has been used.
    pub fn is_done(&self) -> bool {
        self.done >= self.frames
    }

    /// Slots used so far: the next sequence number.
    pub fn used(&self) -> u64 {
        self.done
    }

    /// When frames were due.
    pub fn timetable(&self) -> &Timetable {
        &self.timetable
    }

    /// Writes down when the next frames are due.
    fn note(&mut self) {
        self.timetable.push(Piece {
            from: self.done,
            at_ns: self.slot_ns(self.done),
            rate: self.rate,
        });
    }

    /// The sender's account, with `end_ns` the time it stopped.
    pub fn report(&self, end_ns: u64) -> PacingReport {
        let slot_ns = if self.rate.0 > 0.0 {
            1e9 / self.rate.0
        } else {
            0.0
        };
        // The last frame's slot belongs to the sending time: N frames take N slots.
        let end = (end_ns as f64).max(self.slot_ns(self.done.saturating_sub(1)) + slot_ns);
        let sending_s = ((end - self.start_ns as f64) * 1e-9).max(0.0);
        let sent = self.done - self.refused;
        let late = |q: f64| {
            self.late_ns
                .as_ref()
                .map_or(0.0, |h| h.value_at_quantile(q) as f64 / 1000.0)
        };
        PacingReport {
            offered_fps: if sending_s > 0.0 {
                sent as f64 / sending_s
            } else {
                0.0
            },
            sending_s,
            burst_max: self.burst_max,
            slips: self.slips,
            slipped_s: self.slipped_ns * 1e-9,
            slip_max_s: self.slip_max_ns * 1e-9,
            rests: self.rests,
            rested_s: self.rested_ns as f64 * 1e-9,
            late_p99_us: late(0.99),
            late_max_us: late(1.0).max(self.slip_max_ns / 1000.0),
            refused: self.refused,
        }
    }

    /// When frame number `n` is due.
    fn slot_ns(&self, n: u64) -> f64 {
        self.base_ns + (n as f64 - self.from as f64) * 1e9 / self.rate.0
    }

    /// Moves the schedule so that only the allowed backlog remains at `now`.
    fn slip(&mut self, now: f64) {
        let keep = (self.arrears.kept - 1) as f64;
        let due = self.done as f64 - self.from as f64 + keep;
        let base = now - due * 1e9 / self.rate.0;
        let moved = base - self.base_ns;
        if moved <= 0.0 {
            return;
        }
        self.base_ns = base;
        self.slips += 1;
        self.slipped_ns += moved;
        self.slip_max_ns = self.slip_max_ns.max(moved);
        self.note();
    }
}

#[cfg(test)]
mod tests;
