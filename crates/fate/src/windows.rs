//! Which frames are sampled: those that were sent in windows.

use std::time::Duration;

/// Time between the begins of two windows. A power of two, so that a program finds with a mask where in it a frame was
/// sent.
const PERIOD_NS: u64 = 1 << 27;
/// Time that a frame may take: so long the programs look for frames of a window that has ended.
pub(crate) const TAIL: Duration = Duration::from_millis(4);
/// To attach, the kernel stops all CPUs for a moment: frames that waited then are not like the others.
pub(crate) const SETTLE: Duration = Duration::from_millis(1);
/// Longer than a trial, and half of what a stamp's clock can tell apart.
const ENDLESS_NS: u64 = 1 << 47;
/// Bits of a stamp's clock.
const CLOCK_MASK: u64 = (1 << 48) - 1;
/// Frames that a trial samples: enough for the 99.9th percentile, and few enough that most pass undisturbed.
const SAMPLED: f64 = 20_000.0;

/// Windows of a trial, by the clock of the stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// When one begins. Others begin [`PERIOD_NS`] earlier and later.
    from_ns: u64,
    /// How long each is.
    length_ns: u64,
    /// Whether somebody else samples by the same windows, so that they may not move.
    shared: bool,
}

impl Windows {
    /// Those of a trial of so many frames that begins now.
    pub fn new(frames: u64, now_ns: u64) -> Self {
        let share = (SAMPLED / frames.max(1) as f64).clamp(0.0, 1.0);
        let length_ns = (PERIOD_NS as f64 * share) as u64;
        let mut windows = Self {
            from_ns: now_ns,
            length_ns,
            shared: false,
        };
        match windows.pause() {
            // The first frames of a trial are not like the others.
            Some(pause) => windows.from_ns += pause.as_nanos() as u64 / 2,
            None => windows.length_ns = ENDLESS_NS,
        }
        windows
    }

    /// The same where a guest samples by them too.
    #[must_use]
    pub fn shared(self) -> Self {
        Self {
            shared: true,
            ..self
        }
    }

    /// As another one was told; `None` where no trial has such.
    pub(crate) fn told([from_ns, length_ns]: [u64; 2]) -> Option<Self> {
        let known = length_ns <= PERIOD_NS || length_ns == ENDLESS_NS;
        known.then_some(Self {
            from_ns,
            length_ns,
            shared: true,
        })
    }

    /// To tell another one.
    pub(crate) fn words(self) -> [u64; 2] {
        [self.from_ns, self.length_ns]
    }

    /// What finds the windows in the clock of a stamp, and their length.
    pub(crate) fn all(self) -> (u64, u64) {
        match self.length_ns {
            ENDLESS_NS => (CLOCK_MASK, ENDLESS_NS),
            length => (PERIOD_NS - 1, length),
        }
    }

    /// Time between a window and the next, apart from what both need; `None` where all frames are sampled.
    pub(crate) fn pause(self) -> Option<Duration> {
        let length = Duration::from_nanos(self.length_ns);
        Duration::from_nanos(PERIOD_NS).checked_sub(SETTLE + length + TAIL)
    }

    /// How long it is until a window, and what is left of it then. A thread that is late moves a window of its own, and
    /// takes no station from a frame of it; a shared one it has for a shorter time.
    pub(crate) fn next(self, now_ns: u64) -> (Duration, u64) {
        let at = now_ns.wrapping_sub(self.from_ns) % PERIOD_NS;
        match (self.shared, at < self.length_ns) {
            (false, _) => (Duration::ZERO, self.length_ns),
            (true, true) => (Duration::ZERO, self.length_ns - at),
            (true, false) => (Duration::from_nanos(PERIOD_NS - at), self.length_ns),
        }
    }

    /// How long to wait before the programs are attached again.
    pub(crate) fn rest(self, now_ns: u64) -> Duration {
        let pause = self.pause().unwrap_or_default();
        if self.shared {
            self.next(now_ns).0.saturating_sub(2 * SETTLE)
        } else {
            pause
        }
    }

    /// Bits of the clock by which a window is found that comes once.
    pub(crate) fn once() -> u64 {
        CLOCK_MASK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_frames_are_all_sampled() {
        let all = Windows::new(15_000, 7);
        assert_eq!((all.pause(), all.all()), (None, (CLOCK_MASK, ENDLESS_NS)));
        assert_eq!(Windows::told(all.words()), Some(all.shared()));
        assert_eq!(Windows::told([0, PERIOD_NS + 1]), None);
    }

    #[test]
    fn a_shared_window_stays_where_it_is() {
        let own = Windows::new(100_000, 1_000);
        let length = own.length_ns;
        assert_eq!(length, PERIOD_NS / 5);
        assert_eq!(own.next(own.from_ns + 77), (Duration::ZERO, length));
        let shared = own.shared();
        assert_eq!(shared.next(shared.from_ns), (Duration::ZERO, length));
        let late = shared.next(shared.from_ns + 3 * PERIOD_NS + 1_000);
        assert_eq!(late, (Duration::ZERO, length - 1_000));
        let early = shared.next(shared.from_ns - 5_000);
        assert_eq!(early, (Duration::from_nanos(5_000), length));
        let (mask, _) = shared.all();
        let sent = shared.from_ns + 9 * PERIOD_NS + length;
        assert_eq!(sent.wrapping_sub(shared.from_ns) & mask, length);
        assert!(shared.rest(shared.from_ns + length) < Duration::from_nanos(PERIOD_NS - length));
    }
}
