//! Figures: plotters draws, and the page's style sheet colours what it drew.
//!
//! plotters knows fixed colours only. Each ink is therefore drawn in a colour of its own that
//! nothing else uses, and replaced in the finished SVG by a CSS variable, so that one figure
//! serves light, dark and print.

use maud::{Markup, PreEscaped, html};
use plotters::chart::ChartContext;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::element::{Drawable, PointCollection};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::Axis;
use crate::error::ReportError;

/// Drawing units per CSS pixel: plotters rounds to whole units.
pub const UNIT: i32 = 2;
/// plotters writes font sizes divided by this (plotters-svg `draw_text`).
const FONT_FACTOR: f64 = 1.24;

/// Lines that a figure can tell apart.
pub const SERIES: usize = 8;

macro_rules! inks {
    ($($ink:ident $name:literal)+) => {
        /// A colour of the style sheet.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Ink {
            $($ink,)+
            /// One of [`SERIES`] colours for lines.
            Series(usize),
        }

        const FIXED: &[(Ink, &str)] = &[$((Ink::$ink, $name)),+];
    };
}

inks! {
    Muted "muted" Grid "grid" Rule "rule" Paper "paper" Bad "bad" Goal "goal"
    User "cpu-user" System "cpu-system" Irq "cpu-irq" Softirq "cpu-softirq" Steal "cpu-steal" Idle "cpu-idle"
}

impl Ink {
    fn code(self) -> u8 {
        match self {
            Self::Series(n) => 0x80 + (n % SERIES) as u8,
            fixed => FIXED
                .iter()
                .position(|(ink, _)| *ink == fixed)
                .unwrap_or_default() as u8,
        }
    }

    fn drawn(self, dashed: bool) -> RGBColor {
        RGBColor(0xA7, u8::from(dashed), self.code())
    }

    fn all() -> impl Iterator<Item = (Self, String)> {
        FIXED
            .iter()
            .map(|(ink, name)| (*ink, (*name).to_owned()))
            .chain((0..SERIES).map(|n| (Self::Series(n), format!("s{n}"))))
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
}

/// Size, axes and name of a figure.
pub struct Frame<'a> {
    /// Width and height in CSS pixels.
    pub size: (i32, i32),
    /// Room for the labels left of the y axis, in CSS pixels.
    pub left: i32,
    /// Horizontal axis.
    pub x: &'a Axis,
    /// Vertical axis.
    pub y: &'a Axis,
    /// What a screen reader says.
    pub label: &'a str,
    /// CSS class.
    pub class: &'static str,
}

impl<'a> Frame<'a> {
    pub fn new(
        (size, class): ((i32, i32), &'static str),
        left: i32,
        (x, y): (&'a Axis, &'a Axis),
        label: &'a str,
    ) -> Self {
        Self {
            size,
            left,
            x,
            y,
            label,
            class,
        }
    }

    /// One of a grid of figures.
    pub fn small(height: i32, left: i32, axes: (&'a Axis, &'a Axis), label: &'a str) -> Self {
        Self::new(((360, height), "small"), left, axes, label)
    }
}

/// An [`Axis`] as plotters wants it.
struct Scale(Axis);

impl Ranged for Scale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let share = (value - self.0.min) / (self.0.max - self.0.min);
        from + (share * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        self.0.ticks.iter().map(|(at, _)| *at).collect()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.0.min..self.0.max
    }
}

type Failure = DrawingAreaErrorKind<<SVGBackend<'static> as DrawingBackend>::ErrorType>;
/// Result of a drawing step.
pub type Drawn = Result<(), Failure>;

/// A figure under way. Points that are not finite are left out by every method.
pub struct Plot<'a, 'b>(ChartContext<'a, SVGBackend<'b>, Cartesian2d<Scale, Scale>>);

/// Draws axes and grid, then what `body` adds, and returns the SVG element.
pub fn draw(
    frame: &Frame<'_>,
    body: impl FnOnce(&mut Plot<'_, '_>) -> Drawn,
) -> Result<Markup, ReportError> {
    let mut svg = String::new();
    paint(frame, body, &mut svg).map_err(|failure| ReportError::Draw {
        figure: frame.label.to_owned(),
        reason: failure.to_string(),
    })?;
    Ok(element(frame, &svg))
}

fn paint(
    frame: &Frame<'_>,
    body: impl FnOnce(&mut Plot<'_, '_>) -> Drawn,
    svg: &mut String,
) -> Drawn {
    let (width, height) = frame.size;
    let size = (
        (width * UNIT).unsigned_abs(),
        (height * UNIT).unsigned_abs(),
    );
    let area = SVGBackend::with_string(svg, size).into_drawing_area();
    let chart = ChartBuilder::on(&area)
        .margin_top(8 * UNIT)
        .margin_right(14 * UNIT)
        .set_label_area_size(LabelAreaPosition::Left, frame.left * UNIT)
        .set_label_area_size(LabelAreaPosition::Bottom, 26 * UNIT)
        .build_cartesian_2d(Scale(frame.x.clone()), Scale(frame.y.clone()))?;
    let mut plot = Plot(chart);
    plot.mesh(frame)?;
    body(&mut plot)?;
    drop(plot);
    area.present()
}

fn element(frame: &Frame<'_>, svg: &str) -> Markup {
    // What plotters wrote between its own root element's tags.
    let inner = svg
        .split_once('>')
        .and_then(|(_, rest)| rest.rsplit_once("</svg>"))
        .map_or("", |(inner, _)| inner);
    let mut inner = inner.replace("font-family=\"sans-serif\" ", "");
    for (ink, name) in Ink::all() {
        for (dashed, dashes) in [(false, ""), (true, " stroke-dasharray=\"12 9\"")] {
            let RGBColor(r, g, b) = ink.drawn(dashed);
            inner = inner.replace(
                &format!("\"#{r:02X}{g:02X}{b:02X}\""),
                &format!("\"var(--{name})\"{dashes}"),
            );
        }
    }
    let (width, height) = frame.size;
    let view = format!("0 0 {} {}", width * UNIT, height * UNIT);
    html! {
        svg class=(frame.class) viewBox=(view) role="img" aria-label=(frame.label) {
            (PreEscaped(inner))
        }
    }
}

fn font(size: i32, ink: Ink) -> TextStyle<'static> {
    let size = f64::from(size * UNIT) * FONT_FACTOR;
    let mut style = TextStyle::from(("sans-serif", size).into_font());
    style.color = ink.drawn(false).to_backend_color();
    style
}

impl<'b> Plot<'_, 'b> {
    fn mesh(&mut self, frame: &Frame<'_>) -> Drawn {
        let x = |at: &f64| frame.x.label(*at);
        let y = |at: &f64| frame.y.label(*at);
        self.0
            .configure_mesh()
            .disable_x_mesh()
            .axis_style(Ink::Rule.drawn(false).stroke_width(UNIT as u32))
            .bold_line_style(Ink::Grid.drawn(false).stroke_width(UNIT as u32))
            .light_line_style(TRANSPARENT)
            .label_style(font(12, Ink::Muted))
            .set_all_tick_mark_size(4 * UNIT)
            .x_label_formatter(&x)
            .y_label_formatter(&y)
            .draw()
    }

    fn add<E>(&mut self, element: E) -> Drawn
    where
        for<'e> &'e E: PointCollection<'e, (f64, f64)>,
        E: Drawable<SVGBackend<'b>>,
    {
        self.0.draw_series(std::iter::once(element)).map(drop)
    }

    /// A line through points in axis coordinates, `width` CSS pixels wide.
    pub fn line(&mut self, points: &[(f64, f64)], ink: Ink, width: i32, dashed: bool) -> Drawn {
        let points: Vec<(f64, f64)> = points.iter().copied().filter(finite).collect();
        if points.len() < 2 {
            return Ok(());
        }
        let width = (width * UNIT).unsigned_abs();
        self.add(PathElement::new(
            points,
            ink.drawn(dashed).stroke_width(width),
        ))
    }

    /// The n-th of several lines, with its marks of about `radius` CSS pixels.
    pub fn series(&mut self, points: &[(f64, f64)], n: usize, radius: i32) -> Drawn {
        self.line(points, Ink::Series(n), 2, false)?;
        for point in points {
            self.mark(*point, Shape::of_series(n), Ink::Series(n), radius, false)?;
        }
        Ok(())
    }

    /// A vertical bar with caps between two values at `x`.
    pub fn error_bar(&mut self, x: f64, low: f64, high: f64, ink: Ink) -> Drawn {
        if !finite(&(x, low)) || !finite(&(x, high)) {
            return Ok(());
        }
        self.line(&[(x, low), (x, high)], ink, 1, false)?;
        let style = ink.drawn(false).stroke_width(UNIT as u32);
        let half = 4 * UNIT;
        for y in [low, high] {
            let cap = PathElement::new(vec![(-half, 0), (half, 0)], style);
            self.add(EmptyElement::at((x, y)) + cap)?;
        }
        Ok(())
    }

    /// A point of about `radius` CSS pixels; hollow ones show the paper inside.
    pub fn mark(
        &mut self,
        at: (f64, f64),
        shape: Shape,
        ink: Ink,
        radius: i32,
        hollow: bool,
    ) -> Drawn {
        if !finite(&at) {
            return Ok(());
        }
        let r = radius * UNIT;
        let fill = if hollow { Ink::Paper } else { ink }.drawn(false).filled();
        let stroke = ink.drawn(false).stroke_width((2 * UNIT).unsigned_abs());
        let point = EmptyElement::at(at);
        let mut outline: Vec<(i32, i32)> = match shape {
            Shape::Circle => {
                let disc = Circle::new((0, 0), r, fill);
                return self.add(point + disc + Circle::new((0, 0), r, stroke));
            }
            Shape::Cross => {
                let rising = PathElement::new(vec![(-r, -r), (r, r)], stroke);
                return self.add(point + rising + PathElement::new(vec![(-r, r), (r, -r)], stroke));
            }
            Shape::Triangle => vec![(0, -r), (r, r * 3 / 4), (-r, r * 3 / 4)],
            Shape::Square => {
                let s = r * 7 / 8;
                vec![(-s, -s), (s, -s), (s, s), (-s, s)]
            }
            Shape::Diamond => vec![(0, -r), (r, 0), (0, r), (-r, 0)],
        };
        let inside = Polygon::new(outline.clone(), fill);
        outline.extend(outline.first().copied());
        self.add(point + inside + PathElement::new(outline, stroke))
    }

    /// A filled rectangle between two corners in axis coordinates.
    pub fn bar(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink) -> Drawn {
        if !finite(&from) || !finite(&to) {
            return Ok(());
        }
        self.add(Rectangle::new([from, to], ink.drawn(false).filled()))
    }

    /// Text just above a point, ending there.
    pub fn note(&mut self, at: (f64, f64), text: &str, ink: Ink) -> Drawn {
        if !finite(&at) {
            return Ok(());
        }
        let style = font(11, ink).pos(Pos::new(HPos::Right, VPos::Bottom));
        self.add(EmptyElement::at(at) + Text::new(text.to_owned(), (0, -UNIT), style))
    }
}

fn finite(at: &(f64, f64)) -> bool {
    at.0.is_finite() && at.1.is_finite()
}
