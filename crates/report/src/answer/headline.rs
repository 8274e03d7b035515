//! The number that a run begins with: that of its first path at the smallest frame size that has one.

use nicety_model::{Direction, Verdict};

use crate::document::Headline;
use crate::number::{self, ABSENT};
use crate::pick::{self, Group};

/// The cell whose number comes first.
pub(super) fn first<'a, 'r>(groups: &'a [Group<'r>]) -> Option<&'a Group<'r>> {
    let series = pick::series(groups).into_iter();
    let mut cells = series.flat_map(|(_, cells)| cells);
    cells.find(|group| group.throughput_fps().is_some())
}

/// The number of a cell; of several series the path is named.
pub(super) fn of(group: &Group<'_>, several: bool) -> Headline {
    let size = match group.key.shape.imix {
        Some(_) => group.key.size_name(),
        None => format!("{} B", group.key.frame_size_bytes),
    };
    let mut beside = Vec::new();
    if let Some(mbps) = group.told_mbps() {
        beside.push(number::bit_rate(mbps));
    }
    if group.key.direction == Direction::Bi {
        beside.push("in each direction".to_owned());
    }
    beside.extend(held(group));
    Headline {
        of: if several {
            format!("{}, {size}", super::name(group))
        } else {
            size
        },
        number: group.fps_text(),
        unit: "frames/s",
        // A noisy number is written as its interval.
        interval: group
            .interval_text()
            .filter(|_| group.verdict() != Verdict::Noisy),
        beside,
        badge: group.verdict().into(),
    }
}

/// `691 k held for 10 s`; nothing where no load was tried for that long.
fn held(group: &Group<'_>) -> Option<String> {
    let confirm = group
        .shown
        .confirm
        .filter(|one| one.duration_s.is_finite())?;
    let length = number::significant(confirm.duration_s, 2);
    match group.held_text() {
        text if text == ABSENT => None,
        text if text == "none" => Some(format!("no load held for {length} s")),
        text => Some(format!("{text} held for {length} s")),
    }
}
