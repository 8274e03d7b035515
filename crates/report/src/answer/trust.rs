//! How far the numbers of a run are to be relied on, and why they are not closer.

use nicety_model::{Disturbance, Verdict};

use crate::pick::{self, Group};

/// CPUs' worth of time of a program that is worth a word.
const PROGRAM: f64 = 0.05;
/// Stalls of CPUs per second, in ms, that are worth a word.
const STALLS_MS: f64 = 2.0;

/// What most results, and those with wide intervals, are worth; nothing where all is well.
pub(super) fn sentences(groups: &[Group<'_>]) -> Vec<String> {
    reliable(groups).into_iter().chain(wide(groups)).collect()
}

/// Said when most of the results are not to be relied on.
fn reliable(groups: &[Group<'_>]) -> Option<String> {
    let doubtful = |verdict: Verdict| {
        matches!(
            verdict,
            Verdict::Faulty | Verdict::Late | Verdict::Unstable | Verdict::Noisy | Verdict::Failed
        )
    };
    let doubted: Vec<(Verdict, usize)> = pick::verdicts(groups)
        .into_iter()
        .filter(|(verdict, _)| doubtful(*verdict))
        .collect();
    let count: usize = doubted.iter().map(|(_, cells)| cells).sum();
    if count * 2 <= groups.len() {
        return None;
    }
    let words: Vec<String> = doubted
        .iter()
        .map(|(verdict, cells)| format!("{cells} {verdict}"))
        .collect();
    let words = words.join(", ");
    Some(match (groups.len(), groups.len() - count) {
        (1, _) => "This result is not reliable.".to_owned(),
        (_, 0) => format!("None of these results is reliable ({words})."),
        (all, 1) => format!("1 of {all} results is reliable ({words})."),
        (all, good) => format!("{good} of {all} results are reliable ({words})."),
    })
}

/// Said of results with a wide interval: how many, and what made it wide.
fn wide(groups: &[Group<'_>]) -> Option<String> {
    let is_wide = |group: &&Group<'_>| group.verdict() == Verdict::Wide;
    let wide: Vec<&Group<'_>> = groups.iter().filter(is_wide).collect();
    let how_many = match (wide.len(), groups.len()) {
        (0, _) => return None,
        (1, 1) => "The interval is wide".to_owned(),
        (2, 2) => "Both intervals are wide".to_owned(),
        (1, all) => format!("1 of {all} intervals is wide"),
        (some, all) if some == all => format!("All {all} intervals are wide"),
        (some, all) => format!("{some} of {all} intervals are wide"),
    };
    Some(match why(&wide) {
        Some(why) => format!("{how_many}: {why}."),
        None => format!("{how_many}."),
    })
}

/// What made most of them wide.
fn why(wide: &[&Group<'_>]) -> Option<String> {
    let mut causes: Vec<(Cause, usize)> = Vec::new();
    for cause in wide.iter().filter_map(|group| cause(group)) {
        match causes.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, results)) => *results += 1,
            None => causes.push((cause, 1)),
        }
    }
    // Of several that are as frequent the first one.
    let most = causes.into_iter().rev().max_by_key(|(_, results)| *results);
    Some(match most?.0 {
        Cause::Programs => "other programs used the CPUs".to_owned(),
        // The most of all, as the steps say it.
        Cause::Stalls => {
            let ms = wide.iter().filter_map(|group| stalls(group));
            let ms = ms.fold(0.0, f64::max);
            format!("the CPUs were stopped for up to {ms:.0} ms per second")
        }
        Cause::Reason(text) => text,
    })
}

/// What made an interval wide.
#[derive(PartialEq)]
enum Cause {
    /// The steps name them.
    Programs,
    Stalls,
    /// The first reason that the search gave.
    Reason(String),
}

/// Milliseconds per second in which CPUs stood still, where they are worth a word.
fn stalls(group: &Group<'_>) -> Option<f64> {
    let seen = group.summary?.disturbance.as_ref()?;
    let stalls = seen.stalls_ms_per_s;
    stalls.filter(|ms| ms.is_finite() && *ms >= STALLS_MS)
}

fn cause(group: &Group<'_>) -> Option<Cause> {
    let seen = group
        .summary
        .and_then(|summary| summary.disturbance.as_ref());
    let mut programs = seen
        .into_iter()
        .flat_map(|seen: &Disturbance| &seen.programs);
    if programs.any(|program| program.cpus.is_finite() && program.cpus >= PROGRAM) {
        return Some(Cause::Programs);
    }
    if stalls(group).is_some() {
        return Some(Cause::Stalls);
    }
    let first = group.why().first()?.reason();
    let mut letters = first.trim_end_matches('.').chars();
    let small = letters.next().map(char::to_lowercase)?;
    Some(Cause::Reason(small.chain(letters).collect()))
}
