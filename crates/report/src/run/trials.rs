//! Every trial, folded away.

use nicety_model::counted::plural;
use nicety_model::{FateOf, Purpose, Run, TrialRecord, Validity};

use crate::document::{Block, Cell, Table, columns};
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
        columns![|t|
            "cell" Name: Cell::from(&t.cell).details(t.control.map(|visit| format!("control visit {visit}")));
            "repeat" Number: t.repeat;
            "trial" Number: t.index;
            "purpose" Text: purpose(t.purpose);
            "intended frames/s" Number: number::grouped(t.load_fps);
            "offered frames/s" Number: number::grouped(t.pacing.offered_fps);
            "forwarded frames/s" Number: number::grouped(t.forwarding_fps);
            "seconds" Number: number::significant(t.duration_s, 3);
            "lost" Number: Cell::count(t.frames.lost).details(apart.then(|| format!("of {}", number::count(t.frames.sent))));
            "set apart" Number: set_apart(t);
            "loss" Number: Cell::sorted(t.loss_ratio.0, number::loss);
            "validity" Wide: Cell::from(validity(&t.validity)).details(note::lines(&t.notes));
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
    if apart {
        table.legend = "Set apart are the frames sent while CPUs were stopped: lost counts all \
                        frames, loss is that of the others."
            .to_owned();
    } else {
        table = table.speaking(|heading, _| heading != "set apart");
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
        Purpose::Fate {
            of: FateOf::Overload,
        } => "fate of overload".to_owned(),
        Purpose::Fate {
            of: FateOf::Confirm,
        } => "fate of confirm".to_owned(),
        Purpose::Fate {
            of: FateOf::Latency,
        } => "hops".to_owned(),
        Purpose::Burst => "burst".to_owned(),
        Purpose::Recovery => "recovery".to_owned(),
        Purpose::Reset => "reset".to_owned(),
        Purpose::Latency { load_ratio } => format!("latency at {}", number::share(load_ratio)),
    }
}

fn validity(validity: &Validity) -> String {
    match validity {
        Validity::Valid => "valid".to_owned(),
        Validity::LoadMissed { why } => format!("load missed: {why}"),
        Validity::TesterDropped { frames } => {
            format!("the tester dropped {}", plural(*frames, "frame"))
        }
        Validity::Stalled { why } => format!("stalled: {why}"),
        Validity::Broken { why } => format!("broken: {why}"),
    }
}
