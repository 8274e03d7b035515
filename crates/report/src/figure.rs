//! Figures of pages: axes, drawing, and what stands around a drawing.

pub(crate) mod axis;
pub(crate) mod svg;

use maud::{Markup, html};

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

/// Anchor of something by its name: what may not stand in an address is written as it is there.
pub(crate) fn anchor(kind: &str, name: &str) -> String {
    let mut id = format!("{kind}-");
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b',' | b'=' | b'/' => {
                id.push(char::from(byte));
            }
            other => id.push_str(&format!("%{other:02X}")),
        }
    }
    id
}

/// The sign that links to an anchor.
pub(crate) fn link(id: &str, what: &str) -> Markup {
    html! { a.anchor href={ "#" (id) } aria-label={ "Link to " (what) } {} }
}

/// A figure under its title, which can be linked to.
pub(crate) fn figure(title: &str, about: &str, body: Markup) -> Markup {
    let about = html! { @if !about.is_empty() { " " span.muted { (about) } } };
    titled(
        &anchor("chart", &title.replace(' ', "-")),
        title,
        about,
        body,
    )
}

/// A figure with an anchor of its own and more beside its title.
pub(crate) fn titled(id: &str, title: &str, beside: Markup, body: Markup) -> Markup {
    html! {
        figure id=(id) {
            figcaption { strong { (title) } (beside) (link(id, title)) }
            (body)
        }
    }
}

/// Figures beside each other, over the whole width.
pub(crate) fn grid(figures: &[Markup]) -> Markup {
    let columns = match Room::of(figures.len()) {
        Room::Whole => "grid one",
        Room::Half => "grid two",
        Room::Third => "grid",
    };
    html! { div class=(columns) { @for figure in figures { (figure) } } }
}

/// Says how many of the things were drawn where it is not all.
pub(crate) fn not_all(all: usize, things: &str) -> Markup {
    html! {
        @if all > DRAWN {
            p.muted { "Drawn for the first " (DRAWN) " of " (all) " " (things) "; the tables have them all." }
        }
    }
}

/// How much of a row a figure has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Whole,
    Half,
    Third,
}

/// Width and height of a drawing in CSS pixels.
pub(crate) type Size = (f64, f64);

/// Ticks that an x axis has room for.
pub(crate) fn ticks((width, _): Size) -> u32 {
    (width / 60.0) as u32
}

impl Room {
    /// Of each of so many figures.
    pub(crate) fn of(figures: usize) -> Self {
        match figures {
            1 => Self::Whole,
            2 | 4 => Self::Half,
            _ => Self::Third,
        }
    }

    /// The same drawing in the widths that this room can have; the style sheet shows the one that fits.
    pub(crate) fn draw(self, height: f64, draw: impl Fn(Size) -> Markup) -> Markup {
        self.draw_tall(|width| draw((width, height)))
    }

    /// The same for drawings whose height follows from the width.
    pub(crate) fn draw_tall(self, draw: impl Fn(f64) -> Markup) -> Markup {
        let widths: &[f64] = match self {
            Self::Whole => &[360.0, 640.0, 1060.0],
            Self::Half => &[360.0, 520.0],
            Self::Third => &[360.0],
        };
        html! { div.forms { @for width in widths { (draw(*width)) } } }
    }
}

/// The figures that there are, each drawn for the room it has among them.
pub(crate) fn fill<'t, T>(
    things: &'t [T],
    draw: impl Fn(&'t T, Room) -> Option<Markup>,
) -> Vec<Markup> {
    let drawn = |room| -> Vec<Markup> {
        let all = things.iter().filter_map(|thing| draw(thing, room));
        all.take(DRAWN).collect()
    };
    // Seldom has one of them no figure: then the others have more room.
    let room = Room::of(things.len());
    let all = drawn(room);
    match Room::of(all.len()) {
        same if same == room => all,
        other => drawn(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_differ_where_names_do_and_keep_the_signs_of_names() {
        let of = |name| anchor("result", name);
        assert_eq!(of("vm,nic=e1000/64/uni"), "result-vm,nic=e1000/64/uni");
        assert_eq!(of("a b<\""), "result-a%20b%3C%22");
        assert_ne!(of("a b"), of("a-b"));
    }
}
