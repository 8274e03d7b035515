//! Verdicts: turns the evidence into a verdict and its explanations.
//!
//! One verdict is given although several may apply; every finding leaves a note. In this order:
//!
//! 1. `failed`: there is no number.
//! 2. `faulty`: frames arrived twice, damaged or out of order, so that the number is none of a path that works.
//! 3. `coupled`: the number is that of sender and path together. Before `late`, because such a
//!    path is why the sender missed its load.
//! 4. `late`: the load of the confirm trial was not the intended one.
//! 5. `unstable`: where whole trials are judged, the longer one lost too much. Before
//!    `tester-limited`, because a load that the path could not hold is not one it carries "at least".
//! 6. `tester-limited`: the path carries at least this much.
//! 7. `bound`: a little more was lost while CPUs were taken away, so that the path may carry it.
//! 8. `wide`: the machine was busy, and the number holds within a wide interval.
//! 9. `noisy`: the machine was not quiet.
//! 10. `ok`.
//!
//! This is the verdict of one visit. Visits together: [`crate::summary`].

use nicety_model::note::{HeldBelow, SearchNote, SetApart};
use nicety_model::{CellResult, ConfirmResult, CpuUse, Fps, LossRatio, Note, StallReport, Verdict};

/// Share of the tester's own limit from which a throughput is the tester's.
pub const NEAR_TESTER_LIMIT: f64 = 0.95;
/// Share of the tester's own limit below which a sender that lost nothing but missed its load
/// was held up by the path.
pub const HELD_UP: f64 = 0.9;
/// Share of stolen CPU time from which a trial is noisy.
pub const STEAL_LIMIT: f64 = 0.02;
/// Share of frames set apart for stalls from which a trial is noisy: what is left is no longer the
/// bulk of it.
pub const STALLED_LIMIT: f64 = 0.15;
/// CPUs' worth of time of other programs from which a trial is noisy.
pub const OTHERS_LIMIT: f64 = 0.1;
/// Busy share from which a CPU is full.
const FULL: f64 = 0.95;
/// Idle share over all CPUs from which loss needs an explanation.
const IDLE: f64 = 0.2;

/// Evidence of the search and the trials around it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evidence {
    /// Why there is no result.
    pub failed: Option<Note>,
    /// Why the confirm trial did not run with the intended load.
    pub late: Option<String>,
    /// Result.
    pub throughput: Option<Fps>,
    /// Goal.
    pub loss_goal: f64,
    /// The search ended at the highest load the tester could offer.
    pub at_max: bool,
    /// Highest load offered in a trial that missed its intended load although no more was lost
    /// than the goal allows.
    pub held_up: Option<Fps>,
    /// The tester's own limit for this frame size, without the path.
    pub tester_limit: Option<Fps>,
    /// Line rate of the link, where there is one.
    pub line_rate: Option<Fps>,
    /// Confirm trial at the result.
    pub confirm: Option<ConfirmResult>,
    /// Lower load that held for as long, where the confirm trial lost too much.
    pub held: Option<ConfirmResult>,
    /// Trials just above the result that lost more than the goal, and in how many of them most was lost in stalls.
    pub above: Above,
    /// Disturbances of trials that still counted.
    pub disturbed: Option<Note>,
    /// Loads were judged by windows: what a busy machine does shows in how the visits differ, not in
    /// the verdict of one.
    pub by_windows: bool,
    /// Share of CPU time stolen during the confirm trial, of the CPU that lost most.
    pub steal: Option<f64>,
    /// Share of the frames of the confirm trial that were set apart because CPUs stood still, and
    /// how often they did. Where that is known, `steal` says nothing more.
    pub stalled: Option<Stalled>,
    /// What the path does to frames beside losing them.
    pub fault: Option<SearchNote>,
    /// The search ran out of time with these bounds, if it had both.
    pub apart: Option<Option<(Fps, Fps)>>,
    /// CPUs' worth of time that other programs used during the confirm trial.
    pub others: Option<f64>,
    /// The path is known to work in the sender's own context.
    pub in_sender: bool,
    /// Drift of the control cell over its limit.
    pub drift: Option<Drift>,
}

/// Trials just above a result that lost more than the goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Above {
    /// How many.
    pub trials: u32,
    /// Of these, trials most of whose lost frames were sent while a CPU of the path stood still or worked for another
    /// program, and trials that were given up for that.
    pub stopped: u32,
}

impl Above {
    /// Whether most of them say more of the machine than of the path.
    pub fn is_mostly_stopped(self) -> bool {
        2 * self.stopped > self.trials
    }
}

/// CPUs that stood still during a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stalled {
    /// Share of the frames that were set apart.
    pub share: f64,
    /// What happened.
    pub report: StallReport,
}

/// Drift of the control cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// `max / min - 1` over its visits.
    pub drift: f64,
    /// Where it becomes noise.
    pub limit: f64,
}

/// The verdict and the notes, most important first.
pub fn judge(evidence: &Evidence) -> (Verdict, Vec<Note>) {
    if let Some(why) = &evidence.failed {
        return (Verdict::Failed, vec![why.clone()]);
    }
    let one = |note: Option<SearchNote>| note.map(Note::from).into_iter().collect();
    let findings: [(Verdict, Vec<Note>); 8] = [
        (Verdict::Faulty, one(evidence.fault.clone())),
        (Verdict::Coupled, one(coupled(evidence))),
        (Verdict::Late, one(late(evidence))),
        (
            Verdict::Unstable,
            one(unconfirmed(evidence).filter(|_| !evidence.by_windows)),
        ),
        (Verdict::TesterLimited, one(tester_limited(evidence))),
        (Verdict::Bound, one(taken_away(evidence))),
        (
            Verdict::Wide,
            evidence.disturbed.clone().into_iter().collect(),
        ),
        (Verdict::Noisy, noisy(evidence)),
    ];
    let first = findings.iter().find(|(_, notes)| !notes.is_empty());
    let verdict = first.map_or(Verdict::Ok, |(verdict, _)| *verdict);
    let mut notes: Vec<Note> = findings.into_iter().flat_map(|(_, notes)| notes).collect();
    // Where windows judge, a confirm trial that lost too much is one more visit, and stalls are
    // what windows are for.
    if evidence.by_windows {
        notes.extend(unconfirmed(evidence).map(Note::from));
    } else {
        notes.extend(stalled(evidence).map(Note::from));
    }
    if at_line_rate(evidence) {
        notes.push(SearchNote::LineRate.into());
    }
    (verdict, notes)
}

/// Marks a result that was fine when it was measured, once the control cell has drifted.
pub fn mark_drift(cell: &mut CellResult, drift: Drift) {
    let evidence = Evidence {
        drift: Some(drift),
        ..Evidence::default()
    };
    let notes = noisy(&evidence);
    if cell.verdict == Verdict::Ok && !notes.is_empty() {
        cell.verdict = Verdict::Noisy;
        cell.notes.extend(notes);
    }
}

fn late(evidence: &Evidence) -> Option<SearchNote> {
    let why = evidence.late.clone()?;
    Some(SearchNote::NoValidConfirm {
        load_fps: None,
        why,
    })
}

fn coupled(evidence: &Evidence) -> Option<SearchNote> {
    if evidence.in_sender {
        return Some(SearchNote::NoPathThreads);
    }
    let (offered, limit) = (evidence.held_up?, evidence.tester_limit?);
    (evidence.at_max && offered.0 < HELD_UP * limit.0).then_some(SearchNote::SenderHeldUp {
        tester_limit_fps: limit,
        offered_fps: offered,
    })
}

/// The confirm trial contradicts the search.
fn unconfirmed(evidence: &Evidence) -> Option<SearchNote> {
    let confirm = evidence.confirm.filter(|confirm| !confirm.met)?;
    Some(SearchNote::Unconfirmed {
        load_fps: Fps(confirm.load_fps),
        duration_s: confirm.duration_s,
        loss_ratio: confirm.loss_ratio,
        loss_goal: LossRatio(evidence.loss_goal),
        held: evidence.held.map(|held| HeldBelow {
            load_fps: Fps(held.load_fps),
            loss_ratio: held.loss_ratio,
        }),
    })
}

fn at_line_rate(evidence: &Evidence) -> bool {
    evidence
        .throughput
        .zip(evidence.line_rate)
        .is_some_and(|(throughput, line)| throughput.0 >= 0.999 * line.0)
}

fn tester_limited(evidence: &Evidence) -> Option<SearchNote> {
    if at_line_rate(evidence) {
        return None;
    }
    let throughput = evidence.throughput?;
    let near = evidence
        .tester_limit
        .filter(|limit| throughput.0 >= NEAR_TESTER_LIMIT * limit.0);
    match near {
        Some(limit) => Some(SearchNote::NearTesterLimit {
            share: throughput.0 / limit.0,
            tester_limit_fps: limit,
        }),
        None if evidence.at_max => Some(SearchNote::TesterAtMost {
            throughput_fps: throughput,
        }),
        None => None,
    }
}

/// What stopped the search were CPUs that were taken away. Where stalls are set apart, they do not.
fn taken_away(evidence: &Evidence) -> Option<SearchNote> {
    let Above { trials, stopped } = evidence.above;
    (evidence.by_windows && evidence.above.is_mostly_stopped())
        .then_some(SearchNote::TakenAway { trials, stopped })
}

/// Share set apart in the confirm trial, if too small to be noise.
fn stalled(evidence: &Evidence) -> Option<SearchNote> {
    let stalled = evidence
        .stalled
        .filter(|stalled| stalled.report.frames > 0)?;
    (stalled.share <= STALLED_LIMIT).then(|| set_apart(&stalled))
}

fn set_apart(stalled: &Stalled) -> SearchNote {
    let report = &stalled.report;
    SearchNote::FramesSetApart {
        confirm: SetApart {
            stalls: report.stalls,
            programs: report.programs,
            longest_ms: report.longest_s * 1e3,
            share: stalled.share,
            lost: report.lost,
        },
    }
}

fn noisy(evidence: &Evidence) -> Vec<Note> {
    if evidence.by_windows {
        return Vec::new();
    }
    let steal = evidence
        .steal
        .filter(|steal| *steal > STEAL_LIMIT && evidence.stalled.is_none());
    let stalled = evidence.stalled.as_ref();
    let others = evidence.others.filter(|others| *others > OTHERS_LIMIT);
    let drift = evidence.drift.filter(|drift| drift.drift > drift.limit);
    let findings = [
        steal.map(|share| SearchNote::Stolen { share }),
        stalled.filter(|s| s.share > STALLED_LIMIT).map(set_apart),
        evidence
            .apart
            .map(|bounds_fps| SearchNote::BoundsApart { bounds_fps }),
        others.map(|cpus| SearchNote::Others { cpus }),
        drift.map(|Drift { drift, limit }| SearchNote::Drifted { drift, limit }),
    ];
    findings.into_iter().flatten().map(Note::from).collect()
}

/// Why frames were lost while CPUs idled: which CPU was full, and with what. `None` when there
/// was little idle time.
pub fn idle_note(cpu: &CpuUse) -> Option<SearchNote> {
    if cpu.cores.is_empty() {
        return None;
    }
    let idle = cpu.cores.iter().map(|core| core.idle).sum::<f64>() / cpu.cores.len() as f64;
    if idle < IDLE {
        return None;
    }
    // Where known, the busiest CPU is one that is not just polling for the tester.
    let named = cpu
        .busiest
        .as_ref()
        .and_then(|busiest| cpu.cores.iter().find(|core| core.cpu == busiest.cpu));
    let most = || {
        cpu.cores
            .iter()
            .max_by(|a, b| a.busy().total_cmp(&b.busy()))
    };
    let fullest = named.or_else(most)?;
    if fullest.busy() < FULL {
        return Some(SearchNote::LossWhileIdle { idle });
    }
    let who = match &cpu.busiest {
        Some(busiest) if busiest.cpu == fullest.cpu && !busiest.who.is_empty() => {
            busiest.who.clone()
        }
        _ => {
            let uses = [
                ("softirq", fullest.softirq),
                ("system", fullest.system),
                ("user", fullest.user),
                ("irq", fullest.irq),
                ("steal", fullest.steal),
            ];
            let most = uses.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
            most.0.to_owned()
        }
    };
    Some(SearchNote::OneCpuFull {
        idle,
        cpu: fullest.cpu,
        who,
    })
}

/// Share of stolen time of the CPU that lost most of it.
pub fn steal(cpu: &CpuUse) -> Option<f64> {
    cpu.cores
        .iter()
        .map(|core| core.steal)
        .max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests;
