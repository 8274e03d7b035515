//! Paths below each other, the best first: the figure of a run over one frame size, where a curve over sizes would be
//! a single column of points.

use maud::{Markup, html};
use nicety_model::Verdict;

use crate::figure::axis::Axis;
use crate::figure::svg::{self, Frame, Ink, Look, Shape, Stroke};
use crate::figure::{self, Room, Size, key};
use crate::pick::Group;
use crate::ranking::{self, Place, Ranking};

/// Paths drawn; the table has them all.
const MOST: usize = 40;
/// Heights of a row, and of what is around the rows.
const ROW: f64 = 20.0;
const AROUND: f64 = 56.0;
/// How far beyond the rates the axis goes for an interval: one down to nothing would take most of a logarithmic one.
const BEYOND: f64 = 3.0;
/// Letters of a name that a narrow drawing has room for.
const SHORT: usize = 20;
const NARROW: f64 = 400.0;

/// The rankings of a run over a single frame size; none where it has more sizes or fewer paths.
fn drawn<'g, 'r>(groups: &'g [Group<'r>]) -> Option<Vec<Ranking<'g, 'r>>> {
    if ranking::sizes(groups).len() > 1 {
        return None;
    }
    let rankings = ranking::told(groups);
    rankings.iter().any(Ranking::tells).then_some(rankings)
}

/// Whether a page begins with the order of its paths.
pub(super) fn are_drawn(groups: &[Group<'_>]) -> bool {
    drawn(groups).is_some()
}

/// The order of the paths; nothing where it is not drawn.
pub(super) fn figures(groups: &[Group<'_>]) -> Option<Markup> {
    let figures: Vec<Markup> = drawn(groups)?.iter().map(figure).collect();
    Some(figure::grid(&figures))
}

fn figure(ranking: &Ranking<'_, '_>) -> Markup {
    let chart = Chart::new(ranking);
    let height = AROUND + chart.places.len() as f64 * ROW;
    let body = html! {
        (legend(chart.places))
        (Room::Whole.draw(height, |size| chart.draw(size)))
    };
    figure::figure("Paths by what they carry", &ranking.of(), body)
}

fn legend(places: &[Place<'_, '_>]) -> Markup {
    let any = |has: fn(Verdict) -> bool| places.iter().any(|place| has(place.group.verdict()));
    let mut keys = vec![key("s0", Shape::Circle.glyph(), "throughput and interval")];
    if any(|verdict| verdict != Verdict::Ok) {
        keys.push(key("s0", "○", "verdict other than ok"));
    }
    if any(Verdict::is_bound) {
        keys.push(key("s0", "△", "at least: the path did not give out"));
    }
    figure::legend(&keys)
}

/// Rows of paths over an axis of rates.
struct Chart<'a, 'g, 'r> {
    places: &'a [Place<'g, 'r>],
    x: Axis,
    label: String,
}

impl<'a, 'g, 'r> Chart<'a, 'g, 'r> {
    fn new(ranking: &'a Ranking<'g, 'r>) -> Self {
        let places = &ranking.places[..ranking.places.len().min(MOST)];
        let rates = || places.iter().map(|place| place.fps);
        let (least, most) = (
            rates().fold(f64::INFINITY, f64::min),
            rates().fold(0.0, f64::max),
        );
        let lows = places.iter().map(|place| ends(place).0);
        let highs = places.iter().map(|place| ends(place).1);
        let least = lows.fold(least, f64::min).max(least / BEYOND);
        let most = highs.fold(most, f64::max).min(most * BEYOND);
        let told: Vec<String> = places.iter().map(told).collect();
        Self {
            places,
            x: Axis::fitting(least, most, "").named("frames/s per direction"),
            label: format!("Paths by what they carry. {}", told.join("; ")),
        }
    }

    fn draw(&self, size: Size) -> Markup {
        let rows = self.places.len() as f64;
        let row = |n: usize| rows - n as f64;
        let name = |place: &Place<'_, '_>| {
            if size.0 < NARROW {
                shortened(&place.group.key.path_name())
            } else {
                format!(
                    "{}  {}",
                    place.group.key.path_name(),
                    place.group.fps_text()
                )
            }
        };
        let names = self.places.iter().enumerate();
        let names = names.map(|(n, place)| (row(n), name(place)));
        let y = Axis::linear(0.5, rows + 0.5, names.collect());
        let frame = Frame {
            size,
            axes: (&self.x, &y),
            label: &self.label,
        };
        svg::draw(&frame, |plot| {
            for (n, place) in self.places.iter().enumerate() {
                let verdict = place.group.verdict();
                let at = |fps: f64| (self.x.at(fps), row(n));
                // One that goes on beyond the axis ends at its edge.
                let (low, high) = ends(place);
                let edge = |fps| self.x.at(fps).clamp(self.x.min, self.x.max);
                let line = [(edge(low), row(n)), (edge(high), row(n))];
                plot.line(&line, Ink::Series(0), Stroke::Thick);
                let shape = if verdict.is_bound() {
                    Shape::Triangle
                } else {
                    Shape::Circle
                };
                let look = Look::new(shape, Ink::Series(0), 4.5, verdict != Verdict::Ok);
                plot.mark(at(place.fps), look, &told(place));
            }
        })
    }
}

/// Ends of the interval, or the rate where there is none.
fn ends(place: &Place<'_, '_>) -> (f64, f64) {
    place.group.interval().unwrap_or((place.fps, place.fps))
}

/// `bridge: 473 k frames/s (390–560 k), wide`
fn told(place: &Place<'_, '_>) -> String {
    let group = place.group;
    let interval = group.interval_text();
    let interval = interval.map_or_else(String::new, |text| format!(" ({text})"));
    let (path, fps) = (group.key.path_name(), group.fps_text());
    format!("{path}: {fps} frames/s{interval}, {}", group.verdict())
}

/// The end of a long name, which tells it from its neighbours.
fn shortened(name: &str) -> String {
    let letters = name.chars().count();
    if letters > SHORT {
        let end: String = name.chars().skip(letters - SHORT + 1).collect();
        format!("…{end}")
    } else {
        name.to_owned()
    }
}
