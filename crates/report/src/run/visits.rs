//! How the numbers came about, and every visit of every cell: folded away.

use nicety_model::{Disturbance, Run};

use super::legend;
use crate::document::{Block, Cell, Table, columns};
use crate::note;
use crate::number::{self, plural};
use crate::pick::Group;

/// The paragraph and the table; nothing for runs whose numbers have no intervals.
pub(super) fn how(run: &Run, groups: &[Group<'_>]) -> Option<Block> {
    let known: Vec<&Group<'_>> = groups.iter().filter(|g| g.estimate().is_some()).collect();
    if known.is_empty() {
        return None;
    }
    let each = |g: &Group<'_>| -> Vec<String> {
        let visits = g.repeats.iter();
        visits
            .map(|visit| number::fps(visit.throughput_fps))
            .collect()
    };
    let two = |ms| number::significant(ms, 2);
    let table = Table::first(
        "Visits of every result, in order of time",
        groups,
        columns![|g|
            "cell" Name: g.name;
            "median, frames/s" Main: Cell::from(g.fps_text()).by(g.throughput_fps());
            "interval" Number: Cell::of(g.interval_text()).details(g.half_width_text()).details(g.interval_label());
            "frames/s of each visit" Wide: each(g).join("; ");
            "CPUs stopped, ms per s" Number: Cell::sorted(seen(g).and_then(|one| one.stalls_ms_per_s), two);
            "other programs, CPUs" Wide: seen(g).map(programs);
            "verdict" Wide: Cell::badge(g.verdict()).details(note::lines(g.why()));
        ],
    );
    let blocks = vec![Block::text(words(run, groups, &known)), Block::Table(table)];
    Some(Block::Folded("How this was measured".to_owned(), blocks))
}

/// What disturbed the visits of a cell.
fn seen<'r>(group: &Group<'r>) -> Option<&'r Disturbance> {
    group.summary?.disturbance.as_ref()
}

fn words(run: &Run, groups: &[Group<'_>], known: &[&Group<'_>]) -> String {
    let mut told = Vec::new();
    let visits = known.iter().map(|group| group.repeats.len()).max();
    let visits = visits.unwrap_or(1);
    match visits {
        1 => told.push(
            "Every result comes from one visit. Its interval is that of this visit; another visit may differ by more".to_owned(),
        ),
        many => told.push(format!(
            "Every result comes from {}, apart in time. The number is their median",
            plural(many, "visit")
        )),
    }
    told.extend(legend::judged(groups));
    let confident = known.iter().any(|group| {
        let estimate = group.estimate();
        estimate.is_some_and(|estimate| estimate.confidence.is_some())
    });
    if confident {
        told.push(
            "If visits are independent, the interval covers the true median with the probability stated".to_owned(),
        );
    }
    if let Some(estimator) = &run.run.estimator {
        told.push(format!("Estimator: {estimator}"));
    }
    format!("{}.", told.join(". "))
}

/// `rustc (PID 812) 0.90, cc1 (PID 901) 0.12`
fn programs(disturbance: &Disturbance) -> String {
    let programs = disturbance.programs.iter();
    let told: Vec<String> = programs
        .map(|program| format!("{} (PID {}) {:.2}", program.name, program.pid, program.cpus))
        .collect();
    if told.is_empty() {
        "none".to_owned()
    } else {
        told.join(", ")
    }
}
