//! Loss over short windows of a trial: the engine's slots, a few at a time.

use std::ops::Range;
use std::time::Duration;

use nicety_model::windows::Window;
use nicety_model::{FrameCounts, Windows};
use nicety_port::{Part, Slots};

/// Windows of `window`, rounded up to whole slots, of those slots that no span of `apart` touches (ns of the
/// monotonic clock). `None` where all slots together do not make one window, or where they have more frames than
/// the trial: the stamps they were told by cannot be right then.
pub(crate) fn of(
    slots: &Slots,
    apart: &[Range<u64>],
    window: Duration,
    frames: &FrameCounts,
) -> Option<Windows> {
    let slot_ns = u64::try_from(slots.length.as_nanos()).ok()?;
    let many = window
        .as_nanos()
        .div_ceil(u128::from(slot_ns).max(1))
        .max(1);
    let many = usize::try_from(many).ok()?;
    let sum = |of: fn(&Part) -> u64| slots.parts.iter().map(of).sum::<u64>();
    let right = sum(|part| part.sent) <= frames.sent && sum(|part| part.lost) <= frames.lost;
    if slot_ns == 0 || !right || slots.parts.len() < many {
        return None;
    }
    let judged = |(number, part): (u64, &Part)| {
        let time = number.saturating_mul(slot_ns)..(number + 1).saturating_mul(slot_ns);
        let is_apart = apart
            .iter()
            .any(|span| span.start < time.end && time.start < span.end);
        let window = Window {
            sent: part.sent,
            lost: part.lost,
        };
        (window, is_apart)
    };
    let judged: Vec<_> = (slots.first..).zip(&slots.parts).map(judged).collect();
    Some(Windows::of_slots(&judged, many, slots.length.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Duration = Duration::from_millis(8);

    fn slots(parts: &[(u64, u64)]) -> Slots {
        Slots {
            length: SLOT,
            first: 10,
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
            let windows = of(
                &slots(&PARTS),
                &[],
                Duration::from_millis(ms),
                &frames(100, 100),
            );
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
        assert_eq!(of(&slots(&PARTS), &[], window, &all), None);
        assert_eq!(of(&slots(&[]), &[], SLOT, &all), None);
        let whole = of(&slots(&PARTS), &[], Duration::from_millis(56), &all).unwrap();
        assert_eq!((whole.sent, whole.lost), (vec![30], vec![18]));
        let endless = Slots {
            length: Duration::ZERO,
            ..slots(&PARTS)
        };
        assert_eq!(of(&endless, &[], SLOT, &all), None);
    }

    #[test]
    fn windows_never_have_more_frames_than_the_trial() {
        let of = |sent, lost| of(&slots(&PARTS), &[], SLOT, &frames(sent, lost)).is_some();
        assert!(of(30, 18));
        assert!(!of(29, 18));
        assert!(!of(30, 17));
    }

    #[test]
    fn slots_in_which_the_path_stood_still_are_in_no_window() {
        let all = frames(100, 100);
        let ms = |from: u64, to: u64| from * 1_000_000..to * 1_000_000;
        // The first slot begins at 80 ms; a span that ends with a slot touches it alone.
        let apart = [ms(70, 80), ms(88, 96), ms(111, 113)];
        let windows = of(&slots(&PARTS), &apart, Duration::from_millis(16), &all).unwrap();
        assert_eq!((windows.sent, windows.lost), (vec![5, 11], vec![1, 10]));
        assert!((windows.apart_s - 0.024).abs() < 1e-9);
        assert!(!windows.disturbed);
        // None is left: all are there, and that is known.
        let windows = of(&slots(&PARTS), &[ms(0, 500)], SLOT, &all).unwrap();
        assert_eq!((windows.sent.len(), windows.apart_s), (7, 0.056));
        assert!(windows.disturbed && windows.clean() == 0.0);
    }
}
