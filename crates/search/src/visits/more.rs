//! Picks the cell to visit again when all have had their visits and time is left.

use nicety_model::Verdict;
use nicety_model::run::CellSummary;

/// Visits of a cell at most. From eight on a single slow one widens nothing.
pub const MOST: u32 = 9;

/// The cell whose number profits most from another visit: of those that are not `ok` the one visited
/// least, and among these the one with the widest interval. `cells` are summaries, each with the number of
/// visits so far; the answer is a place in it.
pub fn next<'a>(cells: impl IntoIterator<Item = (&'a CellSummary, u32)>) -> Option<usize> {
    let width = |summary: &CellSummary| {
        summary
            .estimate
            .map_or(0.0, |estimate| estimate.half_width())
    };
    let helps = |summary: &CellSummary| {
        matches!(
            summary.verdict,
            Verdict::Bound | Verdict::Wide | Verdict::Unstable
        )
    };
    cells
        .into_iter()
        .enumerate()
        .filter(|(_, (summary, visits))| helps(summary) && *visits < MOST)
        .min_by(|(_, (a, seen_a)), (_, (b, seen_b))| {
            seen_a.cmp(seen_b).then(width(b).total_cmp(&width(a)))
        })
        .map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use nicety_model::Estimate;

    use super::*;

    fn summary(verdict: Verdict, width: f64) -> CellSummary {
        CellSummary {
            cell: "a".to_owned(),
            throughput_fps: None,
            spread_fps: None,
            estimate: Some(Estimate {
                fps: 100.0,
                low_fps: 100.0 - width,
                high_fps: 100.0 + width,
                confidence: None,
                visits: 5,
            }),
            capacity_fps: None,
            disturbance: None,
            verdict,
            why: Vec::new(),
            goals: Vec::new(),
        }
    }

    #[test]
    fn the_widest_of_those_visited_least_comes_next() {
        use Verdict::{Bound, Failed, Ok, Unstable, Wide};
        let all = |cells: &[(Verdict, f64, u32)]| {
            let cells: Vec<_> = cells
                .iter()
                .map(|(v, w, n)| (summary(*v, *w), *n))
                .collect();
            next(cells.iter().map(|(summary, visits)| (summary, *visits)))
        };
        assert_eq!(
            all(&[(Wide, 7.0, 5), (Wide, 20.0, 5), (Ok, 90.0, 5)]),
            Some(1)
        );
        assert_eq!(all(&[(Unstable, 7.0, 5), (Wide, 20.0, 6)]), Some(0));
        assert_eq!(all(&[(Ok, 7.0, 5), (Bound, 0.0, 6)]), Some(1));
        assert_eq!(
            all(&[(Wide, 7.0, MOST), (Ok, 4.0, 5), (Failed, 0.0, 5)]),
            None
        );
        assert_eq!(all(&[]), None);
    }
}
