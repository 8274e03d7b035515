//! The run in words: what a reader takes away when they read nothing else.

mod limit;
mod trust;

use nicety_model::{Direction, Run, Verdict};

use crate::number;
use crate::pick::{self, Group};
use crate::{skips, sock};

/// Paths told of; more are counted.
const TOLD: usize = 6;

/// For every path, direction and number of flows what it carries and what stopped it from carrying
/// more, in sentences. Never empty.
pub fn summary(run: &Run) -> Vec<String> {
    let paragraphs = paragraphs(run).into_iter();
    paragraphs.map(|sentences| sentences.join(" ")).collect()
}

/// As [`summary`], sentence by sentence; no paragraph is empty.
pub(crate) fn paragraphs(run: &Run) -> Vec<Vec<String>> {
    let groups = pick::groups(run);
    let of_sockets = sock::sentences(&run.sockets).into_iter();
    let of_sockets = of_sockets.map(|sentence| vec![format!("{sentence}.")]);
    if groups.is_empty() && !run.sockets.is_empty() {
        return of_sockets.collect();
    }
    if groups.is_empty() {
        return vec![vec![skips::without_result(run)]];
    }
    let series = pick::series(&groups);
    let reliable = trust::reliable(&groups).map(|sentence| vec![sentence]);
    let mut told: Vec<Vec<String>> = reliable.into_iter().collect();
    for (place, (_, cells)) in series.iter().take(TOLD).enumerate() {
        let mut sentences = vec![carries(cells)];
        sentences.extend(limit::of(run, cells));
        sentences.extend(beside(&series[..place], cells));
        told.push(sentences);
    }
    if series.len() > TOLD {
        told.push(vec![format!("And {} more.", series.len() - TOLD)]);
    }
    told.extend(trust::wide(&groups).map(|sentence| vec![sentence]));
    told.extend(of_sockets);
    told
}

/// The first path of the same direction and flows as a yardstick, at the smallest frame size
/// both have. Only numbers that are the paths' own compare.
fn beside(before: &[(pick::SeriesKey, Vec<&Group<'_>>)], cells: &[&Group<'_>]) -> Option<String> {
    let own = |group: &Group<'_>| {
        group
            .verdict()
            .is_own()
            .then(|| group.throughput_fps())
            .flatten()
            .filter(|fps| *fps > 0.0)
    };
    let key = cells.first()?.series();
    let (_, yardstick) = before
        .iter()
        .find(|(other, _)| other.direction == key.direction && other.flows == key.flows)?;
    let pair = cells.iter().find_map(|cell| {
        let other = yardstick
            .iter()
            .find(|other| other.key.frame_size_bytes == cell.key.frame_size_bytes)?;
        Some((own(cell)?, own(other)?, cell, other))
    });
    let (fps, other_fps, cell, other) = pair?;
    Some(format!(
        "That is {} times what {} carries at {} bytes.",
        number::significant(fps / other_fps, 2),
        other.key.path_name(),
        cell.key.frame_size_bytes
    ))
}

/// `bridge carries 785 k frames/s of 64 bytes (760–810 k, 528 Mbit/s) and …`
fn carries(cells: &[&Group<'_>]) -> String {
    let measured: Vec<&&Group<'_>> = cells
        .iter()
        .filter(|group| group.throughput_fps().is_some())
        .collect();
    let Some(first) = measured.first() else {
        return nothing(cells);
    };
    let mut text = format!(
        "{} carries {}{} frames/s of {} bytes ({})",
        name(first),
        at_least(first),
        first.short_text(),
        first.key.frame_size_bytes,
        known_to(first),
    );
    if let Some(last) = measured.last().filter(|_| measured.len() > 1) {
        text.push_str(&format!(
            " and {}{} of {} bytes ({})",
            at_least(last),
            last.short_text(),
            last.key.frame_size_bytes,
            known_to(last),
        ));
    }
    if first.key.direction == Direction::Bi {
        text.push_str(" in each direction");
    }
    text.push('.');
    text
}

/// `760–810 k, 528 Mbit/s`
fn known_to(group: &Group<'_>) -> String {
    let rate = number::bit_rate(group.told_mbps().unwrap_or(f64::NAN));
    match group.interval_text() {
        Some(interval) => format!("{interval}, {rate}"),
        None => rate,
    }
}

fn name(group: &Group<'_>) -> String {
    let path = group.key.path_name();
    if group.key.flows > 1 {
        format!("{path} with {} flows", group.key.flows)
    } else {
        path
    }
}

fn at_least(group: &Group<'_>) -> &'static str {
    if group.verdict() == Verdict::TesterLimited {
        "at least "
    } else {
        ""
    }
}

fn nothing(cells: &[&Group<'_>]) -> String {
    let Some(first) = cells.first() else {
        return "Nothing was measured.".to_owned();
    };
    let mut text = format!("{} gave no result", name(first));
    if let Some(note) = first.notes().first() {
        // Sentences of older versions have no full stop.
        let note = note.reason();
        text.push_str(&format!(": {}", note.trim_end_matches('.')));
    }
    text.push('.');
    text
}
