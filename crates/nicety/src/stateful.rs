//! `nicety stateful`: what a table of connections takes, holds and gives up, and what passes on it.

use std::time::Duration;

use indicatif::ProgressBar;
use nicety_model::path::{Nat, RoutedParams};
use nicety_model::stateful::{EntryState, TableStage, TableVerdict};
use nicety_model::{
    CellKey, Coded, Direction, Fps, FrameSize, PathSpec, Plan, ProblemCode, Shape, number,
};
use nicety_report::stateful as text;
use nicety_report::{html, json, plural};
use nicety_runner::{Stateful, StatefulEvent, StatefulWanted};

use crate::cli::stateful::StatefulArgs;
use crate::exit::{Exit, Failure};
use crate::load;
use crate::report::{prints, write};
use crate::signals::Signals;
use crate::{output, what};

/// Runs the command.
pub fn run(args: &StatefulArgs) -> Result<Exit, Failure> {
    let (plan, key) = cell(args)?;
    let stages = match args.only.as_slice() {
        [] => TableStage::ALL.to_vec(),
        only => only.to_vec(),
    };
    let wanted = StatefulWanted {
        plan,
        key,
        naming: args.naming.naming(),
        stages,
        connections: args.connections,
        most: args.most,
        hosts: args.nat.hosts,
        addresses: args.nat.addresses,
        ports: args.nat.ports,
        trial: args.trial,
        repeats: args.repeats,
        max_rate: args.rate,
        loss: args.loss,
    };
    let signals = Signals::install()?;
    let opened = Stateful::open(wanted, &signals.stop());
    let stateful = match opened {
        Err(error) if error.code() == ProblemCode::Interrupted => return Ok(Exit::Interrupted),
        opened => opened?,
    };
    let bar = output::bar(None, "{spinner} {elapsed} {msg}");
    bar.enable_steady_tick(Duration::from_millis(100));
    let mut progress = Progress {
        bar: &bar,
        last: String::new(),
    };
    let report = stateful.run(&mut |event| progress.on(event));
    bar.finish_and_clear();
    let report = report?;
    if let Some(file) = &args.html {
        write(file, |out| html(&report, out))?;
    }
    if prints(&args.format, [&args.html]) {
        output::report(
            &args.format,
            &report,
            |out| json::pretty("stateful", &report, out),
            |out| text::csv(&report, out),
        )?;
    }
    let bad = |verdict| matches!(verdict, TableVerdict::NotValid | TableVerdict::Failed);
    Ok(if !report.complete {
        Exit::Interrupted
    } else if report.verdicts().any(bad) {
        Exit::Negative
    } else {
        Exit::Done
    })
}

/// The cell of the plan, or a router with source NAT.
fn cell(args: &StatefulArgs) -> Result<(Plan, CellKey), Failure> {
    if args.what.given() {
        let plan = what::plan(&args.what)?;
        let key = load::cell(&plan, args.cell.as_deref(), "nicety stateful measures")?;
        return Ok((plan, key));
    }
    // It has a path that is built here, as that of the key.
    let plan = Plan::default_bridge();
    let key = CellKey {
        path: PathSpec::Routed(RoutedParams {
            nat: Some(Nat::Snat),
            ..RoutedParams::default()
        }),
        frame_size_bytes: FrameSize::SMALLEST,
        direction: Direction::Uni,
        flows: 1,
        shape: Shape::default(),
    };
    Ok((plan, key))
}

/// A line that changes.
struct Progress<'a> {
    bar: &'a ProgressBar,
    last: String,
}

impl Progress<'_> {
    fn on(&mut self, event: StatefulEvent) {
        let rate = |Fps(rate): Fps| number::short(rate);
        match event {
            StatefulEvent::Open {
                stage,
                connections,
                rate: at,
            } => {
                self.last = format!(
                    "{stage}: {} at {}/s",
                    plural(connections, "connection"),
                    rate(at)
                );
                self.bar.set_message(self.last.clone());
            }
            StatefulEvent::Carry {
                connections,
                state,
                rate: at,
            } => {
                let ways = match state {
                    EntryState::Unreplied => "one way",
                    EntryState::Replied => "each way",
                };
                self.last = format!(
                    "goodput: {} frames/s {ways} on {}",
                    rate(at),
                    plural(connections, "connection")
                );
                self.bar.set_message(self.last.clone());
            }
            StatefulEvent::Tried { setback } if output::is_verbose() => {
                let line = format!("{}: {}", self.last, text::event_setback(setback));
                self.bar.suspend(|| output::say(&line));
            }
            StatefulEvent::Tried { .. } => {}
        }
    }
}
