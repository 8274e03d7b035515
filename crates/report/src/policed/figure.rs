//! Rates and limits over time.

use maud::Markup;
use nicety_model::policed::{Policed, PolicedRates, PolicedSummary};

use super::means::PeriodMean;
use super::rate;
use crate::error::ReportError;
use crate::figure::axis::Axis;
use crate::figure::both;
use crate::figure::svg::{self, Drawn, Frame, Ink, Plot};
use crate::number;

/// Size in CSS pixels, and number of ticks on the time axis.
type Shape = ((i32, i32), u32);
const WIDE: Shape = ((760, 300), 8);
const NARROW: Shape = ((360, 240), 4);
const SMALL: Shape = ((360, 200), 4);

/// Seconds, minutes or hours, as the record is long.
fn time(end: f64, wanted: u32) -> Axis {
    let (unit, name) = match end {
        end if end < 300.0 => (1.0, "s"),
        end if end < 3.0 * 3600.0 => (60.0, "min"),
        _ => (3600.0, "h"),
    };
    let mut axis = Axis::from_zero(end / unit, wanted, |at| {
        format!("{} {name}", number::significant(at, 3))
    });
    for tick in &mut axis.ticks {
        tick.0 *= unit;
    }
    // The last tick may lie behind the end: no room is left there.
    axis.max = end.max(f64::MIN_POSITIVE);
    axis.ticks.retain(|(at, _)| *at <= axis.max);
    axis
}

fn rates(most: f64, wanted: u32) -> Axis {
    Axis::from_zero(most / 1e6, wanted, number::short)
}

/// A line that is interrupted where there is no value.
fn line(
    plot: &mut Plot<'_, '_>,
    points: &[PeriodMean],
    of: impl Fn(&PeriodMean) -> Option<f64>,
    (ink, width, dashed): (Ink, i32, bool),
) -> Drawn {
    let at = |point: &PeriodMean| Some((point.at_s, of(point)? / 1e6));
    let all: Vec<Option<(f64, f64)>> = points.iter().map(at).collect();
    for part in all.split(Option::is_none) {
        let part: Vec<(f64, f64)> = part.iter().copied().flatten().collect();
        plot.line(&part, ink, width, dashed)?;
    }
    Ok(())
}

/// The rates of the tenants named by `shown` under the link's, for a wide and a narrow window.
pub fn together(
    run: &Policed,
    points: &[PeriodMean],
    shown: &[usize],
) -> Result<Markup, ReportError> {
    let end = points.last().map_or(0.0, |point| point.at_s);
    let highest = points.iter().map(|point| point.total_bps);
    let most = highest.fold(run.run.capacity_bps, f64::max);
    let told: Vec<String> = shown
        .iter()
        .filter_map(|tenant| run.summary.get(*tenant))
        .map(|one| format!("{} {} on average", one.tenant, rate(one.mean_bps)))
        .collect();
    let label = format!(
        "Rates over {} under a link of {}: {}",
        number::seconds(end),
        rate(run.run.capacity_bps),
        told.join(", ")
    );
    both([WIDE, NARROW], |shape, class| {
        over_time((shape, class), (end, most, 5), &label, |plot| {
            let capacity = run.run.capacity_bps;
            let shared = run.run.shared_bps;
            line(plot, points, |_| Some(capacity), (Ink::Muted, 1, false))?;
            line(plot, points, |_| Some(shared), (Ink::Goal, 2, true))?;
            line(plot, points, |p| Some(p.total_bps), (Ink::Muted, 1, true))?;
            for (place, tenant) in shown.iter().enumerate() {
                let of = |point: &PeriodMean| point.tenants.get(*tenant).map(|t| t.rate_bps);
                line(plot, points, of, (Ink::Series(place), 2, false))?;
            }
            Ok(())
        })
    })
}

/// Draws rates up to `most` bit/s over the seconds up to `end`.
fn over_time(
    ((size, ticks), class): (Shape, &'static str),
    (end, most, lines): (f64, f64, u32),
    label: &str,
    body: impl FnOnce(&mut Plot<'_, '_>) -> Drawn,
) -> Result<Markup, ReportError> {
    let (x, y) = (time(end, ticks), rates(most, lines));
    let frame = Frame::new((size, class), 52, (&x, &y), label);
    svg::draw(&frame, body)
}

/// Rate, demand and limits of one tenant.
pub fn alone(
    one: &PolicedSummary,
    points: &[PeriodMean],
    tenant: usize,
) -> Result<Markup, ReportError> {
    let end = points.last().map_or(0.0, |point| point.at_s);
    let of = |point: &PeriodMean| point.tenants.get(tenant).copied();
    let highest = |rates: PolicedRates| rates.rate_bps.max(rates.hard_bps);
    let most = points
        .iter()
        .filter_map(of)
        .map(highest)
        .fold(0.0, f64::max);
    let label = format!(
        "Rate and limits of {} over {}: rate {} on average and at most {}, limit {} to {}",
        one.tenant,
        number::seconds(end),
        rate(one.mean_bps),
        rate(one.max_bps),
        rate(one.limit_min_bps),
        rate(one.limit_max_bps)
    );
    over_time((SMALL, "small"), (end, most, 4), &label, |plot| {
        let hard = |p: &PeriodMean| of(p).map(|t| t.hard_bps);
        let limit = |p: &PeriodMean| of(p).map(|t| t.limit_bps);
        let demand = |p: &PeriodMean| of(p)?.demand_bps.map(|bps| bps.min(most));
        line(plot, points, hard, (Ink::Muted, 1, false))?;
        line(plot, points, |p| of(p)?.soft_bps, (Ink::Muted, 1, true))?;
        line(plot, points, demand, (Ink::Series(1), 1, false))?;
        line(plot, points, limit, (Ink::Goal, 2, true))?;
        line(
            plot,
            points,
            |p| of(p).map(|t| t.rate_bps),
            (Ink::Series(0), 2, false),
        )
    })
}
