//! Searches over a table of connections (RFC 9693), as values: which rate or fill is next, and what a result says.

mod capacity;
mod filling;
mod judge;
mod rate;
mod stalled;

use nicety_model::stateful::Figure;

use crate::stats;

pub use capacity::{CapacitySearch, Fill, Held};
pub use filling::rise;
pub use judge::{Carried, Opened};
pub use rate::{RateSearch, Trial};
pub use stalled::{Shortfall, Stalled};

/// Median and extremes of repeats.
pub fn figure(values: &[f64]) -> Option<Figure> {
    let spread = stats::spread(values)?;
    Some(Figure {
        median: stats::median(values)?,
        low: spread.min,
        high: spread.max,
        n: spread.n,
        // Both extremes lie on the same side of the median only if all repeats do.
        confidence: (spread.n > 1).then(|| 1.0 - 2.0_f64.powi(1 - spread.n.cast_signed())),
    })
}

/// Entries per second that were removed in `seconds`, of which an empty table takes `empty` (RFC 9693 §4.8): `None`
/// where the difference is none.
pub fn removed_per_s(entries: u64, seconds: f64, empty: f64) -> Option<f64> {
    let own = seconds - empty;
    (own > 0.0 && entries > 0).then(|| entries as f64 / own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_says_how_far_its_interval_is_to_be_trusted() {
        let three = figure(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!(
            (three.median, three.low, three.high, three.n),
            (2.0, 1.0, 3.0, 3)
        );
        assert_eq!(three.confidence, Some(0.75));
        assert_eq!(figure(&[1.0]).unwrap().confidence, None);
        assert_eq!(figure(&[]), None);
    }

    #[test]
    fn what_an_empty_table_takes_is_no_time_of_its_entries() {
        assert_eq!(removed_per_s(1000, 0.6, 0.1), Some(2000.0));
        assert_eq!(removed_per_s(1000, 0.1, 0.1), None);
        assert_eq!(removed_per_s(0, 0.6, 0.1), None);
    }
}
