//! What the machine itself did to a phase: in a virtual machine CPUs stand still for milliseconds, and other programs
//! take them. What is lost or late then is no property of the path.

use std::ops::Range;

use nicety_model::stateful::Setback;

use super::Trial;

/// For how long something that a CPU did instead of its work concerns a phase, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stalled {
    /// Time in which what became of a frame may be due to it.
    pub seconds: f64,
}

/// What is missing of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Shortfall {
    /// Frames that did not arrive, or that the tester's own ring had no room for.
    pub frames: u64,
    /// Rate at which they were sent, all sides together.
    pub fps: f64,
    /// Time by which sending took longer than it should, in seconds.
    pub behind_s: f64,
}

impl Shortfall {
    /// With the time that `sent` frames took longer at `offered` than at `asked`.
    pub fn behind(self, sent: u64, asked: f64, offered: f64) -> Self {
        let took = |rate: f64| sent as f64 / rate;
        let behind_s = if asked > 0.0 && offered > 0.0 {
            (took(offered) - took(asked)).max(0.0)
        } else {
            // Nothing was sent at all: as long as it takes.
            f64::INFINITY
        };
        Self {
            behind_s: self.behind_s.max(behind_s),
            ..self
        }
    }
}

impl Stalled {
    /// Of times in nanoseconds, in any order; where several CPUs stood still at once the time counts once.
    pub fn of(mut spans: Vec<Range<u64>>) -> Self {
        spans.sort_by_key(|span| span.start);
        let (mut total, mut end) = (0, 0);
        for span in spans {
            total += span.end.saturating_sub(span.start.max(end));
            end = end.max(span.end);
        }
        Self {
            seconds: total as f64 * 1e-9,
        }
    }

    /// Stalls that were too many to be noted.
    pub fn always() -> Self {
        Self {
            seconds: f64::INFINITY,
        }
    }

    /// With those of another part of the phase.
    pub fn and(self, other: Self) -> Self {
        Self {
            seconds: self.seconds + other.seconds,
        }
    }

    /// Whether they may be all that is behind a setback. A full table or entries that nobody can explain are never
    /// theirs.
    pub fn explains(self, setback: Setback, missing: Shortfall) -> bool {
        if self.seconds <= 0.0 {
            return false;
        }
        match setback {
            Setback::Lost | Setback::TesterDropped => {
                missing.frames as f64 <= self.seconds * missing.fps
            }
            Setback::Late => missing.behind_s <= self.seconds,
            _ => false,
        }
    }
}

impl Trial {
    /// What a trial says that ended with a setback or none, in which the tester sent `offered` per second: nothing
    /// where the machine may be behind it.
    pub fn of(
        setback: Option<Setback>,
        stalled: Stalled,
        missing: Shortfall,
        offered: f64,
    ) -> Self {
        match setback {
            None => Self::Passed,
            Some(setback) if stalled.explains(setback, missing) => Self::Spoiled,
            Some(Setback::Late) => Self::Late { offered },
            Some(_) => Self::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn times_that_overlap_count_once() {
        let spans = |all: &[(u64, u64)]| {
            let spans = all.iter().map(|(from, to)| from * MS..to * MS);
            (Stalled::of(spans.collect()).seconds * 1e3).round() as u64
        };
        assert_eq!(spans(&[]), 0);
        assert_eq!(spans(&[(10, 15), (2, 4)]), 7);
        assert_eq!(spans(&[(2, 8), (4, 6), (7, 10), (10, 11)]), 9);
    }

    #[test]
    fn a_stall_explains_what_was_sent_meanwhile_and_no_more() {
        let stalled = Stalled { seconds: 0.01 };
        let missing = |frames| Shortfall {
            frames,
            fps: 100_000.0,
            ..Shortfall::default()
        };
        for lost in [Setback::Lost, Setback::TesterDropped] {
            assert!(stalled.explains(lost, missing(1000)));
            assert!(!stalled.explains(lost, missing(1001)));
            assert!(!Stalled::default().explains(lost, missing(0)));
            assert!(Stalled::always().explains(lost, missing(1 << 40)));
        }
        for other in [
            Setback::TableFull,
            Setback::NoPort,
            Setback::LongChain,
            Setback::Strange,
            Setback::Miscounted,
        ] {
            assert!(!Stalled::always().explains(other, missing(0)), "{other}");
        }
    }

    #[test]
    fn a_sender_that_stood_still_is_behind_by_that_time() {
        let late = |offered| Shortfall::default().behind(100_000, 100_000.0, offered);
        let stalled = Stalled { seconds: 0.1 };
        // A tenth of a second longer.
        assert!(stalled.explains(Setback::Late, late(100_000.0 / 1.09)));
        assert!(!stalled.explains(Setback::Late, late(100_000.0 / 1.11)));
        assert!(!stalled.explains(Setback::Late, late(0.0)));
        assert_eq!(late(200_000.0).behind_s, 0.0);
    }

    #[test]
    fn a_trial_fails_only_for_what_the_machine_did_not_do() {
        let missing = Shortfall {
            frames: 5,
            fps: 1000.0,
            behind_s: 0.02,
        };
        let of = |setback, seconds| Trial::of(setback, Stalled { seconds }, missing, 900.0);
        assert_eq!(of(None, 1.0), Trial::Passed);
        assert_eq!(of(Some(Setback::Lost), 0.001), Trial::Failed);
        assert_eq!(of(Some(Setback::Lost), 0.005), Trial::Spoiled);
        assert_eq!(
            of(Some(Setback::Late), 0.01),
            Trial::Late { offered: 900.0 }
        );
        assert_eq!(of(Some(Setback::Late), 0.02), Trial::Spoiled);
        assert_eq!(of(Some(Setback::TableFull), 9.0), Trial::Failed);
        let two = Stalled { seconds: 0.25 }.and(Stalled { seconds: 0.5 });
        assert_eq!(two.seconds, 0.75);
    }
}
