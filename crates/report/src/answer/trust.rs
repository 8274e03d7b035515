//! How far the numbers of a run are to be relied on, and why they are not closer.

use nicety_model::{Disturbance, Program, Verdict};

use crate::pick::{self, Group};

/// CPUs' worth of time of a program that is worth a word.
const PROGRAM: f64 = 0.05;
/// Programs named.
const NAMED: usize = 2;
/// Stalls of CPUs per second, in ms, that are worth a word.
const STALLS_MS: f64 = 2.0;

/// Said before any number when most of them are not to be relied on.
pub(super) fn reliable(groups: &[Group<'_>]) -> Option<String> {
    let doubtful = |verdict: Verdict| {
        matches!(
            verdict,
            Verdict::Late | Verdict::Unstable | Verdict::Noisy | Verdict::Failed
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
        (1, _) => format!("The one result is not reliable ({words})."),
        (_, 0) => format!("None of these results is reliable ({words})."),
        (all, 1) => format!("1 of {all} results is reliable."),
        (all, good) => format!("{good} of {all} results are reliable."),
    })
}

/// Said of results with a wide interval: how many, and what made it wide.
pub(super) fn wide(groups: &[Group<'_>]) -> Option<String> {
    let is_wide = |group: &&Group<'_>| group.verdict() == Verdict::Wide;
    let wide: Vec<&Group<'_>> = groups.iter().filter(is_wide).collect();
    let how_many = match (wide.len(), groups.len()) {
        (0, _) => return None,
        (1, 1) => "The result has a wide interval".to_owned(),
        (1, all) => format!("1 of {all} results has a wide interval"),
        (some, all) => format!("{some} of {all} results have wide intervals"),
    };
    Some(match why(&wide) {
        Some(why) => format!("{how_many}: {why}."),
        None => format!("{how_many}."),
    })
}

fn why(wide: &[&Group<'_>]) -> Option<String> {
    let seen = || {
        let summaries = wide.iter().filter_map(|group| group.summary);
        summaries.filter_map(|summary| summary.disturbance.as_ref())
    };
    let programs = programs(seen());
    if !programs.is_empty() {
        return Some(format!(
            "other programs used the CPUs ({})",
            programs.join("; ")
        ));
    }
    let stalls = seen().filter_map(|one: &Disturbance| one.stalls_ms_per_s);
    let most = stalls.fold(0.0, f64::max);
    if most.is_finite() && most >= STALLS_MS {
        return Some(format!(
            "the CPUs stood still for up to {most:.0} ms per second"
        ));
    }
    let first = wide.iter().find_map(|group| group.why().first())?;
    Some(first.reason().trim_end_matches('.').to_owned())
}

/// `rustc, PID 812: 0.9 CPU`, each program once with the most that it used, most first.
fn programs<'a>(seen: impl Iterator<Item = &'a Disturbance>) -> Vec<String> {
    let mut all: Vec<&Program> = seen
        .flat_map(|one| &one.programs)
        .filter(|program| program.cpus.is_finite() && program.cpus >= PROGRAM)
        .collect();
    all.sort_by(|a, b| b.cpus.total_cmp(&a.cpus));
    let mut named: Vec<&Program> = Vec::new();
    for program in all {
        let same = |other: &&Program| other.pid == program.pid && other.name == program.name;
        if !named.iter().any(same) {
            named.push(program);
        }
    }
    let words = |p: &&Program| format!("{}, PID {}: {:.1} CPU", p.name, p.pid, p.cpus);
    named.iter().take(NAMED).map(words).collect()
}
