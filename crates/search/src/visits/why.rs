//! Reasons for a wide interval, and remedies.

use nicety_model::note::{SearchNote, SpeedGroup};
use nicety_model::{CellResult, Disturbance, Estimate, Fps, LossRatio, Note};

/// CPUs' worth of time of a program that is worth a word.
const PROGRAM: f64 = 0.05;
/// Stalls of CPUs per second, in ms, that are worth a word.
const STALLS_MS: f64 = 2.0;

/// Loss of a confirm trial outside stalls of the machine, in loss goals, from which on the path itself
/// pauses: windows that lose nothing in between hide that. On a machine with other work it was 5 to 40.
const PAUSES: f64 = 100.0;
/// Stalls per second, in ms, up to which a machine stands still enough to say so: of others not all of
/// what a stall does is known to be its work.
const STILL_MS: f64 = 6.0;

/// A confirm trial at the result in which most windows met the goal and the others lost far too much,
/// although no CPU of the path stood still meanwhile.
pub(super) fn pauses(visit: &CellResult) -> Option<SearchNote> {
    let confirm = visit.confirm.filter(|confirm| confirm.met)?;
    let stalls = visit.disturbance.as_ref()?.stalls_ms_per_s?;
    let sent = visit
        .frames
        .map(|frames| frames.sent)
        .filter(|sent| *sent > 0)?;
    let lost = confirm.lost?.saturating_sub(confirm.lost_in_stalls?);
    let loss = LossRatio::of(lost, sent);
    (stalls < STILL_MS && loss.0 > PAUSES * visit.loss_goal).then_some(SearchNote::Pauses {
        duration_s: confirm.duration_s,
        load_fps: Fps(confirm.load_fps),
        loss_ratio: loss,
    })
}

/// What most visits say of a token bucket: the last of them, for the first may have found it half empty.
pub(super) fn bucket(visits: &[&CellResult]) -> Option<SearchNote> {
    let bucket = |visit: &&CellResult| {
        let notes = visit.notes.iter();
        let mut buckets = notes.filter_map(|note| match note {
            Note::Search(bucket @ SearchNote::TokenBucket { .. }) => Some(bucket.clone()),
            _ => None,
        });
        buckets.next()
    };
    let all: Vec<SearchNote> = visits.iter().filter_map(bucket).collect();
    let most = 2 * all.len() > visits.len();
    all.into_iter().last().filter(|_| most)
}

/// Who else had the CPUs.
pub(super) fn disturbed(disturbance: Option<&Disturbance>) -> Vec<SearchNote> {
    let mut why = Vec::new();
    if let Some(disturbance) = disturbance {
        let programs = disturbance.programs.iter();
        let programs: Vec<_> = programs
            .filter(|program| program.cpus >= PROGRAM)
            .cloned()
            .collect();
        if !programs.is_empty() {
            why.push(SearchNote::Programs { programs });
        }
        if let Some(ms_per_s) = disturbance.stalls_ms_per_s.filter(|ms| *ms >= STALLS_MS) {
            why.push(SearchNote::StoodStill { ms_per_s });
        }
    }
    why
}

/// Reasons of a wide interval.
pub(super) fn wide(
    estimate: &Estimate,
    visits: usize,
    disturbance: Option<&Disturbance>,
) -> Vec<Note> {
    let mut why = disturbed(disturbance);
    if estimate.visits < 2 {
        why.push(SearchNote::SingleVisit);
    } else if estimate.visits < 5 {
        why.push(SearchNote::FewVisits {
            visits: estimate.visits,
        });
    }
    if why.is_empty() {
        why.push(SearchNote::VisitsDiffer { visits });
    }
    why.into_iter().map(Note::from).collect()
}

/// Visits that fall into two groups of two or more, far apart.
pub(super) fn two_speeds(numbers: &[f64], apart: f64) -> Option<SearchNote> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let gap = |at: &usize| sorted[*at] / sorted[at - 1];
    let at = (2..sorted.len().saturating_sub(1)).max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
    let (slow, fast) = sorted.split_at(at);
    let within = |group: &[f64]| group[group.len() - 1] / group[0];
    // Two speeds, not one that varies: each group is closer together than the two are.
    let two = gap(&at) >= apart && within(slow).max(within(fast)) < gap(&at);
    let group = |of: &[f64]| SpeedGroup {
        visits: of.len(),
        low_fps: of[0],
        high_fps: of[of.len() - 1],
    };
    two.then(|| SearchNote::TwoSpeeds {
        slow: group(slow),
        fast: group(fast),
    })
}
