//! `nicety vf pacing`: whether a sender is paced at its limit or sends in bursts.

use std::time::{Duration, Instant};

use anyhow::anyhow;
use nicety_host::shaper::{Face, Survey};
use nicety_model::SCHEMA;
use nicety_police::explain::readable;
use nicety_police::pacing::{Pace, Pacing, PacingReport, Unit, pacing};
use nicety_port::capture::{Capture, Captured, Way};

use super::look::Eyes;
use crate::cli::vf::PacingArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// So many units are kept at most: more say nothing more.
const MOST: usize = 1 << 21;
/// Units taken at once.
const BATCH: usize = 4096;
/// Between two looks: the ring holds far more.
const NAP: Duration = Duration::from_millis(2);

/// Runs the command.
pub fn run(args: &PacingArgs) -> Result<Exit, Failure> {
    let eyes = Eyes::open()?;
    let survey = eyes.shapers.survey().map_err(Failure::environment)?;
    let name = &args.interface;
    let Some(face) = survey.face(name) else {
        return Err(Failure::usage(anyhow!(
            "there is no interface {name} in this network namespace; see nicety vf list"
        )));
    };
    if !face.up {
        return Err(Failure::environment(anyhow!(
            "{name} is down; set it up first"
        )));
    }
    let (at, way) = place(face, &survey, args.sent);
    let (units, lost) = watch(&at, way, args)?;
    let report = PacingReport {
        schema: SCHEMA,
        interface: name.clone(),
        at,
        way: word(way).to_owned(),
        lost,
        pacing: pacing(&units),
    };
    if args.json {
        output::print_json(&report)?;
    } else {
        output::print(&words(&report))?;
    }
    if report.pacing.pace == Pace::Unknown {
        output::say(&format!(
            "too little was sent to say how: {} packets; let it send, or look longer with --over",
            report.pacing.units
        ));
    }
    Ok(match report.pacing.pace {
        Pace::Unknown => Exit::Negative,
        Pace::Paced | Pace::Bursts => Exit::Done,
    })
}

/// Where the owner of a port is seen after its limit: at the interface of the limiter, else at the
/// port. What a macvtap's owner sends, the macvtap sends.
fn place(face: &Face, survey: &Survey, sent: bool) -> (String, Way) {
    if let Some(limiter) = survey.limiter_of(face).filter(|_| !sent) {
        return (limiter.name.clone(), Way::Sent);
    }
    let way = match sent || face.kind == "macvtap" {
        true => Way::Sent,
        false => Way::Received,
    };
    (face.name.clone(), way)
}

fn word(way: Way) -> &'static str {
    match way {
        Way::Sent => "sent",
        Way::Received => "received",
    }
}

fn watch(at: &str, way: Way, args: &PacingArgs) -> Result<(Vec<Unit>, u64), Failure> {
    let source = args.from.map(|mac| mac.0);
    let mut capture = Capture::open(at, way, source).map_err(Failure::environment)?;
    let mut units = Vec::new();
    let mut first = None;
    let end = Instant::now() + args.over;
    while Instant::now() < end && units.len() < MOST {
        let taken = capture.poll(BATCH, |seen: Captured| {
            let first = *first.get_or_insert(seen.realtime_ns);
            // A clock that is set back during the capture makes a gap of 0.
            let since = u64::try_from(seen.realtime_ns - first).unwrap_or(0);
            units.push(Unit {
                at: Duration::from_nanos(since),
                wire_bytes: seen.wire_bytes,
                frames: seen.frames,
            });
        });
        if taken < BATCH {
            capture.check_up().map_err(Failure::environment)?;
            std::thread::sleep(NAP);
        }
    }
    // Several CPUs may stamp at the same time and write in another order.
    units.sort_by_key(|unit| unit.at);
    let lost = capture.take_drops().map_err(Failure::environment)?;
    Ok((units, lost))
}

fn words(report: &PacingReport) -> String {
    let Pacing {
        units,
        frames,
        seconds,
        ..
    } = report.pacing;
    let head = format!(
        "{}, {} at {}: {frames} frames in {units} packets within {seconds:.2} s",
        report.interface, report.way, report.at
    );
    let told = &report.pacing;
    let (Some(rate), Some(gap), Some(size), Some(bursts)) = (
        told.rate_bps,
        told.gap_us,
        told.frames_per_unit,
        told.bursts,
    ) else {
        return head + "\n";
    };
    let pace = match told.pace {
        Pace::Paced => "paced",
        Pace::Bursts => "in bursts",
        Pace::Unknown => "not known",
    };
    let lost = match report.lost {
        0 => String::new(),
        lost => format!("lost      {lost} packets that there was no room for\n"),
    };
    format!(
        "{head}\n\
         rate      {} on the wire, {pace}\n\
         gaps      mean {:.1} µs, p50 {:.1} µs, p99 {:.1} µs, longest {:.1} µs\n\
         packets   {:.1} frames each, {} at most (more than one: TSO or GSO)\n\
         bursts    {}, {:.1} frames each, {} at most ({} bytes); {:.1} % of all bytes\n{lost}",
        readable(rate),
        gap.mean,
        gap.p50,
        gap.p99,
        gap.max,
        size.mean,
        size.max,
        bursts.count,
        bursts.frames.mean,
        bursts.frames.max,
        bursts.max_bytes,
        100.0 * bursts.bytes_ratio,
    )
}
