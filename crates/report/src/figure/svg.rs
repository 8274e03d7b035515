//! Charts as SVG: axes with their names inside, marks that say their values, colours of the style
//! sheet, so that one chart serves light, dark and print.

use maud::{Markup, PreEscaped, html};

use super::axis::Axis;

/// Lines that a figure can tell apart.
pub const SERIES: usize = 8;
/// Height of the letters of ticks and names, and what a letter takes along the line at most.
const FONT: f64 = 12.0;
const LETTER: f64 = 6.9;
/// Room above the plot for the name of the y axis, right of it, and below it for ticks and the name
/// of the x axis.
const TOP: f64 = 26.0;
const RIGHT: f64 = 16.0;
const BOTTOM: f64 = 42.0;

/// A colour of the style sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    Muted,
    Grid,
    Rule,
    Paper,
    Bad,
    Goal,
    /// A part of CPU time, by its name in the style sheet.
    Cpu(&'static str),
    /// One of [`SERIES`] colours for lines.
    Series(usize),
}

impl Ink {
    /// As an attribute has it.
    pub fn css(self) -> String {
        let name = match self {
            Self::Muted => "muted",
            Self::Grid => "grid",
            Self::Rule => "rule",
            Self::Paper => "paper",
            Self::Bad => "bad",
            Self::Goal => "goal",
            Self::Cpu(part) => return format!("var(--{part})"),
            Self::Series(n) => return format!("var(--s{})", n % SERIES),
        };
        format!("var(--{name})")
    }
}

/// Shape of a point, so that colour is never the only difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Circle,
    Triangle,
    Square,
    Diamond,
    Cross,
}

impl Shape {
    /// Shape of the n-th line.
    pub fn of_series(n: usize) -> Self {
        [Self::Circle, Self::Triangle, Self::Square, Self::Diamond][n % 4]
    }

    /// The shape as a character, for legends.
    pub fn glyph(self) -> &'static str {
        match self {
            Self::Circle => "●",
            Self::Triangle => "▲",
            Self::Square => "■",
            Self::Diamond => "◆",
            Self::Cross => "✕",
        }
    }

    /// Outline about `(x, y)` with a radius of about `r`.
    fn path(self, x: f64, y: f64, r: f64) -> String {
        let s = r * 0.88;
        match self {
            Self::Circle => format!(
                "M{:.1} {y:.1}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0Z",
                x - r,
                d = r * 2.0
            ),
            Self::Triangle => format!(
                "M{x:.1} {:.1}l{r} {h}h-{d}Z",
                y - r,
                h = r * 1.75,
                d = r * 2.0
            ),
            Self::Square => format!(
                "M{:.1} {:.1}h{d:.1}v{d:.1}h-{d:.1}Z",
                x - s,
                y - s,
                d = s * 2.0
            ),
            Self::Diamond => format!("M{x:.1} {:.1}l{r} {r}l-{r} {r}l-{r} -{r}Z", y - r),
            Self::Cross => format!(
                "M{:.1} {:.1}l{d} {d}m0 -{d}l-{d} {d}",
                x - r,
                y - r,
                d = r * 2.0
            ),
        }
    }
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    Thin,
    Thick,
    Dashed,
    Dotted,
    /// A thick one with dashes.
    Limit,
}

impl Stroke {
    fn width_and_dashes(self) -> (f64, Option<&'static str>) {
        match self {
            Self::Thin => (1.2, None),
            Self::Thick => (2.0, None),
            Self::Dashed => (1.3, Some("6 4")),
            Self::Dotted => (1.6, Some("2 3")),
            Self::Limit => (2.0, Some("6 4")),
        }
    }
}

/// How a point is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    pub shape: Shape,
    pub ink: Ink,
    /// About, in CSS pixels.
    pub radius: f64,
    /// Shows the paper inside.
    pub hollow: bool,
}

impl Look {
    pub fn new(shape: Shape, ink: Ink, radius: f64, hollow: bool) -> Self {
        Self {
            shape,
            ink,
            radius,
            hollow,
        }
    }

    /// The point of the n-th line.
    pub fn of_series(n: usize, radius: f64, hollow: bool) -> Self {
        Self::new(Shape::of_series(n), Ink::Series(n), radius, hollow)
    }
}

/// Size, axes and words of a chart.
pub struct Frame<'a> {
    /// Width and height in CSS pixels.
    pub size: (f64, f64),
    /// Horizontal and vertical axis.
    pub axes: (&'a Axis, &'a Axis),
    /// What a screen reader says.
    pub label: &'a str,
}

/// A chart under way. Points that are not finite are left out by every method.
pub struct Plot<'a> {
    x: &'a Axis,
    y: &'a Axis,
    /// Left, top, right and lower edge of the plot.
    area: (f64, f64, f64, f64),
    drawn: String,
    /// Room that labels of points have taken.
    taken: Vec<(f64, f64, f64, f64)>,
}

/// Draws axes and grid, then what `body` adds, and returns the SVG element.
pub fn draw(frame: &Frame<'_>, body: impl FnOnce(&mut Plot<'_>)) -> Markup {
    let (width, height) = frame.size;
    let (x, y) = frame.axes;
    let widest = y
        .ticks
        .iter()
        .map(|(_, label)| wide(label))
        .fold(20.0, f64::max);
    let below = if x.name.is_empty() {
        BOTTOM - 16.0
    } else {
        BOTTOM
    };
    let top = if y.name.is_empty() { 10.0 } else { TOP };
    let mut plot = Plot {
        x,
        y,
        area: (widest + 12.0, top, width - RIGHT, height - below),
        drawn: String::new(),
        taken: Vec::new(),
    };
    let mesh = plot.mesh(frame.size);
    body(&mut plot);
    html! {
        svg viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(frame.label) {
            (mesh)
            (PreEscaped(plot.drawn))
        }
    }
}

/// Width of a text at most.
fn wide(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

fn finite(at: (f64, f64)) -> bool {
    at.0.is_finite() && at.1.is_finite()
}

impl Plot<'_> {
    /// Place of a point in axis coordinates.
    pub fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let (left, top, right, low) = self.area;
        let share = |at: f64, axis: &Axis| (at - axis.min) / (axis.max - axis.min);
        (
            left + share(x, self.x) * (right - left),
            low - share(y, self.y) * (low - top),
        )
    }

    fn mesh(&self, (width, height): (f64, f64)) -> Markup {
        let (left, top, right, low) = self.area;
        let size = FONT.to_string();
        let mut free = f64::INFINITY;
        // The highest keeps its label where two would touch.
        let mut ticks: Vec<(f64, Option<&str>)> = Vec::new();
        for (at, label) in self.x.ticks.iter().rev() {
            let (x, half) = (self.place((*at, 0.0)).0, wide(label) / 2.0);
            let shown = x + half + 5.0 < free;
            if shown {
                free = x - half;
            }
            ticks.push((x, shown.then_some(label.as_str())));
        }
        let ink = Ink::Muted.css();
        html! {
            g fill=(ink) font-size=(size) {
                @if !self.y.name.is_empty() {
                    text x="0" y=(FONT) { (self.y.name) }
                }
                @if !self.x.name.is_empty() {
                    text x=(width - RIGHT) y=(height - 6.0) text-anchor="end" { (self.x.name) }
                }
                @for (at, label) in &self.y.ticks {
                    @let y = format!("{:.1}", self.place((0.0, *at)).1);
                    path d={ "M" (format!("{left:.1} {y}H{right:.1}")) } stroke=(Ink::Grid.css()) {}
                    text x=(format!("{:.1}", left - 7.0)) y=(y) dy=".35em" text-anchor="end" { (label) }
                }
                path d=(format!("M{left:.1} {top:.1}V{low:.1}H{right:.1}")) fill="none" stroke=(Ink::Rule.css()) {}
                @for (x, label) in ticks.iter().rev() {
                    path d=(format!("M{x:.1} {low:.1}v4")) stroke=(Ink::Rule.css()) {}
                    @if let Some(label) = label {
                        text x=(format!("{x:.1}")) y=(format!("{:.1}", low + 18.0)) text-anchor="middle" { (label) }
                    }
                }
            }
        }
    }

    fn add(&mut self, markup: Markup) {
        self.drawn.push_str(&markup.into_string());
    }

    /// A line through points in axis coordinates.
    pub fn line(&mut self, points: &[(f64, f64)], ink: Ink, stroke: Stroke) {
        let points = points.iter().copied().filter(|at| finite(*at));
        let points: Vec<String> = points
            .map(|at| self.place(at))
            .map(|(x, y)| format!("{x:.1} {y:.1}"))
            .collect();
        if points.len() < 2 {
            return;
        }
        let (width, dashes) = stroke.width_and_dashes();
        self.add(html! {
            path d={ "M" (points.join("L")) } fill="none" stroke=(ink.css()) stroke-width=(width) stroke-dasharray=[dashes] {}
        });
    }

    /// The n-th of several lines.
    pub fn series(&mut self, points: &[(f64, f64)], n: usize) {
        self.line(points, Ink::Series(n), Stroke::Thick);
    }

    /// A level over the whole width, and what it is.
    pub fn level(&mut self, y: f64, ink: Ink, stroke: Stroke, name: &str) {
        self.line(&[(self.x.min, y), (self.x.max, y)], ink, stroke);
        let at = (self.x.max, y);
        if !name.is_empty() && finite(at) {
            let (x, y) = self.place(at);
            let name = html! {
                text x=(format!("{x:.1}")) y=(format!("{:.1}", y - 4.0)) text-anchor="end" font-size="11" fill=(ink.css()) { (name) }
            };
            self.add(name);
        }
    }

    /// A vertical line over the whole height.
    pub fn upright(&mut self, x: f64, ink: Ink, stroke: Stroke) {
        self.line(&[(x, self.y.min), (x, self.y.max)], ink, stroke);
    }

    /// A vertical bar with caps between two values at `x`.
    pub fn error_bar(&mut self, x: f64, low: f64, high: f64, ink: Ink) {
        if !finite((x, low)) || !finite((x, high)) {
            return;
        }
        let ((x, low), (_, high)) = (self.place((x, low)), self.place((x, high)));
        let left = x - 4.0;
        let d = format!("M{left:.1} {low:.1}h8m-4 0V{high:.1}m-4 0h8");
        self.add(html! { path d=(d) fill="none" stroke=(ink.css()) stroke-width="1.2" {} });
    }

    /// A point; `told` is what it says when it is pointed at, or nothing.
    pub fn mark(&mut self, at: (f64, f64), look: Look, told: &str) {
        if !finite(at) {
            return;
        }
        let (x, y) = self.place(at);
        let ink = look.ink.css();
        let fill = match (look.shape, look.hollow) {
            (Shape::Cross, _) => "none".to_owned(),
            (_, true) => Ink::Paper.css(),
            (_, false) => ink.clone(),
        };
        let edge = if look.radius < 3.0 { None } else { Some(2) };
        self.add(html! {
            path.pt d=(look.shape.path(x, y, look.radius)) fill=(fill) stroke=[edge.map(|_| &ink)] stroke-width=[edge] {
                @if !told.is_empty() { title { (told) } }
            }
        });
    }

    /// The text beside a point where it touches no other text and stays inside, else none.
    pub fn name(&mut self, at: (f64, f64), text: &str, radius: f64) {
        if !finite(at) {
            return;
        }
        let (x, y) = self.place(at);
        let (half, high) = (text.chars().count() as f64 * 3.1, 10.0);
        let (left, top, right, low) = self.area;
        let beside = radius + half + 2.0;
        let around = [
            (x, y - radius - 3.0),
            (x + beside, y + 3.5),
            (x - beside, y + 3.5),
            (x, y + radius + high + 1.0),
        ];
        let free = around.into_iter().find(|(x, y)| {
            let of = (x - half, y - high, x + half, *y);
            let inside = of.0 > left && of.1 > top && of.2 < right && of.3 < low;
            let apart = |other: &(f64, f64, f64, f64)| {
                of.2 < other.0 || of.0 > other.2 || of.3 < other.1 || of.1 > other.3
            };
            inside && self.taken.iter().all(apart)
        });
        if let Some((x, y)) = free {
            self.taken.push((x - half, y - high, x + half, y));
            self.add(html! {
                text x=(format!("{x:.1}")) y=(format!("{y:.1}")) text-anchor="middle" font-size="10" fill=(Ink::Muted.css()) stroke=(Ink::Paper.css()) stroke-width="2.5" paint-order="stroke" { (text) }
            });
        }
    }

    /// Keeps the names of other points away from a point.
    pub fn occupied(&mut self, at: (f64, f64), radius: f64) {
        let (x, y) = self.place(at);
        self.taken
            .push((x - radius, y - radius, x + radius, y + radius));
    }

    /// A filled rectangle between two corners in axis coordinates, and what it says.
    pub fn bar(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink, told: &str) {
        if !finite(from) || !finite(to) {
            return;
        }
        let d = self.rectangle(from, to);
        self.add(html! { path.pt d=(d) fill=(ink.css()) { title { (told) } } });
    }

    /// A column over the whole height that is seen only when it is pointed at.
    pub fn column(&mut self, (from, to): (f64, f64), told: &str) {
        let d = self.rectangle((from, self.y.min), (to, self.y.max));
        self.add(html! { path.pt.col d=(d) fill="none" { title { (told) } } });
    }

    fn rectangle(&self, from: (f64, f64), to: (f64, f64)) -> String {
        let ((left, low), (right, high)) = (self.place(from), self.place(to));
        format!("M{left:.1} {low:.1}H{right:.1}V{high:.1}H{left:.1}Z")
    }
}
