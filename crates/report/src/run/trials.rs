//! Every trial, folded away.

use nicety_model::{Purpose, Run, TrialRecord, Validity};

use crate::document::Kind::{Name, Number, Text, Wide};
use crate::document::{Block, Cell, Table};
use crate::note;
use crate::number;

/// Trials listed; a page with more would be slow to open, and `trials.jsonl` has them all.
const LISTED: usize = 500;

/// The trials as a table.
pub(super) fn table(run: &Run) -> Block {
    let listed = || run.trials.iter().take(LISTED);
    // Without the frames set apart, lost frames and loss would not agree.
    let apart = listed().any(|trial| trial.stalls.is_some_and(|stalls| stalls.frames > 0));
    let mut table = Table::of(
        "Trials in the order they were run",
        listed(),
        &[
            ("cell", Name, &|t| {
                let visit = t.control.map(|visit| format!("control visit {visit}"));
                Cell::from(&t.cell).details(visit)
            }),
            ("repeat", Number, &|t| Cell::of(Some(t.repeat))),
            ("trial", Number, &|t| Cell::of(Some(t.index))),
            ("purpose", Text, &|t| purpose(t.purpose).into()),
            ("intended frames/s", Number, &|t| {
                number::grouped(t.load_fps).into()
            }),
            ("offered frames/s", Number, &|t| {
                number::grouped(t.pacing.offered_fps).into()
            }),
            ("forwarded frames/s", Number, &|t| {
                number::grouped(t.forwarding_fps).into()
            }),
            ("seconds", Number, &|t| {
                number::significant(t.duration_s, 3).into()
            }),
            ("lost", Number, &|t| {
                let of = apart.then(|| format!("of {}", number::count(t.frames.sent)));
                Cell::count(t.frames.lost).details(of)
            }),
            ("set apart", Number, &|t| set_apart(t)),
            ("loss", Number, &|t| {
                Cell::sorted(t.loss_ratio.0, number::loss)
            }),
            ("validity", Wide, &|t| {
                Cell::from(validity(&t.validity)).details(note::lines(&t.notes))
            }),
        ],
    );
    let mut blocks = Vec::new();
    if run.trials.len() > LISTED {
        blocks.push(Block::Remark(format!(
            "The first {} of {} trials; trials.jsonl in the run’s directory has them all.",
            number::count(LISTED as u64),
            number::count(run.trials.len() as u64)
        )));
    }
    match apart {
        true => {
            table.legend = "Set apart are the frames sent while CPUs stood still: lost counts all \
                            frames, loss is that of the others."
                .to_owned();
        }
        false => table = table.speaking(|heading, _| heading != "set apart"),
    }
    blocks.push(Block::Table(table));
    Block::Folded(
        format!("All {}", number::plural(run.trials.len(), "trial")),
        blocks,
    )
}

/// Frames of the trial that say nothing about the path, and how many of them were lost.
fn set_apart(trial: &TrialRecord) -> Cell {
    trial.stalls.map_or_else(Cell::absent, |stalls| {
        let lost = (stalls.lost > 0).then(|| format!("{} lost", number::count(stalls.lost)));
        Cell::count(stalls.frames).details(lost)
    })
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
