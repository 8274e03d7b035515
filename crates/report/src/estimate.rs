//! A cell's number with its interval, and how it is written.

use nicety_model::Verdict;

use crate::number::{self, ABSENT};
use crate::pick::Group;

/// Ends of an interval nearer than this, as a ratio, say nothing of how far a noisy number may be off.
const SAYS_MORE: f64 = 1.02;

/// What an interval from a single visit is worth.
pub(crate) const ONE_VISIT: &str = "from one visit: no confidence stated";

/// A number that a busy machine gave: its interval, or two digits where none is known.
fn rough(fps: f64, ends: Option<(f64, f64)>) -> String {
    match ends.filter(|(low, high)| *high > SAYS_MORE * low) {
        Some(ends) => number::interval(ends),
        None => format!("about {}", number::short(number::rounded(fps, 2))),
    }
}

impl Group<'_> {
    /// Lower and upper end of the interval, in frames/s.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let estimate = self.estimate()?;
        Some((estimate.low_fps, estimate.high_fps))
    }

    /// The interval as text: `760–810 k`.
    pub fn interval_text(&self) -> Option<String> {
        self.interval().map(number::interval)
    }

    /// Half the interval over the number as text: `± 3.2 %`.
    pub fn half_width_text(&self) -> Option<String> {
        let half = self.estimate()?.half_width();
        let text = || format!("± {} %", number::significant(half * 100.0, 2));
        half.is_finite().then(text)
    }

    /// What the interval is worth: `94 %, range of 5 visits`.
    pub fn interval_label(&self) -> Option<String> {
        let estimate = self.estimate()?;
        let Some(confidence) = estimate.confidence else {
            return Some(ONE_VISIT.to_owned());
        };
        // The ends are computed from the median.
        let is_end = |end: f64| self.visits().any(|fps| (fps - end).abs() <= 1e-9 * fps);
        let whole = is_end(estimate.low_fps) && is_end(estimate.high_fps);
        let of = if whole { "range of" } else { "from" };
        let visits = number::plural(estimate.visits, "visit");
        Some(format!("{}, {of} {visits}", number::share(confidence)))
    }

    /// Throughput of every visit that found one, in order of time.
    pub fn visits(&self) -> impl Iterator<Item = f64> {
        let found = self.repeats.iter().filter_map(|cell| cell.throughput_fps);
        found.filter(|fps| fps.is_finite())
    }

    /// Throughput as text: with the digits that its interval allows, or three where none is known. A
    /// noisy number is no closer than its interval, and is written as that: `208–397 k`. A bound is one: `≥ 84 k`.
    pub fn fps_text(&self) -> String {
        if self.verdict().is_bound() {
            format!("≥ {}", self.number_text())
        } else {
            self.number_text()
        }
    }

    fn number_text(&self) -> String {
        match (self.throughput_fps(), self.interval()) {
            (Some(fps), ends) if self.is_noisy() => rough(fps, ends.or_else(|| self.span())),
            (Some(fps), Some(ends)) => number::within(fps, ends),
            (fps, _) => fps.map_or_else(|| ABSENT.to_owned(), number::short),
        }
    }

    /// Throughput at L1 in Mbit/s, rounded to the digits that the interval allows.
    pub fn told_mbps(&self) -> Option<f64> {
        let mbps = self.l1_mbps()?;
        Some(match self.throughput_fps().zip(self.interval()) {
            Some((fps, ends)) => number::rounded(mbps, number::digits(fps, ends)),
            None if self.is_noisy() => number::rounded(mbps, 2),
            None => mbps,
        })
    }

    /// Whether the machine was not quiet enough for the number to be one.
    fn is_noisy(&self) -> bool {
        self.verdict() == Verdict::Noisy
    }

    /// From the lowest to the highest throughput that the repeats leave possible.
    fn span(&self) -> Option<(f64, f64)> {
        let found = self.repeats.iter().flat_map(|cell| {
            let bounds = [cell.bounds.lower_fps, cell.bounds.upper_fps];
            bounds.into_iter().chain([cell.throughput_fps])
        });
        let ends = found.flatten().filter(|fps| fps.is_finite());
        let (low, high) = ends.fold((f64::INFINITY, 0.0_f64), |(low, high), fps| {
            (low.min(fps), high.max(fps))
        });
        (low <= high).then_some((low, high))
    }

    /// Load that held for as long as the confirm trial, in frames/s: that of the confirm trial, or
    /// a lower one.
    pub fn held_fps(&self) -> Option<f64> {
        let confirm = self.shown.confirm.filter(|confirm| confirm.met);
        let held = confirm.or(self.shown.held)?;
        Some(held.load_fps).filter(|fps| fps.is_finite())
    }

    /// [`Self::held_fps`] as text; `none` where loads were tried and none held.
    pub fn held_text(&self) -> String {
        match self.held_fps() {
            Some(fps) => number::short(fps),
            None if self.shown.confirm.is_some() => "none".to_owned(),
            None => ABSENT.to_owned(),
        }
    }

    /// Median of the visits' forwarding rate under overload, in frames/s.
    pub fn capacity_fps(&self) -> Option<f64> {
        let capacity = self.summary?.capacity_fps;
        capacity.filter(|fps| fps.is_finite())
    }

    /// Part of the confirm trial's lost frames that fell into stalls, as text: `92 % in stalls`;
    /// absent where that is not known, or nothing was lost.
    pub fn stalls_text(&self) -> Option<String> {
        let confirm = self.shown.confirm?;
        let lost = confirm.lost.filter(|lost| *lost > 0)?;
        let share = confirm.lost_in_stalls? as f64 / lost as f64;
        Some(format!("{} in stalls", number::share(share)))
    }
}

#[cfg(test)]
mod tests {
    use super::rough;

    #[test]
    fn a_noisy_number_has_no_more_digits_than_it_is_worth() {
        for (fps, ends, text) in [
            (207_917.0, Some((207_917.0, 396_812.0)), "210–400 k"),
            (207_917.0, Some((199_000.0, 209_000.0)), "199–209 k"),
            (117_321.0, Some((117_321.0, 118_300.0)), "about 120 k"),
            (1_438_000.0, None, "about 1.40 M"),
        ] {
            assert_eq!(rough(fps, ends), text);
        }
    }
}
