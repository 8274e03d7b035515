//! What a wire does to the frames of one way, by their number alone: the same frames meet the
//! same fate every time.

/// What happens to the frames of one way, numbered from 1 since it was set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Fault {
    /// Nothing.
    #[default]
    None,
    /// Of every `every` frames the last `run` are lost, at most `times` times.
    Drop {
        /// Frames from one burst to the next.
        every: u64,
        /// Length of a burst, at most `every`.
        run: u64,
        /// Number of bursts after which nothing more is lost.
        times: u64,
    },
    /// Every `every`-th frame arrives twice.
    Duplicate {
        /// Distance.
        every: u64,
    },
    /// Of every `every` frames the last `run` wait until `by` later ones have passed; those that
    /// nothing follows stay.
    Delay {
        /// Frames from one burst to the next, at least `run + by`.
        every: u64,
        /// Length of a burst.
        run: u64,
        /// Frames that overtake: the reordering extent (RFC 4737 §4.2.1) of a burst's first.
        by: u64,
    },
    /// In every `every`-th frame one bit is inverted: the lowest of the first byte, then the
    /// next, and so on through the whole frame and again.
    Flip {
        /// Distance.
        every: u64,
    },
    /// After every `every`-th frame this one arrives too.
    Inject {
        /// Distance.
        every: u64,
        /// The frame, without FCS.
        frame: Vec<u8>,
    },
}

/// What a wire did to one way, in frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WireCounts {
    /// Read from the sending port.
    pub entered: u64,
    /// Written to the receiving port.
    pub left: u64,
    /// Thrown away.
    pub dropped: u64,
    /// Written a second time.
    pub duplicated: u64,
    /// Kept back, and let go since.
    pub delayed: u64,
    /// Changed by a bit.
    pub flipped: u64,
    /// Frames of others written.
    pub injected: u64,
    /// Frames the receiving port did not take.
    pub refused: u64,
}

/// One way of a wire.
#[derive(Debug, Default)]
pub(super) struct Way {
    pub(super) fault: Fault,
    pub(super) counts: WireCounts,
    /// The frames that wait.
    held: Vec<Vec<u8>>,
    /// Frames that have passed them.
    passed: u64,
    /// The frame that entered last.
    pub(super) last: Vec<u8>,
}

impl Way {
    /// A way that starts counting, with its last frame kept.
    pub(super) fn set(&mut self, fault: Fault) {
        *self = Self {
            fault,
            last: std::mem::take(&mut self.last),
            ..Self::default()
        };
    }

    /// Takes a frame in and writes what comes out to `out`, which says whether it was taken.
    pub(super) fn carry(&mut self, frame: &mut [u8], mut out: impl FnMut(&[u8]) -> bool) {
        let counts = &mut self.counts;
        counts.entered += 1;
        let number = counts.entered;
        self.last.clear();
        self.last.extend_from_slice(frame);
        let (mut left, mut refused) = (0, 0);
        let mut write = |frame: &[u8]| {
            if out(frame) {
                left += 1;
            } else {
                refused += 1;
            }
        };
        let hits = |every: u64| number.is_multiple_of(every);
        match &self.fault {
            Fault::Drop { every, run, times }
                if (number - 1) % every >= every - run && (number - 1) / every < *times =>
            {
                counts.dropped += 1;
            }
            Fault::Duplicate { every } if hits(*every) => {
                write(frame);
                write(frame);
                counts.duplicated += 1;
            }
            Fault::Delay { every, run, .. } if (number - 1) % every >= every - run => {
                self.held.push(frame.to_vec());
            }
            Fault::Delay { by, .. } => {
                write(frame);
                self.passed += u64::from(!self.held.is_empty());
                if self.passed == *by {
                    self.held.drain(..).for_each(|held| {
                        write(&held);
                        counts.delayed += 1;
                    });
                    self.passed = 0;
                }
            }
            Fault::Flip { every } if hits(*every) => {
                let at = (counts.flipped % (frame.len() as u64 * 8)) as usize;
                frame[at / 8] ^= 1 << (at % 8);
                write(frame);
                counts.flipped += 1;
            }
            Fault::Inject {
                every,
                frame: other,
            } if hits(*every) => {
                write(frame);
                write(other);
                counts.injected += 1;
            }
            _ => write(frame),
        }
        counts.left += left;
        counts.refused += refused;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Last bytes of what comes out when frames 1 to `count` go in.
    fn carried(fault: Fault, count: u8) -> (Vec<u8>, WireCounts) {
        let mut way = Way::default();
        way.set(fault);
        let mut out = Vec::new();
        for number in 1..=count {
            let mut frame = [0; 60];
            frame[59] = number;
            way.carry(&mut frame, |frame| {
                out.push(frame[59]);
                true
            });
        }
        (out, way.counts)
    }

    #[test]
    fn every_fault_does_what_it_says() {
        let drop = Fault::Drop {
            every: 5,
            run: 2,
            times: 1,
        };
        assert_eq!(carried(drop, 10).0, [1, 2, 3, 6, 7, 8, 9, 10]);
        let twice = Fault::Duplicate { every: 3 };
        assert_eq!(carried(twice, 6).0, [1, 2, 3, 3, 4, 5, 6, 6]);
        let delay = Fault::Delay {
            every: 4,
            run: 1,
            by: 2,
        };
        assert_eq!(carried(delay, 10).0, [1, 2, 3, 5, 6, 4, 7, 9, 10, 8]);
        let delay = Fault::Delay {
            every: 5,
            run: 2,
            by: 3,
        };
        assert_eq!(carried(delay, 12).0, [1, 2, 3, 6, 7, 8, 4, 5, 11, 12]);
        let inject = Fault::Inject {
            every: 2,
            frame: vec![99; 60],
        };
        assert_eq!(carried(inject, 4).0, [1, 2, 99, 3, 4, 99]);
    }

    #[test]
    fn counts_add_up() {
        for (fault, kept) in [
            (Fault::None, 0),
            (
                Fault::Drop {
                    every: 7,
                    run: 3,
                    times: u64::MAX,
                },
                0,
            ),
            (Fault::Duplicate { every: 7 }, 0),
            (
                Fault::Delay {
                    every: 7,
                    run: 2,
                    by: 3,
                },
                2,
            ),
            (Fault::Flip { every: 7 }, 0),
        ] {
            let (out, counts) = carried(fault, 21);
            assert_eq!((counts.entered, counts.refused), (21, 0));
            assert_eq!(counts.left, out.len() as u64);
            assert_eq!(
                counts.left + counts.dropped + kept,
                21 + counts.duplicated + counts.injected
            );
        }
    }

    #[test]
    fn flips_walk_through_the_frame_one_bit_at_a_time() {
        let mut way = Way::default();
        way.set(Fault::Flip { every: 1 });
        for at in 0..2 * 60 * 8 {
            way.carry(&mut [0; 60], |frame| {
                let ones: u32 = frame.iter().map(|byte| byte.count_ones()).sum();
                assert_eq!(ones, 1);
                assert_eq!(frame[at / 8 % 60], 1 << (at % 8));
                true
            });
        }
    }
}
