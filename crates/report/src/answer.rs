//! What a reader takes away when they read nothing else: the number, what stopped it, and what to do.

mod headline;
mod limit;
mod order;
mod trust;

use nicety_model::{Direction, Run, Verdict};

use crate::document::{Block, Document};
use crate::number;
use crate::pick::{self, Group};
use crate::remedy;
use crate::{skips, sock};

/// Paths told of beside the first; more are counted.
const TOLD: usize = 6;
/// Title over the steps.
const STEPS: &str = "To get a better number";

/// The answer in lines: the number, what stopped it, what it is worth, and what to do. Never empty.
pub fn summary(run: &Run) -> Vec<String> {
    let groups = pick::groups(run);
    let headline =
        headline(&groups).map(|headline| format!("{} ({})", headline.line(), headline.badge.word));
    let told = paragraphs(run, &groups).into_iter();
    let told = told.map(|sentences| sentences.join(" "));
    let steps = remedy::of(run).into_iter().map(|advised| advised.text);
    headline.into_iter().chain(told).chain(steps).collect()
}

/// Begins a report with the answer and the box of what to do.
pub(crate) fn begin(doc: &mut Document, run: &Run, groups: &[Group<'_>]) {
    doc.headline = headline(groups);
    doc.answer = paragraphs(run, groups);
    let steps = remedy::steps(run, groups);
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    if !steps.is_empty() {
        doc.opening.push(Block::Steps(STEPS.to_owned(), steps));
    }
}

fn headline(groups: &[Group<'_>]) -> Option<crate::document::Headline> {
    let several = pick::series(groups).len() > 1;
    headline::first(groups).map(|group| headline::of(group, several))
}

/// What stopped the first number, how far the results are to be relied on, and what socket tests
/// came to; without a number why there is none.
fn paragraphs(run: &Run, groups: &[Group<'_>]) -> Vec<Vec<String>> {
    let of_sockets = sock::sentences(&run.sockets).into_iter();
    let of_sockets = of_sockets.map(|sentence| vec![format!("{sentence}.")]);
    if groups.is_empty() && !run.sockets.is_empty() {
        return of_sockets.collect();
    }
    let Some(first) = headline::first(groups) else {
        let nothing = match groups {
            [] => skips::without_result(run),
            some => nothing(&some.iter().collect::<Vec<_>>()),
        };
        return std::iter::once(vec![nothing]).chain(of_sockets).collect();
    };
    let cause = std::iter::once(limit::of(run, first));
    let trust = trust::sentences(groups).into_iter().map(|one| vec![one]);
    let order = order::sentence(groups).map(|sentence| vec![sentence]);
    let told = cause.chain(order).chain(trust).chain(of_sockets);
    told.filter(|sentences| !sentences.is_empty()).collect()
}

/// For every path, direction and number of flows after the first what it carries and what stopped it
/// from carrying more.
pub(crate) fn others(run: &Run, groups: &[Group<'_>]) -> Vec<String> {
    let series = pick::series(groups);
    let Some(first) = headline::first(groups).map(Group::series) else {
        return Vec::new();
    };
    let mut told = Vec::new();
    for (place, (key, cells)) in series.iter().enumerate() {
        if *key == first {
            continue;
        }
        let mut sentences = vec![carries(cells)];
        let measured = cells.iter().find(|group| group.throughput_fps().is_some());
        sentences.extend(measured.into_iter().flat_map(|group| limit::of(run, group)));
        sentences.extend(beside(&series[..place], cells));
        told.push(sentences.join(" "));
    }
    let more = told.len().saturating_sub(TOLD);
    if more > 0 {
        told.truncate(TOLD);
        told.push(format!("And {more} more."));
    }
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
        let other = yardstick.iter().find(|other| {
            let same = other.key.shape == cell.key.shape;
            same && other.key.frame_size_bytes == cell.key.frame_size_bytes
        })?;
        Some((own(cell)?, own(other)?, cell, other))
    });
    let (fps, other_fps, cell, other) = pair?;
    Some(format!(
        "That is {} times what {} carries at {}.",
        number::significant(fps / other_fps, 2),
        other.key.path_name(),
        cell.key.size_words()
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
        "{} carries {} frames/s of {} ({})",
        name(first),
        first.fps_text(),
        first.key.size_words(),
        known_to(first),
    );
    if let Some(last) = measured.last().filter(|_| measured.len() > 1) {
        text.push_str(&format!(
            " and {} of {} ({})",
            last.fps_text(),
            last.key.size_words(),
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
    let interval = group.interval_text();
    match interval.filter(|_| group.verdict() != Verdict::Noisy) {
        Some(interval) => format!("{interval}, {rate}"),
        None => rate,
    }
}

fn name(group: &Group<'_>) -> String {
    let mut name = group.key.path_name();
    if group.key.flows > 1 {
        name.push_str(&format!(" with {} flows", group.key.flows));
    }
    // A mix stands where a frame size does.
    let words = group.key.shape.words();
    if !words.is_empty() {
        name.push_str(&format!(" ({})", words.join(", ")));
    }
    name
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
