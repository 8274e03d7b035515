//! Rates and limits over time.

use maud::Markup;
use nicety_model::policed::{Policed, PolicedRates, PolicedSummary};

use super::means::PeriodMean;
use super::rate;
use crate::figure::axis::Axis;
use crate::figure::svg::{self, Frame, Ink, Look, Plot, Stroke};
use crate::figure::{Room, Size, ticks};
use crate::number;

/// Points of a drawing that say their values.
const TOLD: usize = 60;
/// Marks on a line, which tell lines apart without their colours.
const MARKS: usize = 6;

/// A line that is interrupted where there is no value.
fn line(
    plot: &mut Plot<'_>,
    points: &[PeriodMean],
    of: impl Fn(&PeriodMean) -> Option<f64>,
    (ink, stroke): (Ink, Stroke),
) {
    let at = |point: &PeriodMean| Some((point.at_s, of(point)?));
    let all: Vec<Option<(f64, f64)>> = points.iter().map(at).collect();
    for part in all.split(Option::is_none) {
        let part: Vec<(f64, f64)> = part.iter().copied().flatten().collect();
        plot.line(&part, ink, stroke);
    }
}

/// What a drawing over time shows.
struct OverTime<'a> {
    points: &'a [PeriodMean],
    /// Highest rate in bit/s.
    most: f64,
    label: String,
}

impl OverTime<'_> {
    /// Draws `body` under columns that say what `told` says of their middle.
    fn draw(
        &self,
        size: Size,
        told: impl Fn(&PeriodMean) -> String,
        body: impl Fn(&mut Plot<'_>),
    ) -> Markup {
        let end = self.points.last().map_or(0.0, |point| point.at_s);
        let x = Axis::time(end, ticks(size));
        let y = Axis::from_zero(self.most, 5, "bit/s").named("rate on the wire");
        let frame = Frame {
            size,
            axes: (&x, &y),
            label: &self.label,
        };
        svg::draw(&frame, |plot| {
            body(plot);
            let mut from = 0.0;
            for part in self.points.chunks(self.points.len().div_ceil(TOLD).max(1)) {
                let to = part.last().map_or(from, |point| point.at_s);
                if let Some(middle) = part.get(part.len() / 2) {
                    let told = format!("{}: {}", number::seconds(middle.at_s), told(middle));
                    plot.column((from, to), &told);
                }
                from = to;
            }
        })
    }
}

/// The rates of the tenants named by `shown` under the link's.
pub fn together(run: &Policed, points: &[PeriodMean], shown: &[usize]) -> Markup {
    let end = points.last().map_or(0.0, |point| point.at_s);
    let highest = points.iter().map(|point| point.total_bps);
    let name = |tenant: &usize| run.summary.get(*tenant).map(|one| (*tenant, one));
    let named: Vec<(usize, &PolicedSummary)> = shown.iter().filter_map(name).collect();
    let means = named.iter().map(|(_, one)| {
        let mean = rate(one.mean_bps);
        format!("{} {mean} on average", one.tenant)
    });
    let means: Vec<String> = means.collect();
    let drawing = OverTime {
        points,
        most: highest.fold(run.run.capacity_bps, f64::max),
        label: format!(
            "Rates over {} under a link of {}: {}",
            number::seconds(end),
            rate(run.run.capacity_bps),
            means.join(", ")
        ),
    };
    let told = |point: &PeriodMean| {
        let of = |(tenant, one): &(usize, &PolicedSummary)| {
            let bps = point.tenants.get(*tenant)?.rate_bps;
            Some(format!("{} {}", one.tenant, rate(bps)))
        };
        let each: Vec<String> = named.iter().filter_map(of).collect();
        format!(
            "{}, all together {}",
            each.join(", "),
            rate(point.total_bps)
        )
    };
    Room::Whole.draw(300.0, |size| {
        drawing.draw(size, told, |plot| {
            plot.level(run.run.capacity_bps, Ink::Muted, Stroke::Thin, "");
            plot.level(run.run.shared_bps, Ink::Goal, Stroke::Limit, "");
            let total = |p: &PeriodMean| Some(p.total_bps);
            line(plot, points, total, (Ink::Muted, Stroke::Dashed));
            for (place, (tenant, _)) in named.iter().enumerate() {
                let of = |point: &PeriodMean| point.tenants.get(*tenant).map(|t| t.rate_bps);
                line(plot, points, of, (Ink::Series(place), Stroke::Thick));
                // Each line has its marks at times of its own.
                let every = points.len().div_ceil(MARKS).max(1);
                let first = every * (place + 1) / (named.len() + 1);
                for point in points.iter().skip(first).step_by(every) {
                    let at = (point.at_s, of(point).unwrap_or(f64::NAN));
                    plot.mark(at, Look::of_series(place, 3.5, false), "");
                }
            }
        })
    })
}

/// Rate, demand and limits of one tenant.
pub fn alone(one: &PolicedSummary, points: &[PeriodMean], tenant: usize, room: Room) -> Markup {
    let end = points.last().map_or(0.0, |point| point.at_s);
    let of = |point: &PeriodMean| point.tenants.get(tenant).copied();
    let highest = |rates: PolicedRates| rates.rate_bps.max(rates.hard_bps);
    let most = points.iter().filter_map(of).map(highest);
    let most = most.fold(0.0, f64::max);
    let drawing = OverTime {
        points,
        most,
        label: format!(
            "Rate and limits of {} over {}: rate {} on average and at most {}, limit {} to {}",
            one.tenant,
            number::seconds(end),
            rate(one.mean_bps),
            rate(one.max_bps),
            rate(one.limit_min_bps),
            rate(one.limit_max_bps)
        ),
    };
    let told = |point: &PeriodMean| match of(point) {
        Some(rates) => format!(
            "rate {}, limit {}",
            rate(rates.rate_bps),
            rate(rates.limit_bps)
        ),
        None => "no value".to_owned(),
    };
    room.draw(220.0, |size| {
        drawing.draw(size, told, |plot| {
            let hard = |p: &PeriodMean| of(p).map(|t| t.hard_bps);
            let limit = |p: &PeriodMean| of(p).map(|t| t.limit_bps);
            let demand = |p: &PeriodMean| of(p)?.demand_bps.map(|bps| bps.min(most));
            let rate = |p: &PeriodMean| of(p).map(|t| t.rate_bps);
            line(plot, points, hard, (Ink::Muted, Stroke::Thin));
            line(
                plot,
                points,
                |p| of(p)?.soft_bps,
                (Ink::Muted, Stroke::Dashed),
            );
            line(plot, points, demand, (Ink::Series(1), Stroke::Dotted));
            line(plot, points, limit, (Ink::Goal, Stroke::Limit));
            line(plot, points, rate, (Ink::Series(0), Stroke::Thick));
        })
    })
}
