//! The interval of a change, drawn.

use maud::{Markup, html};
use nicety_model::compare::{ComparedCell, Judgement};

use super::row;

/// Widest change a drawing shows: beyond it an arrow ends the line.
const WIDEST: f64 = std::f64::consts::LN_2;
/// Width and height of a drawing in its own units.
const DRAWN: (f64, f64) = (240.0, 20.0);

/// Logarithm of the ratio at the drawings' right end: all intervals fit, within limits.
pub(super) fn reach(rows: &[&ComparedCell], margin: f64) -> f64 {
    let widest = rows
        .iter()
        // What is not judged may lie anywhere; it must not squeeze what is.
        .filter(|row| row.judgement != Judgement::NotJudged)
        .filter_map(|row| row.ratio)
        .flat_map(|ratio| [ratio.low, ratio.high])
        .flatten()
        .map(|ratio| ratio.ln().abs())
        .filter(|size| size.is_finite())
        .fold(2.0 * margin.ln_1p(), f64::max);
    (widest * 1.05).min(WIDEST)
}

/// The interval on a line, zero in the middle, the margin as a band.
pub(super) fn drawing(row: &ComparedCell, reach: f64, margin: f64) -> Markup {
    let (width, height) = DRAWN;
    let x = |ratio: f64| {
        let share = (ratio.ln() / reach).clamp(-1.0, 1.0);
        let at = width / 2.0 + share * (width / 2.0 - 5.0);
        format!("{at:.1}")
    };
    let middle = format!("{:.1}", height / 2.0);
    let ink = match row.judgement {
        Judgement::Worse => "var(--bad)",
        Judgement::Better => "var(--s2)",
        _ => "var(--muted)",
    };
    let (left, right) = (x(1.0 / (1.0 + margin)), x(1.0 + margin));
    let band = right.parse::<f64>().unwrap_or(0.0) - left.parse::<f64>().unwrap_or(0.0);
    let words = format!("{}, {}", row::change(row), row::interval(row));
    html! {
        svg.interval viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(words) {
            title { (words) }
            rect x=(left) y="0" width=(format!("{band:.1}")) height=(height) fill="var(--grid)" {}
            line x1=(x(1.0)) x2=(x(1.0)) y1="0" y2=(height) stroke="var(--rule)" {}
            @if let Some(ratio) = row.ratio.filter(|ratio| ratio.ratio.is_finite()) {
                @if let Some((low, high)) = ratio.low.zip(ratio.high).filter(|(low, high)| *low > 0.0 && high.is_finite()) {
                    line x1=(x(low)) x2=(x(high)) y1=(middle) y2=(middle) stroke=(ink) stroke-width="3" {}
                }
                @if ratio.ratio.ln().abs() <= reach {
                    circle cx=(x(ratio.ratio)) cy=(middle) r="4.5" fill=(ink) {}
                } @else {
                    (arrow(ratio.ratio > 1.0, ink))
                }
            }
        }
    }
}

/// Says that the value lies beyond the drawing.
fn arrow(right: bool, ink: &str) -> Markup {
    let (width, height) = DRAWN;
    let (tip, base) = if right {
        (width - 1.0, width - 10.0)
    } else {
        (1.0, 10.0)
    };
    let middle = height / 2.0;
    let points = format!(
        "{tip},{middle} {base},{} {base},{}",
        middle - 5.0,
        middle + 5.0
    );
    html! { polygon points=(points) fill=(ink) {} }
}
