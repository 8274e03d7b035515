//! Figures of pages: axes, drawing, and what stands around a drawing.

pub(crate) mod axis;
pub(crate) mod svg;

use maud::{Markup, html};

use crate::error::ReportError;
use svg::{SERIES, Shape};

/// Figures of a kind in one section; the others are in the tables.
pub(crate) const DRAWN: usize = 24;

/// A sign of a legend: class, character, meaning.
pub(crate) type Key = (String, &'static str, String);

/// A sign that the style sheet draws or colours.
pub(crate) fn key(class: &str, glyph: &'static str, meaning: impl Into<String>) -> Key {
    (class.to_owned(), glyph, meaning.into())
}

/// The sign of the n-th line.
pub(crate) fn series(n: usize, meaning: impl Into<String>) -> Key {
    key(
        &format!("s{}", n % SERIES),
        Shape::of_series(n).glyph(),
        meaning,
    )
}

/// What the signs of a figure, or of a grid of figures, mean.
pub(crate) fn legend(keys: &[Key]) -> Markup {
    html! {
        ul.legend {
            @for (class, glyph, meaning) in keys {
                li { span class={ "key " (class) } aria-hidden="true" { (glyph) } (meaning) }
            }
        }
    }
}

/// A figure under its title.
pub(crate) fn figure(title: &str, about: &str, body: Markup) -> Markup {
    html! {
        figure {
            figcaption { strong { (title) } @if !about.is_empty() { " " span.muted { (about) } } }
            (body)
        }
    }
}

/// Figures beside each other.
pub(crate) fn grid(figures: &[Markup]) -> Markup {
    html! { div.grid { @for figure in figures { (figure) } } }
}

/// Says how many of the things were drawn where it is not all.
pub(crate) fn not_all(all: usize, things: &str) -> Markup {
    html! {
        @if all > DRAWN {
            p.muted { "Drawn for the first " (DRAWN) " of " (all) " " (things) "; the tables have them all." }
        }
    }
}

/// The same for a wide and a narrow window; the style sheet shows one.
pub(crate) fn both<S>(
    [wide, narrow]: [S; 2],
    draw: impl Fn(S, &'static str) -> Result<Markup, ReportError>,
) -> Result<Markup, ReportError> {
    let (wide, narrow) = (draw(wide, "wide")?, draw(narrow, "narrow")?);
    Ok(html! { (wide) (narrow) })
}
