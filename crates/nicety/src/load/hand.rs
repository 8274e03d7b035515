//! A rate set by hand, an interval a line.

use std::time::Duration;

use anyhow::anyhow;
use nicety_account::lost::Flows;
use nicety_account::soak::Totals;
use nicety_model::interval::LoadLine;
use nicety_model::soak::LoadWish;
use nicety_model::{Coded, EngineChoice, EngineName, Fps, ProblemCode, Validity, number};
use nicety_report::soak::line;
use nicety_runner::RunError;
use nicety_runner::constant::{Constant, Intervals, Measured, Wanted};

use super::keys::Hand;
use super::pcap::LostPcap;
use super::{LOADS, cell, judged, plan};
use crate::bench::Preparing;
use crate::cli::load::LoadArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::signals::Signals;

const ENGINE: EngineChoice = EngineChoice::Only(EngineName::AfPacket);
const EVERY: Duration = Duration::from_secs(1);
const RATE: Fps = Fps(10_000.0);
/// Flows of a line of JSON.
const FLOWS_OF_LINE: usize = 64;
/// Lost frames whose neighbours are written.
const LOST_FRAMES: usize = 100;
/// Flows of the summary.
const WORST_FLOWS: usize = 10;
/// How soon the end of a pause is seen.
const BLINK: Duration = Duration::from_millis(50);

/// How a load ended.
struct Ended {
    totals: Totals,
    flows: Flows,
    complete: bool,
    read: bool,
}

/// Runs the command.
pub fn run(args: &LoadArgs) -> Result<Exit, Failure> {
    let rate = rate(args)?;
    let plan = plan(args)?;
    let key = cell(&plan, args.cell.as_deref(), LOADS)?;
    // Before anything is sent, and before a namespace in which the file may not be.
    let pcap = args
        .lost_pcap
        .as_deref()
        .map(LostPcap::create)
        .transpose()?;
    let signals = Signals::install()?;
    let wanted = Wanted {
        plan,
        key,
        naming: args.naming.naming(),
        engine: args.engine.unwrap_or(ENGINE),
    };
    let opened = Constant::open(wanted, &signals.stop(), &Preparing::default());
    let mut constant = match opened {
        Err(error) if error.code() == ProblemCode::Interrupted => return Ok(Exit::Interrupted),
        opened => opened?,
    };
    let mut failed = Ok(());
    let ended = constant.run(args.fate, &Preparing::default(), |intervals| {
        let load = Load {
            args,
            rate,
            signals: &signals,
            pcap,
            failed: &mut failed,
        };
        load.all(intervals)
    });
    let ended = match ended {
        Err(RunError::Interrupted) => return Ok(Exit::Interrupted),
        ended => ended?,
    };
    let mut summary = ended.totals.summary(ended.complete);
    (summary.flows, summary.lossy_flows) = ended.flows.worst(WORST_FLOWS);
    if ended.read && summary.intervals > 0 {
        if args.json {
            output::print(&output::line(&LoadLine::Summary(Box::new(
                summary.clone(),
            )))?)?;
        } else {
            output::print(&(line::summary(&summary) + "\n"))?;
        }
    }
    failed?;
    Ok(if ended.complete {
        judged(args, &summary)
    } else {
        Exit::Interrupted
    })
}

/// A rate that is searched needs the directory in which the search is kept.
fn rate(args: &LoadArgs) -> Result<Fps, Failure> {
    match args.rate {
        None => Ok(RATE),
        Some(LoadWish::Rate { fps }) => Ok(Fps(fps)),
        Some(share) => Err(Failure::usage(anyhow!(
            "--rate {share} is searched first; add --for and --out, or write frames per second, as in 200k"
        ))),
    }
}

/// A load under way.
struct Load<'a> {
    args: &'a LoadArgs,
    rate: Fps,
    signals: &'a Signals,
    pcap: Option<LostPcap>,
    /// What went wrong with the output; the path has no part in it.
    failed: &'a mut Result<(), Failure>,
}

impl Load<'_> {
    fn all(mut self, intervals: &mut Intervals<'_>) -> Result<Ended, RunError> {
        let args = self.args;
        let mut ended = Ended {
            totals: Totals::default(),
            flows: Flows::new(intervals.flows()),
            complete: false,
            read: true,
        };
        if let Err(failure) = self.begin(intervals) {
            *self.failed = Err(failure);
            return Ok(ended);
        }
        let mut hand = match Hand::start(self.rate, args.json, self.signals) {
            Ok(hand) => hand,
            Err(failure) => {
                *self.failed = Err(failure);
                return Ok(ended);
            }
        };
        let every = args.every.unwrap_or(EVERY);
        let mut began_unix_s = None;
        let length_s = args.length.map(|length| length.as_secs_f64());
        loop {
            let left_s = length_s.map(|length| length - ended.totals.wall_s());
            if left_s.is_some_and(|left| left < BLINK.as_secs_f64()) {
                ended.complete = true;
                break;
            }
            let Some(rate) = hand.rate() else {
                // q ends what has no other end.
                ended.complete = args.length.is_none();
                break;
            };
            let Some(rate) = rate else {
                std::thread::sleep(BLINK);
                continue;
            };
            let left = left_s.map_or(every, Duration::from_secs_f64);
            let stop = hand.stop();
            let Some(measured) = intervals.next(rate, every.min(left), &stop)? else {
                continue;
            };
            if let Validity::Broken { why } = &measured.interval.validity {
                hand.end();
                *self.failed = Err(Failure::environment(anyhow!(
                    "the path or a port broke: {why}"
                )));
                break;
            }
            let began = *began_unix_s.get_or_insert(measured.interval.started_unix_s);
            match self.told(measured, began, intervals, &mut ended, &mut hand) {
                Ok(read) => ended.read = read,
                Err(failure) => {
                    *self.failed = Err(failure);
                    break;
                }
            }
            if !ended.read {
                break;
            }
        }
        hand.end();
        if let Some(pcap) = self.pcap.take() {
            match pcap.finish() {
                Ok(text) => output::say(&text),
                Err(failure) => *self.failed = Err(failure),
            }
        }
        Ok(ended)
    }

    /// What is to be known and done before the first interval.
    fn begin(&mut self, intervals: &mut Intervals<'_>) -> Result<(), Failure> {
        let args = self.args;
        for note in intervals.notes().iter().filter(|_| output::is_verbose()) {
            output::say(&format!("note: {note}"));
        }
        let [a, b] = intervals.ports().map(str::to_owned);
        if let Some(pcap) = &mut self.pcap {
            if !intervals.keep_neighbours(LOST_FRAMES) {
                return Err(Failure::usage(anyhow!(
                    "--lost-pcap: this engine does not see whole frames; leave --engine out, or write --engine af_packet"
                )));
            }
            pcap.begin([&a, &b], LOST_FRAMES)?;
        }
        let way = if args.bi { "between" } else { "from" };
        let to = if args.bi { "and" } else { "to" };
        output::say(&format!(
            "sending frames {way} {a} {to} {b}, {} frames/s; Ctrl-C ends it",
            number::short(self.rate.0)
        ));
        Ok(())
    }

    /// Counts and tells an interval; false when nobody reads any more.
    fn told(
        &mut self,
        measured: Measured,
        began_unix_s: f64,
        intervals: &mut Intervals<'_>,
        ended: &mut Ended,
        hand: &mut Hand,
    ) -> Result<bool, Failure> {
        let mut flows = Flows::new(intervals.flows());
        for numbers in measured.numbers() {
            flows.add(&numbers);
        }
        let mut interval = measured.interval;
        if let Some(pcap) = self.pcap.as_mut().filter(|_| interval.frames.lost > 0) {
            pcap.add(interval.number, &intervals.neighbours())?;
        }
        interval.flows = flows.all(FLOWS_OF_LINE);
        ended.flows.merge(&flows);
        // There is somebody who looks.
        let _ = ended.totals.observe(&interval);
        if self.args.json {
            let text = output::line(&LoadLine::Interval(Box::new(interval)))?;
            return output::print_on("to standard output", &text);
        }
        let mut text = line::interval(&interval, began_unix_s);
        if ended.totals.intervals() == 1 {
            text = format!("{}\n{text}", line::HEADER);
        }
        hand.say(&text)
    }
}
