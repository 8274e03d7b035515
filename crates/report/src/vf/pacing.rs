//! How a sender sends, in words.

use nicety_model::counted::plural;
use nicety_police::explain::readable;
use nicety_police::pacing::{Pace, Pacing, PacingReport};

/// Rate, gaps and bursts, a line of each.
pub fn words(report: &PacingReport) -> String {
    let Pacing {
        units,
        frames,
        seconds,
        ..
    } = report.pacing;
    let head = format!(
        "{}, {} at {}: {} in {} within {seconds:.2} s",
        report.interface,
        report.way,
        report.at,
        plural(frames, "frame"),
        plural(units, "packet")
    );
    let pacing = &report.pacing;
    let (Some(rate), Some(gap), Some(size), Some(bursts)) = (
        pacing.rate_bps,
        pacing.gap_us,
        pacing.frames_per_unit,
        pacing.bursts,
    ) else {
        return head + "\n";
    };
    let pace = match pacing.pace {
        Pace::Paced => "paced",
        Pace::Bursts => "in bursts",
        Pace::Unknown => "not known",
    };
    let lost = match report.lost {
        0 => String::new(),
        lost => format!(
            "lost      {}: the capture buffer was full\n",
            plural(lost, "packet")
        ),
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
