//! A comparison as one HTML file.

use std::io::Write;

use maud::{Markup, html};
use nicety_model::Verdict;
use nicety_model::compare::{ComparedCell, Comparison, Judgement, Sample};

use super::{row, words};
use crate::error::ReportError;
use crate::html::page::{Page, embeddable};
use crate::html::parts;

/// Widest change a drawing shows: beyond it an arrow ends the line.
const WIDEST: f64 = std::f64::consts::LN_2;
/// Width and height of a drawing in its own units.
const DRAWN: (f64, f64) = (240.0, 20.0);

/// Writes the comparison as one self-contained HTML file.
///
/// # Errors
/// [`ReportError::Json`] when the data cannot be embedded, [`ReportError::Write`] when the
/// writer fails.
pub fn render(comparison: &Comparison, out: &mut impl Write) -> Result<(), ReportError> {
    let data = embeddable(&super::data(comparison, serde_json::to_string)?);
    let page = Page {
        title: "Comparison · nicety",
        generator: None,
        body: html! {
            a.skip href="#cells" { "Skip to the cells" }
            (head(comparison))
            main {
                @if !comparison.differences.is_empty() {
                    (parts::section("differences", "What else differs", differences(comparison)))
                }
                (parts::section("cells", "Cell by cell", cells(comparison)))
                @if let Some(body) = lists(comparison) {
                    (parts::section("notes", "Notes", body))
                }
                (parts::section("compared", "Compared", compared(comparison)))
            }
            footer {
                p { "Preset " (comparison.preset) ", loss goal " (crate::number::loss(comparison.loss_goal)) ". Frame sizes include the FCS." }
                button #save .download type="button" hidden { "Save this comparison as JSON" }
            }
        },
        data,
        data_name: "nicety-compare.json",
    };
    page.write(out)
}

fn head(comparison: &Comparison) -> Markup {
    let counts = comparison.counts;
    let shown = [
        (counts.lost, "lost", "fail"),
        (counts.worse, "worse", "fail"),
        (counts.better, "better", "good"),
        (counts.same, "same", "info"),
        (counts.cannot_tell, "cannot tell", "warn"),
        (counts.not_judged - counts.lost, "not judged", "warn"),
    ];
    html! {
        header {
            p.eyebrow { "nicety compare" }
            h1 { "New results against old ones" }
            @for (n, sentence) in words::summary(comparison).iter().enumerate() {
                p class=(if n == 0 { "lead" } else { "lead second" }) { (sentence) "." }
            }
            p.worth {
                @for (count, word, kind) in shown.into_iter().filter(|(count, ..)| *count > 0) {
                    span.pair { (count) " " span class={ "badge " (kind) } { (word) } }
                }
            }
            @if !comparison.differences.is_empty() {
                p {
                    "Before you blame the path: the sides also differ in "
                    a href="#differences" { (crate::words::plural(comparison.differences.len(), "other thing")) } "."
                }
            }
        }
    }
}

fn differences(comparison: &Comparison) -> Markup {
    parts::table(
        "The likeliest explanation first",
        html! { tr { th scope="col" { "what" } th scope="col" { "old" } th scope="col" { "new" } } },
        html! {
            @for difference in &comparison.differences {
                tr { th scope="row" { (difference.what) } td.wrap { (difference.old) } td.wrap { (difference.new) } }
            }
        },
    )
}

fn cells(comparison: &Comparison) -> Markup {
    let rows = row::ordered(comparison);
    let reach = reach(&rows, comparison.margin);
    let caption = format!(
        "Change with its {}; drawn from {} to {}, the band is the margin of {}",
        row::interval_heading(comparison),
        crate::number::change((-reach).exp()),
        crate::number::change(reach.exp()),
        row::percent(comparison.margin)
    );
    html! {
        (parts::table(
            &caption,
            html! { tr {
                th scope="col" { "cell" } th scope="col" { "judgement" }
                th.num scope="col" { "change" } th scope="col" { "drawn" }
                th.num scope="col" { "old" } th.num scope="col" { "new" }
                th scope="col" { "why not" }
            } },
            html! {
                @for row in rows {
                    tr {
                        th scope="row" { (words::name(comparison, row)) }
                        td { (badge(row)) }
                        td.num data-v=(sort_key(row.ratio.map(|r| r.ratio))) {
                            (row::change(row))
                            @if row.ratio.is_some_and(|ratio| ratio.low.is_some()) {
                                span.sub { (row::interval(row)) }
                            }
                        }
                        td { (drawing(row, reach, comparison.margin)) }
                        (number(row, &row.old)) (number(row, &row.new))
                        td.wrap { @if let Some(reason) = &row.reason { (reason) } }
                    }
                }
            },
        ))
        p.muted { (words::legend(comparison)) }
    }
}

fn number(row: &ComparedCell, sample: &Sample) -> Markup {
    html! {
        td.num data-v=(sort_key(sample.mean)) {
            (row::value(row.metric, sample))
            span.sub {
                @if sample.mean.is_some() { (row.unit) " " }
                @if sample.verdict != Verdict::Ok { (parts::badge(sample.verdict)) }
            }
        }
    }
}

fn sort_key(value: Option<f64>) -> String {
    value
        .filter(|value| value.is_finite())
        .map(|value| value.to_string())
        .unwrap_or_default()
}

fn badge(row: &ComparedCell) -> Markup {
    let kind = match row.judgement {
        _ if row.lost => "fail",
        Judgement::Worse => "fail",
        Judgement::Better => "good",
        Judgement::Same => "info",
        Judgement::CannotTell | Judgement::NotJudged => "warn",
    };
    html! { span class={ "badge " (kind) } { (row::judgement(row)) } }
}

/// Logarithm of the ratio at the drawings' right end: all intervals fit, within limits.
fn reach(rows: &[&ComparedCell], margin: f64) -> f64 {
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
fn drawing(row: &ComparedCell, reach: f64, margin: f64) -> Markup {
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

fn lists(comparison: &Comparison) -> Option<Markup> {
    let missing = [
        ("Only in the old: ", &comparison.only_old),
        ("Only in the new: ", &comparison.only_new),
    ];
    if comparison.notes.is_empty() && missing.iter().all(|(_, cells)| cells.is_empty()) {
        return None;
    }
    Some(html! {
        ul {
            @for note in &comparison.notes { li { (note.to_string()) } }
            @for (title, cells) in missing.into_iter().filter(|(_, cells)| !cells.is_empty()) {
                li { (title) (cells.join(", ")) }
            }
        }
    })
}

fn compared(comparison: &Comparison) -> Markup {
    html! {
        dl.meaning {
            dt { "old" } dd { (words::side(&comparison.old)) }
            dt { "new" } dd { (words::side(&comparison.new)) }
        }
    }
}
