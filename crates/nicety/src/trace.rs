//! `nicety trace`: single frames' journeys over a path, as they happen.

use std::time::{Duration, Instant};

use nicety_account::journey::Tally;
use nicety_model::flow::{FlowFilter, FlowPacket};
use nicety_model::journey::{Journey, JourneyEnd, TraceLine};
use nicety_model::{Coded, Fps, Note, Plan, ProblemCode};
use nicety_report::trace as text;
use nicety_runner::{Follower, RunError, TraceWanted, Tracer};

use crate::bench::Preparing;
use crate::cli::trace::{Only, TraceArgs};
use crate::exit::{Exit, Failure};
use crate::load;
use crate::signals::Signals;
use crate::{output, what};

/// Length of a burst: journeys are told after each.
const BURST: Duration = Duration::from_millis(250);

/// How often it is looked for packets that have ended.
const LOOK: Duration = Duration::from_millis(100);

/// What it does to a cell.
const FOLLOWS: &str = "a trace follows the frames of";

/// Runs the command.
pub fn run(args: &TraceArgs) -> Result<Exit, Failure> {
    if let Some(filter) = &args.follow_flow {
        return follow(filter, args);
    }
    let wanted = wanted(args)?;
    let signals = Signals::install()?;
    let stop = signals.stop();
    let opened = Tracer::open(wanted, &stop, &Preparing::default());
    let mut tracer = match opened {
        Err(error) if error.code() == ProblemCode::Interrupted => return Ok(Exit::Interrupted),
        opened => opened?,
    };
    for note in tracer.notes().iter().filter(|_| output::is_verbose()) {
        output::say(&format!("note: {note}"));
    }
    let sender = tracer.ports()[0].to_owned();
    output::say(&format!(
        "sending {}-byte frames from {sender} to {}; times in µs, Ctrl-C ends it",
        args.size,
        tracer.ports()[1]
    ));
    let begun = Instant::now();
    let (mut tally, mut unnoted) = (Tally::new().map_err(Failure::environment)?, 0);
    let (mut read, mut unseen) = (true, Vec::new());
    while read && !signals.stopped() {
        let frames = next(args, tally.sent(), begun.elapsed());
        if frames == 0 {
            break;
        }
        let traced = match tracer.burst(frames, args.rate, &stop) {
            Err(RunError::Interrupted) => break,
            traced => traced?,
        };
        unnoted += traced.unnoted;
        tell(traced.notes, &mut unseen);
        let mut lines = String::new();
        for journey in traced.journeys {
            tally.add(&journey);
            if args.only == Only::All || !journey.end.is_received() {
                lines += &line(journey, &sender, args)?;
            }
        }
        read = lines.is_empty() || output::print_on("to standard output", &lines)?;
    }
    let ended = next(args, tally.sent(), begun.elapsed()) == 0;
    let summary = tally.finish(begun.elapsed().as_secs_f64(), unnoted);
    if read {
        if args.json {
            output::print(&output::line(&TraceLine::Summary(summary))?)?;
        } else {
            output::print(&(text::summary(&summary) + "\n"))?;
        }
    }
    let bounded = args.count.is_some() || args.length.is_some();
    Ok(if signals.stopped() && bounded && !ended {
        Exit::Interrupted
    } else {
        Exit::Done
    })
}

/// Tells of packets of sockets as they end.
fn follow(filter: &FlowFilter, args: &TraceArgs) -> Result<Exit, Failure> {
    let signals = Signals::install()?;
    let mut follower = Follower::open(filter)?;
    let [a, b] = filter.ends;
    output::say(&format!(
        "following first packets between {a} and {b}; times in µs, Ctrl-C ends it"
    ));
    let begun = Instant::now();
    let (mut left, mut lost) = (args.count.unwrap_or(u64::MAX), 0);
    let over = || args.length.is_some_and(|length| begun.elapsed() >= length);
    let mut read = true;
    while read && left > 0 && !signals.stopped() {
        // What ends while it is waited for the last time is told as well.
        let last = over();
        std::thread::sleep(LOOK);
        let ended = follower.ended();
        let mut lines = String::new();
        for packet in ended.packets {
            if left == 0 || (args.only == Only::Lost && !dropped(&packet)) {
                continue;
            }
            left -= 1;
            lines += &if args.json {
                output::line(&TraceLine::Packet(packet))?
            } else {
                text::packet(&packet) + "\n"
            };
        }
        if ended.unnoted > lost {
            lost = ended.unnoted;
            output::say("some packets were not noted: name both ends, to follow fewer");
        }
        read = lines.is_empty() || output::print_on("to standard output", &lines)?;
        if last {
            return Ok(Exit::Done);
        }
    }
    let bounded = args.count.is_some() || args.length.is_some();
    Ok(if signals.stopped() && bounded && left > 0 {
        Exit::Interrupted
    } else {
        Exit::Done
    })
}

fn dropped(packet: &FlowPacket) -> bool {
    matches!(packet.end, JourneyEnd::Dropped { .. })
}

/// Says what was not said before: every burst has the notes of its guests.
fn tell(notes: Vec<Note>, told: &mut Vec<Note>) {
    for note in notes {
        if !told.contains(&note) {
            output::say(&format!("note: {note}"));
            told.push(note);
        }
    }
}

/// The path, by a plan whose frames are those of the command line.
fn wanted(args: &TraceArgs) -> Result<TraceWanted, Failure> {
    let mut plan = Plan::default_bridge();
    plan.paths = what::plan(&args.what)?.paths;
    plan.traffic.frame_sizes = vec![args.size];
    Ok(TraceWanted {
        key: load::cell(&plan, args.cell.as_deref(), FOLLOWS)?,
        plan,
        engine: args.engine,
    })
}

/// Frames of the next burst; 0 at the end.
fn next(args: &TraceArgs, sent: u64, elapsed: Duration) -> u64 {
    let left = args
        .length
        .map_or(BURST, |length| length.saturating_sub(elapsed));
    if left.is_zero() {
        return 0;
    }
    let Fps(rate) = args.rate;
    let burst = (rate * BURST.min(left).as_secs_f64()).round() as u64;
    let left = args
        .count
        .map_or(u64::MAX, |count| count.saturating_sub(sent));
    burst.max(1).min(left)
}

fn line(journey: Journey, sender: &str, args: &TraceArgs) -> Result<String, Failure> {
    if args.json {
        output::line(&TraceLine::Frame(journey))
    } else {
        Ok(text::line(&journey, sender) + "\n")
    }
}
