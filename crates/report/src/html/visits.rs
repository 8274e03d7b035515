//! How the numbers came about, and every visit of every cell: folded away.

use maud::{Markup, html};
use nicety_model::{Disturbance, Run};

use super::parts;
use crate::legend;
use crate::number::{self, ABSENT};
use crate::pick::Group;
use crate::words::plural;

/// The paragraph and the table; nothing for runs whose numbers have no intervals.
pub fn how(run: &Run, groups: &[Group<'_>]) -> Markup {
    let known: Vec<&Group<'_>> = groups.iter().filter(|g| g.estimate().is_some()).collect();
    if known.is_empty() {
        return html! {};
    }
    html! {
        details {
            summary { "How this was measured" }
            p { (words(run, groups, &known)) }
            (parts::long_table(
                "Visits of every cell, in order of time",
                &html! {
                    tr {
                        th scope="col" { "cell" }
                        th.num scope="col" { "median, frames/s" }
                        th.num scope="col" { "interval" }
                        th scope="col" { "frames/s of each visit" }
                        th.num scope="col" { "CPUs stood still, ms per s" }
                        th scope="col" { "other programs, CPUs" }
                        th scope="col" { "verdict" }
                    }
                },
                &groups.iter().take(parts::ROWS).map(row).collect::<Vec<_>>(),
            ))
            (parts::cut_off(groups.len()))
        }
    }
}

fn words(run: &Run, groups: &[Group<'_>], known: &[&Group<'_>]) -> String {
    let mut told = Vec::new();
    let visits = known.iter().map(|group| group.repeats.len()).max();
    let visits = visits.unwrap_or(1);
    match visits {
        1 => told.push(
            "Every cell was measured in one visit. Its interval says how far this visit narrowed the number down; another visit may differ by more".to_owned(),
        ),
        many => told.push(format!(
            "Every cell was measured in {}, apart in time. The number is their median",
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
            "The interval covers the median of all visits that might have been made with the probability stated, if visits are independent".to_owned(),
        );
    }
    if let Some(estimator) = &run.run.estimator {
        told.push(format!("Estimator: {estimator}"));
    }
    format!("{}.", told.join(". "))
}

fn row(group: &Group<'_>) -> Markup {
    let disturbance = group
        .summary
        .and_then(|summary| summary.disturbance.as_ref());
    let stalls = disturbance.and_then(|one| one.stalls_ms_per_s);
    let stalls = stalls.filter(|ms| ms.is_finite());
    let each = group
        .repeats
        .iter()
        .map(|visit| number::fps(visit.throughput_fps));
    html! {
        tr {
            th scope="row" { (group.name) }
            td.num.strong data-v=[group.throughput_fps().map(parts::sorted_by)] { (group.fps_text()) }
            td.num.nowrap {
                (group.interval_text().unwrap_or_else(|| ABSENT.to_owned()))
                @if let Some(half) = group.half_width_text() { span.sub { (half) } }
                @if let Some(label) = group.interval_label() { span.sub { (label) } }
            }
            td.wrap { (each.collect::<Vec<_>>().join("; ")) }
            td.num data-v=[stalls] {
                (stalls.map_or_else(|| ABSENT.to_owned(), |ms| number::significant(ms, 2)))
            }
            td.wrap { (disturbance.map_or_else(|| ABSENT.to_owned(), programs)) }
            td.wrap {
                (parts::badge(group.verdict()))
                @for why in group.why() { span.sub { (why.to_string()) } }
            }
        }
    }
}

/// `rustc (PID 812) 0.90, cc1 (PID 901) 0.12`
fn programs(disturbance: &Disturbance) -> String {
    let programs = disturbance.programs.iter();
    let told: Vec<String> = programs
        .map(|program| format!("{} (PID {}) {:.2}", program.name, program.pid, program.cpus))
        .collect();
    match told.is_empty() {
        true => "none".to_owned(),
        false => told.join(", "),
    }
}
