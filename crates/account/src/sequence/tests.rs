use std::collections::{BTreeSet, HashSet};

use proptest::prelude::*;

use super::Arrival::{Duplicate, Impossible, InOrder, Reordered, TooLate};
use super::*;

/// The definitions, word for word, over the whole list of arrivals: no window, no bitmap.
fn naive(arrivals: &[u64], sent: u64) -> SequenceCounts {
    let mut counts = SequenceCounts::default();
    let mut first: Vec<u64> = Vec::new();
    let mut known = HashSet::new();
    let mut reordered = Vec::new();
    for &number in arrivals {
        if !known.insert(number) {
            counts.duplicate += 1;
            continue;
        }
        // RFC 4737 §4.2: distance to the earliest arrival with a higher number.
        let earlier = first.iter().position(|other| *other > number);
        if let Some(place) = earlier {
            let extent = (first.len() - place) as u64;
            counts.reorder_extent_max = counts.reorder_extent_max.max(extent);
        }
        reordered.push(earlier.is_some());
        first.push(number);
    }
    counts.received = known.iter().filter(|number| **number < sent).count() as u64;
    counts.impossible = known.len() as u64 - counts.received;
    counts.lost = sent - counts.received;
    counts.reordered = reordered.iter().filter(|reordered| **reordered).count() as u64;
    // Numbers that were never sent count among the reordered until the end shows them.
    counts.reordered = counts.reordered.min(counts.received);
    counts.reorder_bursts = runs(reordered);
    counts.loss_bursts = runs((0..sent).map(|number| !known.contains(&number)));
    counts
}

fn runs(fates: impl IntoIterator<Item = bool>) -> BurstLengths {
    let mut lengths = BurstLengths::default();
    let mut run = 0;
    for fate in fates {
        if fate {
            run += 1;
        } else {
            lengths.record(run);
            run = 0;
        }
    }
    lengths.record(run);
    lengths
}

fn tracked(window: usize, arrivals: &[u64], sent: u64) -> (Vec<Arrival>, SequenceCounts) {
    let mut tracker = Tracker::new(window);
    let said = arrivals
        .iter()
        .map(|number| tracker.on_arrival(*number as u32))
        .collect();
    (said, tracker.finish(sent))
}

#[test]
fn table() {
    // name, arrivals, sent, (received, lost, duplicate, reordered, impossible, extent),
    // loss runs (number, longest), reorder runs (number, longest)
    type Row<'a> = (&'a str, &'a [u64], u64, [u64; 6], (u64, u64), (u64, u64));
    let rows: &[Row<'_>] = &[
        ("nothing sent", &[], 0, [0; 6], (0, 0), (0, 0)),
        (
            "all in order",
            &[0, 1, 2, 3],
            4,
            [4, 0, 0, 0, 0, 0],
            (0, 0),
            (0, 0),
        ),
        ("all lost", &[], 4, [0, 4, 0, 0, 0, 0], (1, 4), (0, 0)),
        ("first lost", &[1, 2], 3, [2, 1, 0, 0, 0, 0], (1, 1), (0, 0)),
        (
            "last two lost",
            &[0, 1],
            4,
            [2, 2, 0, 0, 0, 0],
            (1, 2),
            (0, 0),
        ),
        (
            "two runs of loss",
            &[0, 3, 4, 6],
            7,
            [4, 3, 0, 0, 0, 0],
            (2, 2),
            (0, 0),
        ),
        (
            "twice",
            &[0, 1, 1, 2, 0],
            3,
            [3, 0, 2, 0, 0, 0],
            (0, 0),
            (0, 0),
        ),
        (
            "neighbours exchanged",
            &[1, 0, 2],
            3,
            [3, 0, 0, 1, 0, 1],
            (0, 0),
            (1, 1),
        ),
        // The shape of RFC 4737's example with a single packet reordered: 4 comes after 8.
        (
            "straggler",
            &[0, 1, 2, 3, 5, 6, 7, 8, 4, 9],
            10,
            [10, 0, 0, 1, 0, 4],
            (0, 0),
            (1, 1),
        ),
        (
            "a late block",
            &[0, 4, 5, 1, 2, 3, 6],
            7,
            [7, 0, 0, 3, 0, 4],
            (0, 0),
            (1, 3),
        ),
        (
            "backwards",
            &[3, 2, 1, 0],
            4,
            [4, 0, 0, 3, 0, 3],
            (0, 0),
            (1, 3),
        ),
        (
            "two runs of reordering",
            &[1, 0, 3, 2],
            4,
            [4, 0, 0, 2, 0, 1],
            (0, 0),
            (2, 1),
        ),
        (
            "a duplicate is not reordered",
            &[0, 2, 0, 1],
            3,
            [3, 0, 1, 1, 0, 1],
            (0, 0),
            (1, 1),
        ),
        (
            "a duplicate breaks no run",
            &[2, 0, 2, 1],
            3,
            [3, 0, 1, 2, 0, 2],
            (0, 0),
            (1, 2),
        ),
        (
            "never sent",
            &[0, 1, 2],
            2,
            [2, 0, 0, 0, 1, 0],
            (0, 0),
            (0, 0),
        ),
    ];
    for (name, arrivals, sent, counts, loss, reorder) in rows {
        for window in [64, Tracker::WINDOW] {
            let (_, seen) = tracked(window, arrivals, *sent);
            assert_eq!(
                [
                    seen.received,
                    seen.lost,
                    seen.duplicate,
                    seen.reordered,
                    seen.impossible,
                    seen.reorder_extent_max
                ],
                *counts,
                "{name}"
            );
            assert_eq!(
                (seen.loss_bursts.bursts, seen.loss_bursts.longest),
                *loss,
                "{name}"
            );
            assert_eq!(
                (seen.reorder_bursts.bursts, seen.reorder_bursts.longest),
                *reorder,
                "{name}"
            );
            assert_eq!(seen, naive(arrivals, *sent), "{name}: the model differs");
        }
    }
}

#[test]
fn every_arrival_is_named() {
    let mut tracker = Tracker::new(64);
    tracker.set_limit(1000);
    for (number, said) in [
        (0, InOrder),
        (5, InOrder),
        (3, Reordered),
        (3, Duplicate),
        (1000, Impossible),
        (u32::MAX, Impossible),
        (200, InOrder),
        // The window now starts at 192: of 0 to 191, three came.
        (4, TooLate),
        (192, Reordered),
        (999, InOrder),
    ] {
        assert_eq!(tracker.on_arrival(number), said, "{number}");
    }
    assert_eq!(tracker.arrivals(), 7);
    let counts = tracker.finish(1000);
    assert_eq!((counts.received, counts.lost), (7, 993));
    assert_eq!((counts.too_late, counts.reordered), (1, 3));
    assert_eq!((counts.impossible, counts.duplicate), (2, 1));
}

#[test]
fn too_late_frames_never_exceed_what_was_missing() {
    // Everything behind the window arrived but number 1: one late frame can be it, the next
    // cannot be new.
    let mut arrivals: Vec<u64> = (0..200).filter(|number| *number != 1).collect();
    arrivals.extend([1, 7]);
    let (said, counts) = tracked(64, &arrivals, 200);
    assert_eq!(said[said.len() - 2..], [TooLate, Duplicate]);
    assert_eq!((counts.received, counts.lost), (200, 0));
    // It had been counted as a run of losses when it left the window.
    assert_eq!(counts.loss_bursts.bursts, 1);
}

#[test]
fn an_outage_longer_than_the_window_is_one_run() {
    let arrivals = [0, 1_000_000, 1_000_001];
    let (_, counts) = tracked(64, &arrivals, 1_000_010);
    assert_eq!(counts.received, 3);
    assert_eq!(counts.loss_bursts.bursts, 2);
    assert_eq!(counts.loss_bursts.longest, 999_999);
    assert_eq!(counts, naive(&arrivals, 1_000_010));
}

#[test]
fn numbers_go_on_beyond_32_bits() {
    let mut tracker = Tracker::new(1 << 10);
    // Steps of 2^30 reach the wrap soon; the nearest continuation is always meant.
    for step in 0..5_u64 {
        assert_eq!(tracker.on_arrival((step << 30) as u32), InOrder);
    }
    let wrap = 1_u64 << 32;
    assert_eq!(tracker.on_arrival(2), InOrder);
    assert_eq!(tracker.on_arrival(u32::MAX), Reordered);
    assert_eq!(tracker.on_arrival(1), Reordered);
    let counts = tracker.finish(wrap + 3);
    assert_eq!(counts.received, 8);
    assert_eq!(counts.lost, wrap + 3 - 8);
    assert_eq!(counts.loss_bursts.longest, (1 << 30) - 1);
}

#[test]
fn a_window_beyond_what_was_sent_keeps_the_sum() {
    // Far more arrived, and farther, than was sent: the account must still add up.
    for sent in [0, 1, 5, 63, 64, 100, 190] {
        let arrivals: Vec<u64> = (0..200).collect();
        let (_, counts) = tracked(64, &arrivals, sent);
        assert_eq!((counts.received, counts.lost), (sent, 0), "{sent}");
        assert_eq!(counts.impossible, 200 - sent, "{sent}");
    }
    let (_, counts) = tracked(64, &[0, 5000], 10);
    assert_eq!((counts.received, counts.lost, counts.impossible), (1, 9, 1));
}

#[test]
fn reset_starts_afresh() {
    let arrivals = [0, 9, 3, 3, 500, 499, 2];
    let mut tracker = Tracker::new(64);
    tracker.set_limit(10);
    for number in arrivals {
        tracker.on_arrival(number);
    }
    tracker.finish(10);
    tracker.reset();
    let said: Vec<_> = arrivals.map(|number| tracker.on_arrival(number)).into();
    let (expected, counts) = tracked(64, &arrivals.map(u64::from), 600);
    assert_eq!(said, expected);
    assert_eq!(tracker.finish(600), counts);
}

/// Frames 0 to `sent`, some lost, some doubled, each delayed by its own number of places.
fn interleaving() -> impl Strategy<Value = (Vec<u64>, u64)> {
    let fate = (
        prop_oneof![6 => Just(1_usize), 2 => Just(0), 1 => Just(2), 1 => Just(3)],
        prop_oneof![4 => Just(0_u64), 1 => 0..4_u64, 1 => 0..100_u64],
        0..40_u64,
    );
    (prop::collection::vec(fate, 0..600), 0..20_u64).prop_map(|(fates, tail)| {
        let mut order: BTreeSet<(u64, u64, usize)> = BTreeSet::new();
        for (number, (copies, delay, again)) in fates.iter().enumerate() {
            let number = number as u64;
            for copy in 0..*copies {
                order.insert((number + delay + again * copy as u64, number, copy));
            }
        }
        let arrivals = order.into_iter().map(|(_, number, _)| number).collect();
        (arrivals, fates.len() as u64 + tail)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_interleaving_is_counted_exactly((arrivals, sent) in interleaving()) {
        // The window of 256 less a word holds every delay made here, at most 177: nothing can be
        // too late, while the window moves several times.
        let (_, counts) = tracked(256, &arrivals, sent);
        prop_assert_eq!(counts.received + counts.lost, sent);
        prop_assert_eq!(counts, naive(&arrivals, sent));
    }

    #[test]
    fn any_permutation_is_counted_exactly(
        arrivals in prop::collection::vec(0..300_u64, 0..400),
        sent in 0..400_u64,
    ) {
        let (_, counts) = tracked(512, &arrivals, sent);
        prop_assert_eq!(counts, naive(&arrivals, sent));
    }

    #[test]
    fn with_a_limit_impossible_numbers_disturb_nothing(
        (arrivals, sent) in interleaving(),
        wild in prop::collection::vec((any::<prop::sample::Index>(), 10_000..1_000_000_000_u32), 0..20),
    ) {
        let mut mixed: Vec<u32> = arrivals.iter().map(|number| *number as u32).collect();
        for (at, number) in &wild {
            mixed.insert(at.index(mixed.len() + 1), *number);
        }
        let mut tracker = Tracker::new(256);
        tracker.set_limit(sent);
        for number in mixed {
            tracker.on_arrival(number);
        }
        let mut counts = tracker.finish(sent);
        prop_assert_eq!(counts.impossible, wild.len() as u64);
        counts.impossible = 0;
        prop_assert_eq!(counts, naive(&arrivals, sent));
    }

    #[test]
    fn the_sum_holds_whatever_arrives(
        arrivals in prop::collection::vec(prop_oneof![0..200_u64, 0..100_000_u64, 0..=u64::from(u32::MAX)], 0..300),
        sent in 0..120_000_u64,
    ) {
        let (said, counts) = tracked(64, &arrivals, sent);
        prop_assert_eq!(counts.received + counts.lost, sent);
        prop_assert_eq!(
            counts.received + counts.duplicate + counts.impossible,
            said.len() as u64
        );
        prop_assert!(counts.too_late <= counts.reordered && counts.reordered <= counts.received);
    }
}
