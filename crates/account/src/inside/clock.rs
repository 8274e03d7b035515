//! A guest's clock beside the host's.
//!
//! Two things bound how far it is ahead. Questions and answers: the guest read its clock between question and answer.
//! And the test frames themselves: none comes into the guest before it has left the host, nor back to the host before it
//! has left the guest, by whichever clock. Of many frames those that were fastest each way leave little room, and no way
//! has to be as long as the other.

use crate::probes::{Offset, OffsetSample, Reading};

/// Frames within so long are one sample of the clocks: short beside a trial, and with many frames in it.
const SPAN_NS: i64 = 1 << 26;
/// Most by which the clocks of a host and a guest run apart: that of an emulated CPU was calibrated by software.
const FASTER_MAX: f64 = 1e-3;
/// How often the drift that was found makes the samples sharper. Each time leaves a third of what was open, or less.
const PASSES: u32 = 4;

/// What a frame that passed the guest tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// When, by the host's clock, in nanoseconds.
    pub at_ns: i64,
    /// The guest's clock is ahead of the host's by this at least.
    pub low_ns: i64,
    /// And by this at most.
    pub high_ns: i64,
}

/// The guest's clock (B) less the host's (A), by exchanges before and after a trial and by the frames in it, in the order
/// of their time. `None` where there is neither. Both clocks are taken to run evenly.
pub fn compare(exchanges: [&[Reading]; 2], bounds: &[Bound]) -> Option<Offset> {
    let asked: Vec<OffsetSample> = exchanges
        .iter()
        .filter_map(|readings| OffsetSample::tightest(readings))
        .collect();
    let by_exchange = Offset::over(&asked);
    let Some(first) = bounds.first() else {
        return by_exchange;
    };
    let narrowed = |bound: &Bound| match by_exchange {
        None => *bound,
        Some(line) => {
            let (ahead, room) = (line.at(bound.at_ns), line.error_ns().ceil() as i64);
            Bound {
                at_ns: bound.at_ns,
                low_ns: bound.low_ns.max(ahead.saturating_sub(room)),
                high_ns: bound.high_ns.min(ahead.saturating_add(room)),
            }
        }
    };
    let bounds: Vec<Bound> = bounds.iter().map(narrowed).collect();
    let ahead = first.low_ns.midpoint(first.high_ns);
    let mut line = Offset::line(first.at_ns, ahead, 0.0, 0.0);
    let mut steepest = FASTER_MAX;
    for _ in 0..PASSES {
        (line, steepest) = closer(line, steepest, &bounds);
    }
    Some(line)
}

/// A line nearer to the truth than `line`, which is steeper or flatter than the truth by at most `steepest`; and by how
/// much the new one may be.
fn closer(line: Offset, steepest: f64, bounds: &[Bound]) -> (Offset, f64) {
    let mut spans: Vec<Bound> = Vec::new();
    for bound in bounds {
        let ahead = line.at(bound.at_ns);
        let beside = Bound {
            at_ns: bound.at_ns,
            low_ns: bound.low_ns.saturating_sub(ahead),
            high_ns: bound.high_ns.saturating_sub(ahead),
        };
        match spans.last_mut() {
            Some(span) if beside.at_ns < span.at_ns.saturating_add(SPAN_NS) => {
                span.low_ns = span.low_ns.max(beside.low_ns);
                span.high_ns = span.high_ns.min(beside.high_ns);
            }
            _ => spans.push(beside),
        }
    }
    // What holds at one end of a span may be off by so much in its middle; 1 for what is rounded.
    let slack = steepest * SPAN_NS as f64 / 2.0 + 1.0;
    let sample = |span: &Bound| {
        let at_ns = span.at_ns + SPAN_NS / 2;
        OffsetSample {
            at_ns,
            offset_ns: line
                .at(at_ns)
                .saturating_add(span.low_ns.midpoint(span.high_ns)),
            error_ns: span.low_ns.abs_diff(span.high_ns) as f64 / 2.0 + slack,
        }
    };
    let samples: Vec<OffsetSample> = spans.iter().map(sample).collect();
    match (samples.as_slice(), Offset::over(&samples)) {
        ([first, .., last], Some(over)) => {
            let apart = (last.at_ns - first.at_ns) as f64;
            let open = (first.error_ns + last.error_ns) / apart;
            // Beyond the samples the line is longer by half a span.
            (over.wider(slack), open.min(steepest))
        }
        ([only], _) => {
            let error_ns = only.error_ns + slack;
            let drift = line.drift_ppb() / 1e9;
            (
                Offset::line(only.at_ns, only.offset_ns, drift, error_ns),
                steepest,
            )
        }
        _ => (line, steepest),
    }
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
