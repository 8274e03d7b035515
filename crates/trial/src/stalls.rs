//! Which frames of a trial say nothing about the path, because a CPU stood still.

use std::iter;
use std::ops::Range;

use nicety_model::{PacingReport, StallReport};
use nicety_port::stalls::Stall;
use nicety_port::{Engine, Part};

/// Before a stall is noted the CPU may have stood still for 0.5 ms.
const BEFORE_NS: u64 = 500_000;
/// After a stall the path works off what waited: a ring's worth of frames.
const AFTER_NS: u64 = 2_000_000;

/// The stalls of a trial on a path that runs on `path_cpus`; `None` where the engine cannot say which
/// frames they concern, or where there were too many to be noted. All are counted. Frames are set apart
/// for those of the path's CPUs, where these are known: a sender that stands still sends nothing
/// and owes nothing afterwards, so the path loses nothing by it.
pub(crate) fn report(
    stalls: Option<&[Stall]>,
    path_cpus: &[u32],
    engine: &dyn Engine,
) -> Option<StallReport> {
    let stalls = stalls?;
    let spans = spans(stalls, path_cpus);
    let part = match spans.as_slice() {
        [] => Part::default(),
        some => engine.part(some)?,
    };
    let programs = stalls.iter().filter(|stall| stall.by_program).count();
    let lengths = || {
        stalls
            .iter()
            .map(|stall| stall.ns.end.saturating_sub(stall.ns.start))
    };
    Some(StallReport {
        stalls: (stalls.len() - programs) as u64,
        programs: programs as u64,
        longest_s: lengths().max().unwrap_or(0) as f64 * 1e-9,
        stalled_s: lengths().sum::<u64>() as f64 * 1e-9,
        frames: part.sent,
        lost: part.lost,
    })
}

/// The time in ns of the monotonic clock in which what the path does with a frame may be due to a stall.
pub fn span(stall: &Stall) -> Range<u64> {
    stall.ns.start.saturating_sub(BEFORE_NS)..stall.ns.end.saturating_add(AFTER_NS)
}

/// The spans of those stalls that are the path's, where its CPUs are known.
fn spans(stalls: &[Stall], path_cpus: &[u32]) -> Vec<Range<u64>> {
    let of_path = |stall: &&Stall| path_cpus.is_empty() || path_cpus.contains(&stall.cpu);
    stalls.iter().filter(of_path).map(span).collect()
}

/// The time that says nothing about the path: all of it where stalls came more often than can be noted.
pub(crate) fn apart(noted: Option<&[Stall]>, path_cpus: &[u32]) -> Vec<Range<u64>> {
    let always = || iter::once(0..u64::MAX).collect();
    noted.map_or_else(always, |stalls| spans(stalls, path_cpus))
}

/// Why nothing can be said of a trial, if that is so.
pub(crate) fn too_many(stalls: &StallReport, sent: u64, pacing: &PacingReport) -> Option<String> {
    stalls.are_too_many(sent).then(|| {
        format!(
            "in {:.1} s CPUs stood still {} times and other programs had them {} times, for {:.1} ms at most; that concerns {:.0} % of the frames",
            pacing.sending_s,
            stalls.stalls,
            stalls.programs,
            stalls.longest_s * 1e3,
            stalls.share_of(sent) * 100.0
        )
    })
}

#[cfg(test)]
mod tests;
