//! Why a number is not closer, and what to do.

use nicety_model::{CellResult, Disturbance, Estimate, Fps, LossRatio};

/// CPUs' worth of time of a program that is worth a word.
const PROGRAM: f64 = 0.05;
/// Stalls of CPUs per second, in ms, that are worth a word.
const STALLS_MS: f64 = 2.0;

/// Loss of ten seconds outside stalls of the machine, in loss goals, from which on the path itself
/// pauses: windows that lose nothing in between hide that. On a machine with other work it was 5 to 40.
const PAUSES: f64 = 100.0;
/// Stalls per second, in ms, up to which a machine stands still enough to say so: of others not all of
/// what a stall does is known to be its work.
const STILL_MS: f64 = 6.0;

/// Ten seconds at the result in which most windows met the goal and the others lost far too much,
/// although no CPU of the path stood still meanwhile.
pub(super) fn pauses(visit: &CellResult) -> Option<String> {
    let confirm = visit.confirm.filter(|confirm| confirm.met)?;
    let stalls = visit.disturbance.as_ref()?.stalls_ms_per_s?;
    let sent = visit
        .frames
        .map(|frames| frames.sent)
        .filter(|sent| *sent > 0)?;
    let lost = confirm.lost?.saturating_sub(confirm.lost_in_stalls?);
    let loss = LossRatio::of(lost, sent);
    (stalls < STILL_MS && loss.0 > PAUSES * visit.loss_goal).then(|| {
        format!(
            "{} s at {} lost {loss} outside stalls of the CPUs: something pauses the path for moments; --preset std finds a load without that loss",
            confirm.duration_s,
            Fps(confirm.load_fps)
        )
    })
}

/// What the reasons of a wide interval are.
pub(super) fn wide(
    estimate: &Estimate,
    visits: usize,
    disturbance: Option<&Disturbance>,
) -> Vec<String> {
    let mut why = Vec::new();
    if let Some(disturbance) = disturbance {
        let programs: Vec<String> = disturbance
            .programs
            .iter()
            .filter(|program| program.cpus >= PROGRAM)
            .map(|p| format!("{} (PID {}) {:.1}", p.name, p.pid, p.cpus))
            .collect();
        if !programs.is_empty() {
            why.push(format!(
                "other programs used the CPUs: {}; stop them, or give the machine more CPUs",
                programs.join(", ")
            ));
        }
        if let Some(ms) = disturbance.stalls_ms_per_s.filter(|ms| *ms >= STALLS_MS) {
            why.push(format!(
                "CPUs of tester and path stood still for {ms:.0} ms per second: the hypervisor or other programs had them"
            ));
        }
    }
    if estimate.visits < 2 {
        why.push("the number comes from a single visit; --preset robust makes five".to_owned());
    } else if estimate.visits < 5 {
        why.push(format!(
            "only {} visits found a number; allow more time",
            estimate.visits
        ));
    }
    if why.is_empty() {
        why.push(format!(
            "the speed of path or CPUs differed from visit to visit; more repeats than {visits} narrow the interval"
        ));
    }
    why
}

/// Visits that fall into two groups of two or more, far apart.
pub(super) fn two_speeds(numbers: &[f64], apart: f64) -> Option<String> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let gap = |at: &usize| sorted[*at] / sorted[at - 1];
    let at = (2..sorted.len().saturating_sub(1)).max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
    let (slow, fast) = sorted.split_at(at);
    let within = |group: &[f64]| group[group.len() - 1] / group[0];
    // Two speeds, not one that varies: each group is closer together than the two are.
    let two = gap(&at) >= apart && within(slow).max(within(fast)) < gap(&at);
    let span = |group: &[f64]| {
        let k = |fps: f64| fps / 1e3;
        format!("{:.0}–{:.0} k", k(group[0]), k(group[group.len() - 1]))
    };
    two.then(|| {
        format!(
            "the visits contradict each other: {} found {} and {} found {} frames/s; path or CPUs have two speeds, so look for a change of clock rate, of placement or of neighbours",
            slow.len(),
            span(slow),
            fast.len(),
            span(fast)
        )
    })
}
