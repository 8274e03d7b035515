//! Rates over time as a drawing, one panel for each control.

use std::fmt::Write as _;

/// One panel.
pub struct Panel {
    pub title: &'static str,
    /// Names and rates in Mbit/s, one for each step.
    pub series: Vec<(&'static str, Vec<f64>)>,
}

const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 170.0;
const LEFT: f64 = 44.0;
const TOP: f64 = 34.0;
const GAP: f64 = 24.0;
/// Told apart by colour and by dashes.
const INKS: [(&str, &str); 2] = [("#1a5fb4", "none"), ("#c64600", "6 3")];

/// An SVG of all panels side by side; `top` is the rate of the link.
pub fn draw(panels: &[Panel], step_s: f64, top: f64) -> String {
    let count = panels.len() as f64;
    let (width, height) = (LEFT + count * (WIDTH + GAP), TOP + HEIGHT + 44.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n\
         <title>Rates of two senders on one uplink, Mbit/s received</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for (at, panel) in panels.iter().enumerate() {
        let left = LEFT + at as f64 * (WIDTH + GAP);
        one(&mut svg, panel, (left, step_s, top));
    }
    svg + "</svg>\n"
}

fn one(svg: &mut String, panel: &Panel, (left, step_s, top): (f64, f64, f64)) {
    let bottom = TOP + HEIGHT;
    let y = |rate: f64| bottom - (rate / top).clamp(0.0, 1.1) * HEIGHT / 1.1;
    // Writing into a string does not fail.
    let _ = writeln!(
        svg,
        "<text x=\"{left}\" y=\"18\" font-weight=\"bold\">{}</text>",
        panel.title
    );
    for part in 0..=4 {
        let rate = top * f64::from(part) / 4.0;
        let at = y(rate);
        let right = left + WIDTH;
        let _ = writeln!(
            svg,
            "<path d=\"M{left} {at:.1}H{right}\" stroke=\"#ccc\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#444\">{rate:.0}</text>",
            left - 5.0,
            at + 4.0
        );
    }
    let steps = panel
        .series
        .iter()
        .map(|(_, rates)| rates.len())
        .max()
        .unwrap_or(1);
    let seconds = steps as f64 * step_s;
    let x = |step: usize| left + WIDTH * (step as f64 + 0.5) / steps as f64;
    for second in [0.0, seconds / 3.0, seconds * 2.0 / 3.0, seconds] {
        let at = left + WIDTH * second / seconds;
        let _ = writeln!(
            svg,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#444\">{second:.0} s</text>",
            bottom + 16.0
        );
    }
    for ((name, rates), (ink, dashes)) in panel.series.iter().zip(INKS) {
        let point = |(step, rate): (usize, &f64)| format!("{:.1},{:.1}", x(step), y(*rate));
        let points: Vec<String> = rates.iter().enumerate().map(point).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{ink}\" stroke-width=\"1.6\" \
             stroke-dasharray=\"{dashes}\"><title>{name}</title></polyline>",
            points.join(" ")
        );
    }
    for (at, ((name, _), (ink, dashes))) in panel.series.iter().zip(INKS).enumerate() {
        let at = left + 70.0 * at as f64;
        let line = bottom + 34.0;
        let _ = writeln!(
            svg,
            "<path d=\"M{at} {:.1}h24\" stroke=\"{ink}\" stroke-width=\"1.6\" \
             stroke-dasharray=\"{dashes}\"/>\n<text x=\"{:.1}\" y=\"{line:.1}\">{name}</text>",
            line - 4.0,
            at + 28.0
        );
    }
}
