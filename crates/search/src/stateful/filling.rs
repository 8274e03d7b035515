//! How a table filled, in few points.

use nicety_model::stateful::{FillPoint, Filling};

/// The rise in entries among samples in the order of time: from the last one before it on, to the first with the last
/// count, in at most [`Filling::POINTS`] points. Times begin at the first of them.
pub fn rise(samples: &[FillPoint]) -> Vec<FillPoint> {
    let Some(end) = samples.last().map(|last| last.entries) else {
        return Vec::new();
    };
    let first = samples.iter().position(|point| point.entries > 0);
    let first = first.unwrap_or(0).saturating_sub(1);
    let last = samples.iter().rposition(|point| point.entries != end);
    let last = last.map_or(0, |before| before + 1).max(first);
    let rise = &samples[first..=last.min(samples.len() - 1)];
    let from = rise[0].s;
    let step = rise.len().div_ceil(Filling::POINTS - 1).max(1);
    // The end is what it is about: it is kept whatever the step.
    let kept = (0..rise.len())
        .step_by(step)
        .chain((!(rise.len() - 1).is_multiple_of(step)).then_some(rise.len() - 1));
    kept.map(|at| FillPoint {
        s: rise[at].s - from,
        entries: rise[at].entries,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(entries: &[u64]) -> Vec<FillPoint> {
        let times = (0..).map(|n| f64::from(n) * 0.5);
        let points = times.zip(entries);
        points
            .map(|(s, entries)| FillPoint {
                s,
                entries: *entries,
            })
            .collect()
    }

    #[test]
    fn what_is_before_and_behind_the_rise_is_left_out() {
        let kept = rise(&samples(&[0, 0, 0, 10, 25, 30, 30, 30]));
        assert_eq!(kept, samples(&[0, 10, 25, 30]));
        assert_eq!(rise(&samples(&[5, 5])), samples(&[5]));
        assert_eq!(rise(&samples(&[0, 0])), samples(&[0]));
        assert!(rise(&[]).is_empty());
    }

    #[test]
    fn long_fills_keep_few_points_and_their_end() {
        for count in [119, 120, 121, 1000, 5001] {
            let all: Vec<u64> = (0..count).collect();
            let kept = rise(&samples(&all));
            assert!(
                kept.len() <= Filling::POINTS && kept.len() > 50,
                "{count}: {}",
                kept.len()
            );
            assert_eq!(kept[0].entries, 0, "{count}");
            assert_eq!(kept.last().unwrap().entries, count - 1, "{count}");
            assert!(kept.is_sorted_by(|a, b| a.s < b.s), "{count}");
        }
    }
}
