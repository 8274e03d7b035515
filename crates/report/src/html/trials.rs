//! Every trial, folded away.

use maud::{Markup, html};
use nicety_model::{Purpose, Run, TrialRecord, Validity};

use super::parts;
use crate::number::{self, ABSENT};

/// Trials listed; a page with more would be slow to open, and `trials.jsonl` has them all.
const LISTED: usize = 500;

/// The trials as a table.
pub fn table(run: &Run) -> Markup {
    let listed = || run.trials.iter().take(LISTED);
    // Without the frames set apart, lost frames and loss would not agree.
    let apart = listed().any(|trial| trial.stalls.is_some_and(|stalls| stalls.frames > 0));
    html! {
        @if run.trials.len() > LISTED {
            p.muted {
                "The first " (number::count(LISTED as u64)) " of " (number::count(run.trials.len() as u64))
                " trials; trials.jsonl in the run’s directory has them all."
            }
        }
        (parts::long_table(
            "Trials in the order they were run",
            &html! {
                tr {
                    th scope="col" { "cell" }
                    th.num scope="col" { "repeat" }
                    th.num scope="col" { "trial" }
                    th scope="col" { "purpose" }
                    th.num scope="col" { "intended frames/s" }
                    th.num scope="col" { "offered frames/s" }
                    th.num scope="col" { "forwarded frames/s" }
                    th.num scope="col" { "seconds" }
                    th.num scope="col" { "lost" }
                    @if apart { th.num scope="col" { "set apart" } }
                    th.num scope="col" { "loss" }
                    th scope="col" { "validity" }
                }
            },
            &listed().map(|trial| row(trial, apart)).collect::<Vec<_>>(),
        ))
        @if apart {
            p.muted {
                "Set apart are the frames sent while CPUs stood still: lost counts all frames, loss is that of the others."
            }
        }
    }
}

fn row(trial: &TrialRecord, apart: bool) -> Markup {
    html! {
        tr {
            th scope="row" {
                (trial.cell)
                @if let Some(visit) = trial.control { span.sub { "control visit " (visit) } }
            }
            td.num { (trial.repeat) }
            td.num { (trial.index) }
            td { (purpose(trial.purpose)) }
            td.num { (number::grouped(trial.load_fps)) }
            td.num { (number::grouped(trial.pacing.offered_fps)) }
            td.num { (number::grouped(trial.forwarding_fps)) }
            td.num { (number::significant(trial.duration_s, 3)) }
            td.num {
                (number::count(trial.frames.lost))
                @if apart { span.sub { "of " (number::count(trial.frames.sent)) } }
            }
            @if apart { (set_apart(trial)) }
            td.num data-v=(parts::sorted_by(trial.loss_ratio.0)) { (number::loss(trial.loss_ratio.0)) }
            td.wrap {
                (validity(&trial.validity))
                @for note in &trial.notes { span.sub { (note.to_string()) } }
            }
        }
    }
}

/// Frames of the trial that say nothing about the path, and how many of them were lost.
fn set_apart(trial: &TrialRecord) -> Markup {
    html! {
        td.num {
            @match trial.stalls {
                Some(stalls) => {
                    (number::count(stalls.frames))
                    @if stalls.lost > 0 { span.sub { (number::count(stalls.lost)) " lost" } }
                }
                None => { (ABSENT) }
            }
        }
    }
}

fn purpose(purpose: Purpose) -> String {
    match purpose {
        Purpose::WarmUp => "warm-up".to_owned(),
        Purpose::Search => "search".to_owned(),
        Purpose::Confirm => "confirm".to_owned(),
        Purpose::Latency { load_ratio } => format!("latency at {}", number::share(load_ratio)),
    }
}

fn validity(validity: &Validity) -> String {
    match validity {
        Validity::Valid => "valid".to_owned(),
        Validity::LoadMissed { why } => format!("load missed: {why}"),
        Validity::TesterDropped { frames } => {
            format!("the tester dropped {} frames", number::count(*frames))
        }
        Validity::Stalled { why } => format!("stalled: {why}"),
        Validity::Broken { why } => format!("broken: {why}"),
    }
}
