//! What guests noted of frames, beside what the host did.
//!
//! A guest sees its own kernel only, and may say anything. What it says explains numbers that did not arrive and of which
//! the host knows no cause, and nothing else.

mod clock;
mod woven;

use nicety_model::FateCause;

use crate::fate::OTHER_CAUSE;

pub use clock::{Bound, compare};
pub use woven::{Inside, Woven, weave};

/// Copies are thrown away for these while the frame itself goes on.
pub const WEAK: [&str; 2] = ["OTHERHOST", "CONSUMED"];

/// Numbers of a stream that follow each other and have one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The first.
    pub first: u64,
    /// How many.
    pub frames: u64,
    /// Number of the cause, 1 to 255.
    pub cause: u8,
}

/// What a guest noted of frames that its kernel threw away.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GuestFates {
    /// Its causes by their number, with interfaces as places of the path: `guest eth0`.
    pub causes: Vec<(usize, FateCause)>,
    /// By stream.
    pub rows: Vec<Vec<Row>>,
}

/// The rows of a stream, from a byte for every number; 0 is no cause.
pub fn rows(causes: &[u8]) -> impl Iterator<Item = Row> + '_ {
    let mut first = 0;
    causes.chunk_by(|a, b| a == b).filter_map(move |same| {
        let row = Row {
            first,
            frames: same.len() as u64,
            cause: same[0],
        };
        first += row.frames;
        (row.cause > 0).then_some(row)
    })
}

/// Adds what a guest noted to what the host did: `bytes` has a byte for every number of each stream, `causes` their names.
///
/// A frame that the host threw away before the guest never came there, and one that it threw away behind it had come
/// through. The host's cause therefore stands, unless it is that of a copy.
pub fn join(bytes: &mut [Vec<u8>], causes: &mut Vec<(usize, FateCause)>, guest: &GuestFates) {
    let mut weak = [false; OTHER_CAUSE + 1];
    for (number, cause) in causes.iter() {
        if let Some(weak) = weak.get_mut(*number) {
            *weak = is_weak(cause);
        }
    }
    let mut next = causes.iter().map(|(number, _)| number + 1).max();
    // What has no number of its own counts with the other causes.
    let mut known = [(OTHER_CAUSE, false); OTHER_CAUSE + 1];
    for (number, cause) in &guest.causes {
        let own = next.unwrap_or(1);
        let Some(known) = known.get_mut(*number).filter(|_| own < OTHER_CAUSE) else {
            continue;
        };
        *known = (own, is_weak(cause));
        causes.push((own, cause.clone()));
        next = Some(own + 1);
    }
    for (bytes, rows) in bytes.iter_mut().zip(&guest.rows) {
        for row in rows {
            let (number, its_weak) = known[usize::from(row.cause)];
            let from = usize::try_from(row.first).unwrap_or(usize::MAX);
            let length = usize::try_from(row.frames).unwrap_or(usize::MAX);
            let numbers = bytes.iter_mut().skip(from).take(length);
            for byte in numbers {
                let open = *byte == 0 || (weak[usize::from(*byte)] && !its_weak);
                if open {
                    *byte = number as u8;
                }
            }
        }
    }
}

fn is_weak(cause: &FateCause) -> bool {
    match cause {
        FateCause::Dropped {
            reason: Some(reason),
            ..
        } => WEAK.contains(&reason.as_str()),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
