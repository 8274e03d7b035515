use proptest::prelude::*;

use super::*;
use crate::fate::{Noted, Tally, explain};

fn dropped(device: &str, reason: &str) -> FateCause {
    FateCause::Dropped {
        device: Some(device.to_owned()),
        function: Some("f".to_owned()),
        reason: Some(reason.to_owned()),
    }
}

fn row(first: u64, frames: u64, cause: u8) -> Row {
    Row {
        first,
        frames,
        cause,
    }
}

/// Frames by their place, of one stream whose numbers arrived where `arrived` has a 1.
fn told(bytes: &[u8], arrived: u64, causes: &[(usize, FateCause)]) -> (Vec<(String, u64)>, u64) {
    let mut tally = Tally::default();
    tally.add(&Noted {
        arrived: &[arrived],
        made: bytes.len() as u64,
        causes: bytes,
    });
    let (lines, left) = explain(&tally, causes, &crate::fate::Beside::default());
    let lines = lines.into_iter().map(|line| (line.place, line.frames));
    (lines.collect(), left)
}

#[test]
fn a_guest_explains_what_the_host_does_not() {
    let mut causes = vec![
        (1, dropped("t0", "FULL_RING")),
        (3, dropped("d1", "OTHERHOST")),
    ];
    let mut bytes = vec![vec![0, 1, 3, 0, 0, 0]];
    let guest = GuestFates {
        causes: vec![
            (1, dropped("guest eth1", "QDISC_DROP")),
            (2, dropped("guest eth0", "OTHERHOST")),
        ],
        // The last row goes beyond what is kept.
        rows: vec![vec![row(0, 3, 1), row(3, 1, 2), row(5, 100, 1)]],
    };
    join(&mut bytes, &mut causes, &guest);
    // Number 3 arrived after all, number 4 is lost without a trace.
    let (lines, left) = told(&bytes[0], 0b00_1000, &causes);
    let line = |place: &str, frames| (place.to_owned(), frames);
    assert_eq!(lines, [line("guest eth1 f", 3), line("t0 f", 1)]);
    assert_eq!(left, 1);
    // A copy in a guest takes nothing from a copy on the host.
    let mut bytes = vec![vec![3]];
    join(
        &mut bytes,
        &mut causes,
        &GuestFates {
            rows: vec![vec![row(0, 1, 2)]],
            ..guest
        },
    );
    assert_eq!(bytes[0], [3]);
}

#[test]
fn causes_without_a_number_count_with_the_others() {
    let mut causes: Vec<_> = (1..=253)
        .map(|n| (n, dropped(&format!("d{n}"), "R")))
        .collect();
    let mut bytes = vec![vec![0; 4]];
    let guest = GuestFates {
        causes: vec![
            (7, dropped("guest eth0", "A")),
            (9, dropped("guest eth1", "B")),
        ],
        rows: vec![vec![row(0, 1, 7), row(1, 2, 9), row(3, 1, 200)], Vec::new()],
    };
    join(&mut bytes, &mut causes, &guest);
    assert_eq!(bytes[0], [254, 255, 255, 255]);
    assert_eq!(causes.len(), 254);
    let (lines, left) = told(&bytes[0], 0, &causes);
    assert_eq!(lines[0], ("other causes".to_owned(), 3));
    assert_eq!(left, 0);
}

proptest! {
    #[test]
    fn rows_are_the_numbers_again(bytes in proptest::collection::vec(0_u8..4, 0..200)) {
        let mut again = vec![0; bytes.len()];
        let mut end = 0;
        for row in rows(&bytes) {
            prop_assert!(row.first >= end && row.frames > 0);
            end = row.first + row.frames;
            again[row.first as usize..end as usize].fill(row.cause);
        }
        prop_assert_eq!(again, bytes);
    }

    /// Whatever a guest says, no more frames have a cause than were lost, and the host's own causes stay.
    #[test]
    fn no_guest_changes_what_the_host_knows(
        bytes in proptest::collection::vec(0_u8..3, 1..64),
        arrived: u64,
        said in proptest::collection::vec((0_u64..80, 0_u64..80, 1_u8..=255), 0..20),
    ) {
        let mut causes = vec![(1, dropped("t0", "R")), (2, dropped("d1", "S"))];
        let guest = GuestFates {
            causes: vec![(1, dropped("guest eth1", "R"))],
            rows: vec![said.into_iter().map(|(first, frames, cause)| row(first, frames, cause)).collect()],
        };
        let mut all = vec![bytes.clone()];
        join(&mut all, &mut causes, &guest);
        for (before, after) in bytes.iter().zip(&all[0]) {
            prop_assert!(*before == 0 || before == after);
        }
        let lost = (0..bytes.len()).filter(|n| arrived >> n & 1 == 0).count() as u64;
        let (lines, left) = told(&all[0], arrived, &causes);
        let named: u64 = lines.iter().map(|(_, frames)| frames).sum();
        prop_assert_eq!(named + left, lost);
    }
}
