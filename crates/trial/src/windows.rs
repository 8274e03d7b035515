//! Loss over short windows of a trial: the engine's slots, a few at a time.

use std::time::Duration;

use nicety_model::{FrameCounts, Windows};
use nicety_port::Slots;

/// Windows of `window`, rounded up to whole slots, one behind the other from the first slot on; slots
/// that are left over are none. `None` where they do not make one window, or where they have more frames
/// than the trial: the stamps they were told by cannot be right then.
pub(crate) fn of(slots: &Slots, window: Duration, frames: &FrameCounts) -> Option<Windows> {
    let length_s = slots.length.as_secs_f64();
    if length_s <= 0.0 {
        return None;
    }
    let merged = window
        .as_nanos()
        .div_ceil(slots.length.as_nanos().max(1))
        .max(1);
    let merged = usize::try_from(merged).ok()?;
    let (sent, lost): (Vec<u64>, Vec<u64>) = slots
        .parts
        .chunks_exact(merged)
        .map(|parts| {
            let sum = |of: fn(&nicety_port::Part) -> u64| parts.iter().map(of).sum::<u64>();
            (sum(|part| part.sent), sum(|part| part.lost))
        })
        .unzip();
    let within = |counts: &[u64], all: u64| counts.iter().sum::<u64>() <= all;
    let right = within(&sent, frames.sent) && within(&lost, frames.lost);
    (right && !sent.is_empty()).then_some(Windows {
        length_s: merged as f64 * length_s,
        sent,
        lost,
    })
}

#[cfg(test)]
mod tests {
    use nicety_port::Part;

    use super::*;

    const SLOT: Duration = Duration::from_millis(8);

    fn slots(parts: &[(u64, u64)]) -> Slots {
        Slots {
            length: SLOT,
            parts: parts
                .iter()
                .map(|&(sent, lost)| Part { sent, lost })
                .collect(),
        }
    }

    fn frames(sent: u64, lost: u64) -> FrameCounts {
        FrameCounts {
            sent,
            lost,
            ..FrameCounts::default()
        }
    }

    const PARTS: [(u64, u64); 7] = [(5, 1), (6, 0), (0, 0), (7, 7), (1, 0), (2, 1), (9, 9)];

    #[test]
    fn a_window_is_rounded_up_to_whole_slots() {
        let of = |ms: u64| {
            let windows = of(&slots(&PARTS), Duration::from_millis(ms), &frames(100, 100));
            let windows = windows.unwrap();
            assert_eq!(windows.sent.len(), windows.lost.len());
            ((windows.length_s * 1e3).round(), windows.sent, windows.lost)
        };
        assert_eq!(of(17), (24.0, vec![11, 10], vec![1, 8]));
        assert_eq!(of(24), (24.0, vec![11, 10], vec![1, 8]));
        assert_eq!(of(25), (32.0, vec![18], vec![8]));
        assert_eq!(of(9), (16.0, vec![11, 7, 3], vec![1, 7, 1]));
        // Not shorter than a slot, and a slot without frames keeps its place.
        let (length, sent, lost) = of(0);
        assert_eq!((length, sent), (8.0, vec![5, 6, 0, 7, 1, 2, 9]));
        assert_eq!(lost, [1, 0, 0, 7, 0, 1, 9]);
    }

    #[test]
    fn there_is_no_part_of_a_window() {
        let all = frames(100, 100);
        let window = Duration::from_millis(64);
        assert_eq!(of(&slots(&PARTS), window, &all), None);
        assert_eq!(of(&slots(&[]), SLOT, &all), None);
        let whole = of(&slots(&PARTS), Duration::from_millis(56), &all).unwrap();
        assert_eq!((whole.sent, whole.lost), (vec![30], vec![18]));
        let endless = Slots {
            length: Duration::ZERO,
            ..slots(&PARTS)
        };
        assert_eq!(of(&endless, SLOT, &all), None);
    }

    #[test]
    fn windows_never_have_more_frames_than_the_trial() {
        let of = |sent, lost| of(&slots(&PARTS), SLOT, &frames(sent, lost)).is_some();
        assert!(of(30, 18));
        assert!(!of(29, 18));
        assert!(!of(30, 17));
    }
}
