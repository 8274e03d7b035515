//! What arrives around frames that do not, kept while a trial runs.

use nicety_packet::Stamp;

use crate::engine::TimedFrame;

/// Places where numbers are missing that are kept for each lost frame that is asked for: where frames overtake one
/// another, most such places fill up later.
const PLACES: usize = 4;
/// Of such places a few more, so that one frame that is asked for is found as well.
const SPARE: usize = 64;

/// Watches the numbers of a stream for places where some are missing.
#[derive(Debug, Default)]
pub(crate) struct Around {
    most: usize,
    stream: u8,
    trial: u8,
    /// The frame with the highest number so far.
    last: Option<Held>,
    places: Vec<Place>,
}

/// A frame that arrived, and when its stamp says that it was sent.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) frame: TimedFrame,
    pub(crate) tx_ns: u64,
}

/// Where numbers are missing.
#[derive(Debug)]
struct Place {
    before: Option<Held>,
    after: Held,
}

/// What is around a lost frame.
pub(crate) type Neighbours = [Option<Held>; 2];

/// When a frame was sent, by its neighbours' stamps: as far between them as its number is. `None` without a
/// neighbour; behind or before a single one by the pace.
pub(crate) fn sent_ns(number: u64, around: &Neighbours, pace_fps: f64) -> Option<u64> {
    let each = 1e9 / pace_fps.max(f64::MIN_POSITIVE);
    match around {
        [Some(before), Some(after)] => {
            let numbers = after
                .frame
                .number
                .saturating_sub(before.frame.number)
                .max(1);
            let time = after.tx_ns.saturating_sub(before.tx_ns) as f64;
            let into = number.saturating_sub(before.frame.number) as f64 / numbers as f64;
            Some(before.tx_ns + (time * into) as u64)
        }
        [Some(before), None] => {
            let behind = number.saturating_sub(before.frame.number) as f64;
            Some(before.tx_ns + (behind * each) as u64)
        }
        [None, Some(after)] => {
            let ahead = after.frame.number.saturating_sub(number) as f64;
            Some(after.tx_ns.saturating_sub((ahead * each) as u64))
        }
        [None, None] => None,
    }
}

impl Around {
    /// Watches `stream` for up to `most` lost frames; none switch it off.
    pub(crate) fn new(stream: u8, most: usize) -> Self {
        Self {
            most,
            stream,
            ..Self::default()
        }
    }

    /// Whether anything is kept.
    pub(crate) fn is_on(&self) -> bool {
        self.most > 0
    }

    /// Lost frames that are asked for.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Starts a trial.
    pub(crate) fn reset(&mut self, trial: u8) {
        self.trial = trial;
        self.last = None;
        self.places.clear();
    }

    /// A frame of ours arrived.
    pub(crate) fn see(&mut self, stamp: &Stamp, unix_ns: i64, bytes: &[u8]) {
        if (stamp.stream, stamp.trial) != (self.stream, self.trial) {
            return;
        }
        let number = u64::from(stamp.sequence);
        let next = self.last.as_ref().map_or(0, |last| last.frame.number + 1);
        if number < next {
            return;
        }
        if number > next && self.places.len() < self.most * PLACES + SPARE {
            self.places.push(Place {
                before: self.last.clone(),
                after: Held {
                    frame: TimedFrame {
                        unix_ns,
                        number,
                        bytes: bytes.to_vec(),
                    },
                    tx_ns: stamp.tx_ns,
                },
            });
        }
        let last = self.last.get_or_insert_with(|| Held {
            frame: TimedFrame {
                unix_ns,
                number,
                bytes: Vec::new(),
            },
            tx_ns: 0,
        });
        last.tx_ns = stamp.tx_ns;
        (last.frame.unix_ns, last.frame.number) = (unix_ns, number);
        // Its memory is used again.
        last.frame.bytes.clear();
        last.frame.bytes.extend_from_slice(bytes);
    }

    /// What arrived before and behind the place where a number is missing.
    pub(crate) fn of(&self, number: u64) -> Neighbours {
        let below = |held: &Held| held.frame.number < number;
        if let Some(last) = self.last.as_ref().filter(|last| below(last)) {
            return [Some(last.clone()), None];
        }
        let holds = |place: &&Place| {
            place.after.frame.number > number && place.before.as_ref().is_none_or(below)
        };
        match self.places.iter().find(holds) {
            Some(place) => [place.before.clone(), Some(place.after.clone())],
            None => [None, None],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(numbers: &[u32]) -> Around {
        let mut around = Around::new(0, 2);
        around.reset(7);
        for number in numbers {
            let stamp = Stamp {
                stream: 0,
                trial: 7,
                sequence: *number,
                tx_ns: u64::from(*number) * 8 + 1000,
            };
            around.see(&stamp, i64::from(*number) * 10, &[*number as u8]);
        }
        around
    }

    fn numbers(of: &Neighbours) -> [Option<u64>; 2] {
        of.each_ref()
            .map(|held| held.as_ref().map(|held| held.frame.number))
    }

    #[test]
    fn neighbours_are_those_that_arrived() {
        let around = around(&[1, 2, 5, 4, 6]);
        for (number, expected) in [
            (0, [None, Some(1)]),
            (3, [Some(2), Some(5)]),
            (7, [Some(6), None]),
            (9, [Some(6), None]),
        ] {
            assert_eq!(numbers(&around.of(number)), expected, "{number}");
        }
        let [Some(before), Some(after)] = around.of(3) else {
            panic!("both neighbours");
        };
        let (before, after) = (before.frame, after.frame);
        assert_eq!((before.bytes, before.unix_ns), (vec![2], 20));
        assert_eq!((after.bytes, after.unix_ns), (vec![5], 50));
        // At 1e9/8 frames per second each takes 8 ns.
        for number in [0, 3, 7, 9] {
            let sent = sent_ns(number, &around.of(number), 1e9 / 8.0);
            assert_eq!(sent, Some(number * 8 + 1000), "{number}");
        }
        assert_eq!(sent_ns(1, &[None, None], 1.0), None);
        let nothing = Around::new(0, 2);
        assert_eq!(numbers(&nothing.of(0)), [None, None]);
    }

    #[test]
    fn others_are_not_kept_and_room_is_bounded() {
        let mut around = around(&(0..2000).map(|n| n * 2).collect::<Vec<_>>());
        assert_eq!(around.places.len(), 2 * PLACES + SPARE);
        let other = Stamp {
            stream: 1,
            trial: 7,
            sequence: 9000,
            tx_ns: 0,
        };
        around.see(&other, 0, &[]);
        around.see(
            &Stamp {
                stream: 0,
                trial: 6,
                ..other
            },
            0,
            &[],
        );
        assert_eq!(around.last.unwrap().frame.number, 3998);
    }
}
