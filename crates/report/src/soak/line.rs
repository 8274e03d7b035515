//! The lines of a soak and of a load by hand, for a terminal of 80 columns.

use std::time::Duration;

use nicety_model::Validity;
use nicety_model::interval::{Alarm, Gap, GapWhy, Interval, LoadLine, LoadSummary};
use nicety_model::utc::rfc3339;

use super::{frames, places, sentences};
use crate::number;
use crate::page::clean;

/// Above the lines.
pub const HEADER: &str =
    "    seconds     frames/s        lost       loss      p50      p99    max µs";

/// A time in UTC: `2026-03-14T15:09:26Z`.
pub fn utc(unix_s: f64) -> String {
    // A time that is none, or lies beyond the calendar, comes of a broken clock.
    let time = Duration::try_from_secs_f64(unix_s).unwrap_or_default();
    rfc3339(time)
}

/// A line, where it has one; `began_unix_s` is when the whole began.
pub fn of(line: &LoadLine, began_unix_s: f64) -> String {
    match line {
        LoadLine::Interval(one) => interval(one, began_unix_s),
        LoadLine::Alarm(one) => alarm(one),
        LoadLine::Gap(one) => gap(one),
        LoadLine::Summary(one) => summary(one),
    }
}

/// `  10.0–20.0      200,001           0        0 %      5.1     12.3     410.0`, and what is wrong with it.
pub fn interval(one: &Interval, began_unix_s: f64) -> String {
    let at = (one.started_unix_s - began_unix_s).max(0.0);
    let ended = at + one.wall_s;
    // Tenths of a second say nothing after a quarter of an hour, and have no room.
    let digits = if ended < 1000.0 { 1 } else { 0 };
    let counted = one.frames.sent.saturating_sub(one.set_apart).max(1);
    let ratio = one.lost() as f64 / counted as f64;
    let us = |of: fn(&nicety_model::LatencySummary) -> f64| {
        let value = one.latency_us.as_ref().map(of);
        value.map_or_else(|| number::ABSENT.to_owned(), number::micros)
    };
    let mut text = format!(
        "{:>11} {:>12} {:>11} {:>10} {:>8} {:>8} {:>9}",
        format!("{at:.digits$}–{ended:.digits$}"),
        number::grouped(one.received_fps),
        number::count(one.lost()),
        number::loss(ratio),
        us(|of| of.p50),
        us(|of| of.p99),
        us(|of| of.max),
    );
    if one.set_apart > 0 {
        text += &format!(
            "\n{:>11} {} lost more, set apart",
            "",
            number::count(one.set_apart)
        );
    }
    match &one.validity {
        Validity::Valid => {}
        Validity::LoadMissed { why } | Validity::Stalled { why } | Validity::Broken { why } => {
            text += &format!("\n{:>11} {why}", "");
        }
        Validity::TesterDropped { frames } => {
            let frames = number::plural(*frames, "frame");
            text += &format!("\n{:>11} the tester itself dropped {frames}", "");
        }
    }
    clean_lines(&text)
}

/// The first loss.
pub fn alarm(one: &Alarm) -> String {
    let places = places(&one.loss_ledger).map_or_else(String::new, |places| format!("; {places}"));
    clean(&format!(
        "ALARM: first loss at {}: {} of {}{places}",
        utc(one.at_unix_s),
        number::count(one.lost),
        number::plural(one.sent, "frame"),
    ))
}

/// A gap.
pub fn gap(one: &Gap) -> String {
    clean(&format!(
        "gap of {} from {} on: {}",
        number::seconds(one.to_unix_s - one.from_unix_s),
        utc(one.from_unix_s),
        why(&one.why)
    ))
}

/// Why there is a gap.
pub fn why(why: &GapWhy) -> String {
    match why {
        GapWhy::Restart => "the program was not running".to_owned(),
        GapWhy::Broken { why } => format!("the path broke: {why}"),
    }
}

/// All intervals, in sentences.
pub fn summary(one: &LoadSummary) -> String {
    let mut text = String::new();
    for sentence in sentences(one) {
        let mut chars = sentence.chars();
        let first = chars.next().map(|c| c.to_uppercase().to_string());
        text += &first.unwrap_or_default();
        text += chars.as_str();
        text += ".\n";
    }
    if let Some(latency) = &one.latency_us {
        text += &format!(
            "Latency in µs: p50 {}, p99 {}, p99.9 {}, max {}.\n",
            number::micros(latency.p50),
            number::micros(latency.p99),
            number::micros(latency.p999),
            number::micros(latency.max)
        );
    }
    if one.lossy_flows > 0 {
        text += &format!(
            "{} lost frames; most of them:\n",
            number::plural(one.lossy_flows, "flow")
        );
        for flow in &one.flows {
            text += &format!(
                "  {} -> {}  {} of {}\n",
                flow.source,
                flow.destination,
                number::count(flow.lost),
                number::count(flow.sent)
            );
        }
    }
    let more = one.loss_ledger.iter().skip(super::NAMED);
    for entry in more {
        text += &format!("  {}\n", frames(entry));
    }
    clean_lines(text.trim_end())
}

/// Several lines, each without what a terminal would obey.
fn clean_lines(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(clean)
        .map(|line| line.to_string())
        .collect();
    lines.join("\n")
}
