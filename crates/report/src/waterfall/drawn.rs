//! The bars of a waterfall: two for each station, frames and time. Every bar has its numbers beside it as text, and
//! colour is never the only sign: what was lost is the end of the upper bar, apart and outlined.

use maud::{Markup, html};
use nicety_model::fate::Way;
use nicety_model::waterfall::{Waterfall, WaterfallStation};

use super::words;
use crate::figure::svg::Ink;
use crate::figure::{self, Key, Room, key};
use crate::number;

/// Height of a station, of its bars, and of letters.
const ROW: f64 = 66.0;
const BAR: f64 = 12.0;
const THIN: f64 = 7.0;
const FONT: f64 = 12.0;
/// Where bars begin on wide drawings, and what a letter takes at most.
const LABEL: f64 = 120.0;
const LETTER: f64 = 6.9;
/// Lost frames are seen however few they are.
const LEAST: f64 = 3.0;

/// The figure under its title.
pub(super) fn figure(waterfall: &Waterfall) -> Markup {
    let id = figure::anchor(
        "waterfall",
        &format!(
            "{}-{:?}{}",
            waterfall.cell,
            waterfall.of,
            waterfall.way.map_or("", Way::words)
        ),
    );
    let drawn = Room::Whole.draw_tall(|width| bars(waterfall, width));
    let keys: Vec<Key> = vec![
        key("s0", "■", "frames that went on"),
        key("bad", "▨", "frames lost here"),
        key("s2", "■", "median time until here"),
        key("s2", "│", "99th percentile"),
    ];
    let shown = if timed(waterfall) { keys.len() } else { 2 };
    let body = html! { (figure::legend(&keys[..shown])) (drawn) };
    figure::titled(&id, &words::title(waterfall), html! {}, body)
}

fn timed(waterfall: &Waterfall) -> bool {
    waterfall
        .stations
        .iter()
        .any(|station| !station.hops.is_empty())
}

fn bars(waterfall: &Waterfall, width: f64) -> Markup {
    let timed = timed(waterfall);
    let row = if timed { ROW } else { ROW - THIN - FONT - 4.0 };
    let height = row * waterfall.stations.len() as f64;
    let longest = waterfall
        .stations
        .iter()
        .flat_map(|station| &station.hops)
        .filter(|hop| hop.is_known())
        .map(|hop| hop.time.p99_ns)
        .max();
    let longest = longest.unwrap_or(0).max(1) as f64;
    let label: Vec<String> = waterfall.stations.iter().map(said).collect();
    let label = format!("{}. {}", words::title(waterfall), label.join("; "));
    html! {
        svg viewBox={ "0 0 " (width) " " (format!("{height:.0}")) } role="img" aria-label=(label) {
            @for (n, station) in waterfall.stations.iter().enumerate() {
                g transform=(format!("translate(0 {:.0})", n as f64 * row)) {
                    (frames(station, waterfall.sent, width))
                    (times(station, longest, width))
                }
            }
        }
    }
}

/// Name, numbers, and the bar of frames.
fn frames(station: &WaterfallStation, sent: u64, width: f64) -> Markup {
    let left = LABEL.min(width / 4.0);
    let room = width - left;
    let of = |frames: u64| room * frames as f64 / sent.max(1) as f64;
    // Where it is not known what went on, the bar has what was lost alone.
    let on = station.frames_out.map_or(0.0, of);
    let lost = match station.lost {
        0 => 0.0,
        frames => of(frames).max(LEAST),
    };
    let on = on.min(room - lost);
    let name = cut(name(station), left);
    let y = FONT + 6.0;
    html! {
        text x="0" y=(FONT) font-size=(FONT) font-weight="600" fill="currentColor" { (name) }
        text x="0" y=(FONT + 16.0) font-size="11" fill=(Ink::Muted.css()) { (cut(&station.kind, left)) }
        text x=(left) y=(FONT) font-size=(FONT) fill="currentColor" { (numbers(station)) }
        @if on > 0.0 {
            path.pt d=(rectangle(left, y, on, BAR)) fill=(Ink::Series(0).css()) { title { (said(station)) } }
        }
        @if lost > 0.0 {
            path.pt d=(rectangle(left + on, y, lost, BAR)) fill=(Ink::Bad.css()) stroke=(Ink::Bad.css()) stroke-dasharray="2 2" fill-opacity=".45" { title { (said(station)) } }
        }
    }
}

/// The bar of time, where there is one.
fn times(station: &WaterfallStation, longest: f64, width: f64) -> Markup {
    let left = LABEL.min(width / 4.0);
    let y = FONT + 6.0 + BAR + 4.0;
    let Some(hop) = station.hops.last().filter(|hop| hop.is_known()) else {
        return html! {};
    };
    let at = |ns: u64| (width - left - 2.0) * ns as f64 / longest;
    let (half, most) = (at(hop.time.p50_ns).max(1.0), at(hop.time.p99_ns).max(1.0));
    html! {
        path.pt d=(rectangle(left, y, half, THIN)) fill=(Ink::Series(2).css()) { title { (time(station)) } }
        path d=(format!("M{:.1} {:.1}H{:.1}M{:.1} {y:.1}v{THIN}", left + half, y + THIN / 2.0, left + most, left + most)) stroke=(Ink::Series(2).css()) stroke-width="1.5" fill="none" {}
        text x=(left) y=(y + THIN + FONT) font-size="11" fill=(Ink::Muted.css()) { (time(station)) }
    }
}

fn rectangle(x: f64, y: f64, width: f64, height: f64) -> String {
    format!("M{x:.1} {y:.1}h{width:.1}v{height}h-{width:.1}Z")
}

fn name(station: &WaterfallStation) -> &str {
    match station.station.as_str() {
        "" => &station.kind,
        name => name,
    }
}

/// As much of a text as there is room for.
fn cut(text: &str, room: f64) -> String {
    let most = (room / LETTER) as usize;
    if text.chars().count() > most {
        text.chars()
            .take(most.saturating_sub(1))
            .chain(['…'])
            .collect()
    } else {
        text.to_owned()
    }
}

/// `980,000 on, 20,000 lost`
fn numbers(station: &WaterfallStation) -> String {
    let on = station
        .frames_out
        .map(|on| format!("{} on", number::count(on)));
    let lost = (station.lost > 0).then(|| format!("{} lost", number::count(station.lost)));
    let told: Vec<String> = on.into_iter().chain(lost).collect();
    told.join(", ")
}

/// `1.2 µs, p99 8.1 µs, CPU 0`; empty without a time.
fn time(station: &WaterfallStation) -> String {
    let Some(hop) = station.hops.last().filter(|hop| hop.is_known()) else {
        return String::new();
    };
    let us = |ns: u64| number::micros(ns as f64 / 1e3);
    let cpus = match words::cpus(station) {
        cpus if cpus.is_empty() => cpus,
        cpus => format!(", CPU {cpus}"),
    };
    format!(
        "{} µs, p99 {} µs{cpus}",
        us(hop.time.p50_ns),
        us(hop.time.p99_ns)
    )
}

/// A station for who does not see the bars.
fn said(station: &WaterfallStation) -> String {
    let told = [numbers(station), time(station)];
    let told: Vec<&str> = told
        .iter()
        .map(String::as_str)
        .filter(|text| !text.is_empty())
        .collect();
    format!("{}: {}", name(station), told.join(", "))
}
