//! What to do to get a better number: at most three steps, those first that help most results.
//!
//! Steps follow from the verdicts, their notes, what else ran, and the machine. A run whose every
//! verdict is ok needs none.

use std::mem::discriminant;

use nicety_model::note::{List, MachineNote, PathNote, SearchNote, Severity};
use nicety_model::plan::Preset;
use nicety_model::remedy::{Advised, Step};
use nicety_model::run::StoppedBy;
use nicety_model::{Note, Program, Run, Verdict};

use crate::pick::{self, Group};
use crate::skips;

/// Steps told of.
pub const MOST: usize = 3;
/// Programs named in one step.
const NAMED: usize = 2;
/// CPUs' worth of time of a program that is worth a word.
const PROGRAM: f64 = 0.05;
/// Stalls of CPUs per second, in ms, that are worth a word.
const STALLS_MS: f64 = 2.0;
/// CPUs with which sender, receiver and path each have one.
const ENOUGH_CPUS: u32 = 3;
/// Visits of a result at most, and how many more narrow an interval.
const VISITS: u32 = 9;
const MORE_VISITS: u32 = 4;
/// Repeats with which whole trials show how far they spread.
const REPEATS: u32 = 3;

/// The steps, what helps most first; none where every verdict is ok.
pub fn of(run: &Run) -> Vec<Advised> {
    let steps = steps(run, &pick::groups(run)).into_iter();
    steps.map(Advised::from).collect()
}

/// As [`of`], of results that were picked already.
pub(crate) fn steps(run: &Run, groups: &[Group<'_>]) -> Vec<Step> {
    let mut found = Vec::new();
    let wanting = || groups.iter().filter(|g| g.verdict() != Verdict::Ok);
    for group in wanting() {
        let mut of_cell = Vec::new();
        for step in cell(run, group) {
            add(&mut of_cell, step);
        }
        for (step, _) in of_cell {
            add(&mut found, step);
        }
    }
    // Advice to the whole run may help a single result: it counts once.
    if let Some(group) = wanting().next() {
        let unknown = problems(run).filter(|note| noted(run, group, note) == Known::Nothing);
        for step in unknown.filter_map(advice) {
            add(&mut found, step);
        }
    }
    // Programs that have names are named.
    let is_named = |step: &Step| matches!(step, Step::StopPrograms { .. });
    if found.iter().any(|(step, _)| is_named(step)) {
        found.retain(|(step, _)| !matches!(step, Step::StopOthers { .. }));
    }
    found.sort_by_key(|(step, results)| (usize::MAX - results, rank(step)));
    found.truncate(MOST);
    found.into_iter().map(|(step, _)| step).collect()
}

/// Order of steps that help equally many results.
fn rank(step: &Step) -> u8 {
    match step {
        Step::StopPrograms { .. } | Step::StopOthers { .. } => 0,
        Step::RaiseQuota { .. } => 1,
        Step::VmCpu { .. } | Step::AllowCpu { .. } | Step::HostCpu { .. } => 2,
        Step::Resume { .. } | Step::LongerTimeBox { .. } => 3,
        Step::Engine { .. } => 4,
        Step::FixClock { .. } => 5,
        Step::Root => 6,
        Step::Preset { .. } => 7,
        Step::Repeats { .. } => 8,
        Step::Advice { .. } => 9,
        Step::SteadyCpus { .. } => 10,
    }
}

/// Adds a step, or makes one of its kind say the most of both.
fn add(found: &mut Vec<(Step, usize)>, step: Step) {
    let same = |(known, _): &&mut (Step, usize)| match (known, &step) {
        (Step::Advice { advice: a, .. }, Step::Advice { advice: b, .. }) => a == b,
        (Step::Preset { preset: a }, Step::Preset { preset: b }) => a == b,
        (known, step) => discriminant(known) == discriminant(step),
    };
    let Some((known, results)) = found.iter_mut().find(same) else {
        found.push((step, 1));
        return;
    };
    *results += 1;
    match (known, step) {
        (Step::StopPrograms { programs }, Step::StopPrograms { programs: more }) => {
            programs.extend(more);
            *programs = greatest(std::mem::take(programs));
        }
        (Step::StopOthers { cpus }, Step::StopOthers { cpus: more }) => *cpus = cpus.max(more),
        (Step::Repeats { repeats }, Step::Repeats { repeats: more }) => {
            *repeats = (*repeats).max(more);
        }
        (Step::SteadyCpus { ms_per_s, .. }, Step::SteadyCpus { ms_per_s: more, .. }) => {
            *ms_per_s = [*ms_per_s, more].into_iter().flatten().reduce(f64::max);
        }
        _ => {}
    }
}

/// The programs that used most, each once with the most that it used.
fn greatest(mut programs: Vec<Program>) -> Vec<Program> {
    programs.retain(|program| program.cpus.is_finite() && program.cpus >= PROGRAM);
    programs.sort_by(|a, b| b.cpus.total_cmp(&a.cpus));
    let mut named: Vec<Program> = Vec::new();
    for program in programs {
        let same = |other: &Program| other.pid == program.pid && other.name == program.name;
        if !named.iter().any(same) {
            named.push(program);
        }
    }
    named.truncate(NAMED);
    named
}

/// What helps one result.
fn cell(run: &Run, group: &Group<'_>) -> Vec<Step> {
    let verdict = group.verdict();
    let mut steps = Vec::new();
    // What else ran does not matter where the tester was the limit.
    let busy = !matches!(verdict, Verdict::TesterLimited | Verdict::Coupled);
    if busy {
        steps.extend(quieter(run, group));
    }
    let own = group.notes().into_iter();
    for note in own.filter(|note| note.list() == List::Problem) {
        steps.extend(match noted(run, group, note) {
            Known::Nothing => advice(note),
            known => known.step(),
        });
    }
    steps.extend(problems(run).filter_map(|note| noted(run, group, note).step()));
    if verdict != Verdict::Failed {
        steps.extend(more_cpus(run));
    }
    if verdict == Verdict::TesterLimited {
        steps.extend(engine(run, group));
    }
    let whole_trials = group.repeats.iter().all(|cell| cell.window_s.is_none());
    if whole_trials && matches!(verdict, Verdict::Noisy | Verdict::Unstable) {
        steps.push(Step::Preset {
            preset: Preset::Robust,
        });
        if group.repeats.len() == 1 {
            steps.push(Step::Repeats { repeats: REPEATS });
        }
    }
    steps
}

/// Who else had the CPUs.
fn quieter(run: &Run, group: &Group<'_>) -> Vec<Step> {
    let Some(seen) = group
        .summary
        .and_then(|summary| summary.disturbance.as_ref())
    else {
        return Vec::new();
    };
    let programs = greatest(seen.programs.clone());
    let programs = (!programs.is_empty()).then_some(Step::StopPrograms { programs });
    let stalls = seen
        .stalls_ms_per_s
        .filter(|ms| ms.is_finite() && *ms >= STALLS_MS);
    let stalls = stalls.map(|ms| steady(run, Some(ms)));
    programs.into_iter().chain(stalls).collect()
}

fn steady(run: &Run, ms_per_s: Option<f64>) -> Step {
    Step::SteadyCpus {
        ms_per_s,
        virtual_machine: run.run.host.hypervisor.is_some(),
    }
}

/// A CPU each for sender, receiver and path, where they have to share.
fn more_cpus(run: &Run) -> Option<Step> {
    let host = &run.run.host;
    let allowed = u32::try_from(host.cpus_allowed.len()).unwrap_or(u32::MAX);
    let shared = |note: &Note| {
        matches!(
            note,
            Note::Machine(
                MachineNote::NoCpuLeft
                    | MachineNote::CpusShared { .. }
                    | MachineNote::PathCpusShared { .. }
            )
        )
    };
    let few = allowed < ENOUGH_CPUS || run.run.notes.iter().any(shared);
    // Older or foreign runs do not know.
    if allowed == 0 || !few {
        return None;
    }
    let cpus = allowed.saturating_add(1);
    Some(match (host.cpus > allowed, host.hypervisor.is_some()) {
        (true, _) => Step::AllowCpu { cpus },
        (false, true) => Step::VmCpu { cpus },
        (false, false) => Step::HostCpu { cpus },
    })
}

/// The fastest engine, where another one sent.
fn engine(run: &Run, group: &Group<'_>) -> Option<Step> {
    if group.shown.engine.starts_with("xdp") {
        return None;
    }
    Some(if run.run.host.privileged {
        Step::Engine {
            engine: "xdp".to_owned(),
        }
    } else {
        // It needs root's rights.
        Step::Root
    })
}

/// Problems of the run as a whole.
fn problems(run: &Run) -> impl Iterator<Item = &Note> {
    let notes = run.run.notes.iter();
    notes.filter(|note| note.list() == List::Problem)
}

/// What a note asks for.
fn noted(run: &Run, group: &Group<'_>, note: &Note) -> Known {
    match note {
        Note::Search(note) => searched(run, group, note),
        Note::Machine(note) => on_machine(note),
        Note::Path(PathNote::ThreadsOrdinary { .. }) => Known::Step(Step::Root),
        _ => Known::Nothing,
    }
}

/// Whether a step stands for a note.
#[derive(PartialEq)]
enum Known {
    Step(Step),
    /// Verdict or machine say it already.
    Elsewhere,
    Nothing,
}

impl Known {
    fn step(self) -> Option<Step> {
        match self {
            Self::Step(step) => Some(step),
            Self::Elsewhere | Self::Nothing => None,
        }
    }
}

fn searched(run: &Run, group: &Group<'_>, note: &SearchNote) -> Known {
    let whole_trials = group.repeats.iter().all(|cell| cell.window_s.is_none());
    let left_out = !run.left_out.is_empty();
    Known::Step(match note {
        SearchNote::Programs { programs } => {
            let programs = greatest(programs.clone());
            if programs.is_empty() {
                return Known::Elsewhere;
            }
            Step::StopPrograms { programs }
        }
        SearchNote::Others { cpus } => Step::StopOthers { cpus: *cpus },
        SearchNote::Disturbed {
            others_cpus: Some(cpus),
            ..
        } => Step::StopOthers { cpus: *cpus },
        SearchNote::StoodStill { ms_per_s } => steady(run, Some(*ms_per_s)),
        SearchNote::Stolen { .. } | SearchNote::FarApart { .. } => steady(run, None),
        SearchNote::FramesSetApart { .. } => steady(run, None),
        SearchNote::SingleVisit | SearchNote::FewVisits { .. } | SearchNote::Interrupted
            if left_out =>
        {
            more_time(run)
        }
        SearchNote::SingleVisit if run.run.preset != Preset::Robust.word() => Step::Preset {
            preset: Preset::Robust,
        },
        SearchNote::SingleVisit => more_visits(run, 1),
        SearchNote::FewVisits { visits } => more_visits(run, *visits),
        SearchNote::VisitsDiffer { visits } => {
            more_visits(run, u32::try_from(*visits).unwrap_or(VISITS))
        }
        SearchNote::OutOfTime { .. } | SearchNote::BoundsApart { .. } if whole_trials => {
            Step::Preset {
                preset: Preset::Robust,
            }
        }
        SearchNote::Pauses { .. } => Step::Preset {
            preset: Preset::Std,
        },
        SearchNote::Drifted { .. } => match changing_governor(run) {
            Some(governor) => Step::FixClock { governor },
            None => return Known::Nothing,
        },
        SearchNote::NearTesterLimit { .. } | SearchNote::TesterAtMost { .. } => {
            return Known::Elsewhere;
        }
        _ => return Known::Nothing,
    })
}

fn on_machine(note: &MachineNote) -> Known {
    match note {
        MachineNote::Quota { cpus } => Known::Step(Step::RaiseQuota { cpus: *cpus }),
        MachineNote::UserNamespace => Known::Step(Step::Root),
        MachineNote::NoCpuLeft
        | MachineNote::CpusShared { .. }
        | MachineNote::PathCpusShared { .. }
        // It would be a remedy of the tester's limit only.
        | MachineNote::TesterLossy { .. } => Known::Elsewhere,
        _ => Known::Nothing,
    }
}

/// More of what narrows an interval; beyond [`VISITS`] only a machine that varies less does.
fn more_visits(run: &Run, visits: u32) -> Step {
    if visits < VISITS {
        Step::Repeats {
            repeats: visits.saturating_add(MORE_VISITS).min(VISITS),
        }
    } else {
        steady(run, None)
    }
}

fn more_time(run: &Run) -> Step {
    let missing = skips::left_out_count(run);
    match run.run.stopped_by {
        Some(StoppedBy::TimeBox) => Step::LongerTimeBox { missing },
        Some(StoppedBy::Interruption) | None => Step::Resume { missing },
    }
}

/// A governor that does not keep the clock rate.
fn changing_governor(run: &Run) -> Option<String> {
    let mut all = run.run.host.governor.values();
    all.find(|governor| *governor != "performance").cloned()
}

/// The note's own advice: of a result that has a number only what may make it wrong.
fn advice(note: &Note) -> Option<Step> {
    let advice = note.advice()?;
    (note.severity() != Severity::Info).then(|| Step::Advice {
        code: note.code().code.to_owned(),
        advice: advice.to_owned(),
    })
}
