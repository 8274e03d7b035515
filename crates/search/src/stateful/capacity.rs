//! How many connections a table holds: fills of an empty table, twice as many each time, then exactly (RFC 9693 §4.9:
//! an exponential search, then a bisection). Where the kernel says how many stayed of a fill that was too large, that
//! number is tried before any middle, and the one above it.

use nicety_model::stateful::Setback;

/// A fill of an empty table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fill {
    /// Connections.
    pub connections: u64,
    /// Share of the safe rate to open them at.
    pub pace: f64,
}

/// What came of a fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// All stayed.
    All,
    /// The table had no room for all; the kernel kept so many.
    Part {
        /// Entries that the kernel counts.
        kept: u64,
    },
    /// It does not say: frames were lost before they reached the table, or behind it.
    Unknown(Setback),
}

/// Fills that may say nothing, one after the other, each slower.
const UNKNOWN_MOST: u32 = 4;
/// Fills altogether.
const FILLS_MOST: u32 = 64;
/// An end that is not confirmed is tried so often: a kernel that was overfull removes entries for a while.
const DOUBTS: u32 = 3;

/// The search.
#[derive(Debug, Clone)]
pub struct CapacitySearch {
    most: u64,
    held: u64,
    overflowed: Option<u64>,
    guess: Option<u64>,
    doubts: u32,
    unknown: u32,
    fills: u32,
    next: Option<u64>,
    gave_up: Option<Setback>,
}

impl CapacitySearch {
    /// From `first` connections on, up to `most`.
    pub fn new(first: u64, most: u64) -> Self {
        Self::from(first, None, most)
    }

    /// With what the kernel says that the table holds, which is tried first; then one more.
    pub fn expecting(said: u64, most: u64) -> Self {
        Self::from(said, Some(said), most)
    }

    fn from(first: u64, guess: Option<u64>, most: u64) -> Self {
        Self {
            most,
            held: 0,
            overflowed: None,
            guess,
            doubts: 0,
            unknown: 0,
            fills: 0,
            next: Some(first.clamp(1, most.max(1))),
            gave_up: None,
        }
    }

    /// The next fill; `None` at the end.
    pub fn next(&self) -> Option<Fill> {
        Some(Fill {
            connections: self.next?,
            pace: 0.5_f64.powi(self.unknown.cast_signed()),
        })
    }

    /// Takes what came of [`Self::next`].
    pub fn observe(&mut self, held: Held) {
        let Some(asked) = self.next else { return };
        self.fills += 1;
        match held {
            Held::Unknown(why) => {
                self.unknown += 1;
                if self.unknown >= UNKNOWN_MOST || self.fills >= FILLS_MOST {
                    self.gave_up = Some(why);
                    self.next = None;
                }
                return;
            }
            Held::All => {
                self.held = self.held.max(asked);
                self.doubts = 0;
                if self.overflowed.is_some_and(|over| over <= asked) {
                    self.overflowed = None;
                }
            }
            Held::Part { kept } => {
                // What the kernel itself said it keeps is doubted only when it does so again.
                if self.guess == Some(asked) && self.doubts + 1 < DOUBTS {
                    self.doubts += 1;
                    return;
                }
                self.overflowed = Some(self.overflowed.map_or(asked, |over| over.min(asked)));
                self.guess = Some(kept).filter(|kept| *kept > self.held && *kept < asked);
                self.doubts = 0;
            }
        }
        self.unknown = 0;
        self.plan();
        if self.fills >= FILLS_MOST {
            self.next = None;
        }
    }

    /// Most that stayed; `None` for none.
    pub fn held(&self) -> Option<u64> {
        (self.held > 0).then_some(self.held)
    }

    /// Fewest that did not.
    pub fn overflowed(&self) -> Option<u64> {
        self.overflowed
    }

    /// Whether both are known, next to each other.
    pub fn is_exact(&self) -> bool {
        self.overflowed == Some(self.held + 1)
    }

    /// Whether all stayed of as many as may be tried.
    pub fn at_most(&self) -> bool {
        self.overflowed.is_none() && self.held >= self.most
    }

    /// Why fills say nothing, where that ended the search.
    pub fn gave_up(&self) -> Option<Setback> {
        self.gave_up
    }

    /// Fills so far.
    pub fn fills(&self) -> u32 {
        self.fills
    }

    fn plan(&mut self) {
        let held = self.held;
        self.next = match self.overflowed {
            None if held >= self.most => None,
            None if self.guess == Some(held) => Some(held + 1),
            None => Some((held * 2).min(self.most)),
            Some(over) if over <= held + 1 => None,
            Some(over) => Some(match self.guess {
                Some(guess) if guess > held && guess < over => guess,
                // The guess stayed: one more must not.
                Some(guess) if guess == held => held + 1,
                _ => held + (over - held) / 2,
            }),
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A table that holds `room`, and throws out for what comes then.
    fn run(room: u64, most: u64, tells: bool) -> CapacitySearch {
        let mut search = CapacitySearch::new(10_000, most);
        while let Some(fill) = search.next() {
            search.observe(if fill.connections <= room {
                Held::All
            } else {
                Held::Part {
                    kept: if tells { room } else { 0 },
                }
            });
        }
        search
    }

    #[test]
    fn what_the_kernel_says_is_confirmed_on_both_sides() {
        let search = run(262_144, 4_000_000, true);
        assert_eq!(
            (search.held(), search.overflowed()),
            (Some(262_144), Some(262_145))
        );
        // 10, 20, 40, 80, 160, 320 thousand, the number, and one more.
        assert!(search.is_exact() && search.fills() == 8, "{search:?}");
    }

    #[test]
    fn two_fills_confirm_what_the_kernel_says_beforehand() {
        let told = |room: u64| {
            let mut search = CapacitySearch::expecting(1000, 100_000);
            while let Some(fill) = search.next() {
                search.observe(if fill.connections <= room {
                    Held::All
                } else {
                    Held::Part { kept: room }
                });
            }
            search
        };
        let right = told(1000);
        assert_eq!(
            (right.held(), right.is_exact(), right.fills()),
            (Some(1000), true, 2)
        );
        for room in [1, 700, 1001, 5000] {
            let wrong = told(room);
            assert_eq!(
                (wrong.held(), wrong.is_exact()),
                (Some(room), true),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn a_table_larger_than_may_be_tried_holds_at_least_that() {
        let search = run(u64::MAX, 1_000_000, true);
        assert!(search.at_most() && search.held() == Some(1_000_000));
    }

    #[test]
    fn losses_slow_the_fill_down_and_end_it() {
        let mut search = CapacitySearch::new(1000, 10_000);
        search.observe(Held::Unknown(Setback::Lost));
        let again = search.next().unwrap();
        assert_eq!((again.connections, again.pace), (1000, 0.5));
        search.observe(Held::All);
        assert_eq!(
            search.next().unwrap(),
            Fill {
                connections: 2000,
                pace: 1.0
            }
        );
        for _ in 0..UNKNOWN_MOST {
            search.observe(Held::Unknown(Setback::Lost));
        }
        assert_eq!(
            (search.next(), search.gave_up()),
            (None, Some(Setback::Lost))
        );
        assert_eq!(search.held(), Some(1000));
    }

    #[test]
    fn entries_that_go_after_an_overflow_are_tried_again() {
        let mut search = CapacitySearch::new(1000, 10_000);
        search.observe(Held::Part { kept: 900 });
        assert_eq!(search.next().unwrap().connections, 900);
        search.observe(Held::Part { kept: 850 });
        assert_eq!(search.next().unwrap().connections, 900, "once more");
        search.observe(Held::All);
        search.observe(Held::Part { kept: 900 });
        assert!(search.is_exact() && search.held() == Some(900));
    }

    proptest! {
        #[test]
        fn every_size_is_found(room in 1_u64..3_000_000, tells: bool) {
            let search = run(room, 4_000_000, tells);
            prop_assert!(search.is_exact(), "{:?}", search);
            prop_assert_eq!(search.held(), Some(room));
        }
    }
}
