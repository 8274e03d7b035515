//! Turns a cell's trials into its result.

use nicety_model::note::SearchNote;
use nicety_model::{
    BuiltPath, CellKey, CellResult, ConfirmResult, Disturbance, Estimate, Fps, Note, Passage,
    SCHEMA, TrialRecord, Verdict,
};

use super::Cell;
use crate::edge::window;
use crate::machine::Outcome;
use crate::stats::median;
use crate::verdict::{Above, Drift, Evidence, Stalled, idle_note, judge, steal};

/// Parts of the result that the trials do not show.
#[derive(Debug, Clone, PartialEq)]
pub struct CellContext {
    /// The cell.
    pub key: CellKey,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Visit of the control cell, from 1.
    pub control: Option<u32>,
    /// Engine and how it worked.
    pub engine: String,
    /// The tester's own limit for this frame size.
    pub tester_limit: Option<Fps>,
    /// Line rate of the link, where there is one.
    pub line_rate: Option<Fps>,
    /// The path is known to work in the sender's own context.
    pub in_sender: bool,
    /// Drift of the control cell so far.
    pub drift: Option<Drift>,
    /// Other users of the CPUs meanwhile.
    pub disturbance: Option<Disturbance>,
    /// The path as it was built; what passed in it is filled in here.
    pub built: Option<BuiltPath>,
}

/// Label of other programs' time in [`nicety_model::CpuUse::who`].
const OTHER: &str = "other";

/// Loads at most this many times the lower bound tell where frames are lost first; far above it
/// everything overflows.
pub(super) const JUST_ABOVE: f64 = 2.0;

/// By how much visits apart in time differ on a machine that is not quiet, either way: an interval
/// from inside one visit is widened by as much (`docs/methodology/search.md`).
const VISITS_DIFFER: f64 = 0.06;

/// Distance of neighbouring loads of a search at most, in widths of its goal.
const NEIGHBOURS: f64 = 1.25;

/// Share of the forwarding rate under overload from which on a throughput is the path's own: a path that loses nothing
/// by overload forwards as much below it.
const NEAR_CAPACITY: f64 = 0.8;

/// Frames set apart in a trial.
fn stalled(record: &TrialRecord) -> Option<Stalled> {
    let report = record.stalls?;
    Some(Stalled {
        share: report.share_of(record.frames.sent),
        report,
    })
}

impl Cell {
    /// The result. Before the cell has ended it is `failed` with what there is.
    pub fn finish(&self, context: CellContext) -> CellResult {
        let outcome = self.search.outcome();
        let failed = self.why_failed();
        let confirm = self.confirm.as_ref().map(|record| self.confirmed(record));
        let throughput = outcome.throughput.filter(|_| failed.is_none());
        let overload = self.overload(outcome.lower);
        let cpu = self.confirm.as_ref().and_then(|record| record.cpu.clone());
        let evidence = Evidence {
            failed,
            late: self.late.clone().filter(|_| self.confirm.is_none()),
            throughput,
            loss_goal: self.plan.settings.loss_ratio,
            // No more than a bucket's rate is tried.
            at_max: outcome.at_max && self.bucket.rate.is_none(),
            held_up: self.held_up,
            tester_limit: context.tester_limit,
            line_rate: context.line_rate,
            confirm,
            held: self.held(),
            above: self.above(&outcome, self.plan.settings.loss_ratio),
            disturbed: self.disturbed.clone(),
            by_windows: self.by_windows(),
            steal: cpu.as_ref().and_then(steal),
            stalled: self.confirm.as_ref().and_then(stalled),
            apart: self.left_apart(&outcome),
            fault: throughput.and_then(|fps| self.delivery.fault(fps, context.key.flows)),
            others: cpu.as_ref().and_then(|cpu| cpu.who.get(OTHER).copied()),
            in_sender: context.in_sender,
            drift: context.drift,
        };
        let (verdict, mut notes) = judge(&evidence);
        if verdict != Verdict::Failed {
            notes.extend(
                overload
                    .and_then(|record| record.cpu.as_ref())
                    .and_then(idle_note)
                    .map(Note::from),
            );
        }
        let bucket = self.bucket.note();
        notes.extend(bucket.map(Note::from));
        notes.extend(self.notes.iter().cloned());
        // Its repeat tells more of where frames were lost.
        let told = self.overload_fate().or(overload);
        let key = &context.key;
        CellResult {
            schema: SCHEMA,
            cell: context.key.name(),
            repeat: context.repeat,
            control: context.control,
            engine: context.engine,
            loss_goal: self.plan.settings.loss_ratio,
            throughput_fps: throughput.map(|fps| fps.0),
            bounds: outcome.bounds(),
            goals: self.goal_results(&evidence),
            estimate: throughput.map(|fps| self.estimate(fps, &outcome)),
            capacity_fps: self.bucket.rate.or(self.capacity).map(|fps| fps.0),
            window_s: self.window_s(throughput, self.plan.settings.loss_ratio),
            throughput_l1_mbps: throughput.map(|fps| key.l1_mbps(fps)),
            throughput_l2_mbps: throughput.map(|fps| key.l2_mbps(fps)),
            tester_limit_fps: context.tester_limit.map(|fps| fps.0),
            confirm,
            held: self.held(),
            latency_us: self.typical_latency(),
            latency_by_load_us: self.latency.clone(),
            curve: self.curve.clone(),
            back_to_back: self.back_to_back(),
            recovery: self.recovery(),
            reset: self.reset_time(),
            hardware_latency: self.hardware.clone(),
            loss_ledger: self
                .confirm
                .as_ref()
                .map_or_else(Vec::new, |r| r.loss_ledger.clone()),
            overload_ledger: told.map_or_else(Vec::new, |r| r.loss_ledger.clone()),
            fates: self.cell_fates(),
            built: context.built.map(|built| BuiltPath {
                confirm: self.confirm.as_ref().and_then(Passage::of),
                overload: told.and_then(Passage::of),
                ..built
            }),
            frames: self.confirm.as_ref().map(|record| record.frames),
            guests: self
                .confirm
                .as_ref()
                .map_or_else(Vec::new, |r| r.guests.clone()),
            sizes: self
                .confirm
                .as_ref()
                .map_or_else(Vec::new, |r| r.sizes.clone()),
            cpu,
            disturbance: context.disturbance,
            cache_line_ns: median(&self.cache_lines_ns),
            trials: self.search_trials,
            search_s: self.search_wall,
            verdict,
            notes,
            key: context.key,
        }
    }

    /// Why there is no number. Loss at every load says less than that no frame arrived at all, or that CPUs were taken
    /// away.
    fn why_failed(&self) -> Option<Note> {
        let Some(why) = &self.failed else {
            return self.next().map(|_| SearchNote::Interrupted.into());
        };
        let lossy = matches!(
            why,
            Note::Search(
                SearchNote::EveryLoadLost { .. }
                    | SearchNote::NoLoadInGoal
                    | SearchNote::LowestLoadLost { .. }
            )
        );
        let dead = self.delivery.dead();
        let taken = || {
            let tried = self.above(&Outcome::default(), self.plan.settings.loss_ratio);
            (self.by_windows() && tried.is_mostly_stopped()).then_some(SearchNote::CpusTaken)
        };
        let cause = dead.or_else(taken).filter(|_| lossy);
        Some(cause.map_or_else(|| why.clone(), Note::from))
    }

    /// What the throughput is known to from this visit alone. Inside one visit the machine may be
    /// slower or faster than on average: windows' bounds are widened by what visits were seen to
    /// differ by.
    pub(super) fn estimate(&self, fps: Fps, outcome: &Outcome) -> Estimate {
        let upper = outcome.upper.map_or(fps.0, |upper| upper.0);
        let apart = if self.by_windows() {
            VISITS_DIFFER
        } else {
            0.0
        };
        Estimate {
            fps: fps.0,
            low_fps: outcome.lower.unwrap_or(fps).0.min(fps.0) * (1.0 - apart),
            high_fps: upper.max(fps.0) * (1.0 + apart),
            confidence: None,
            visits: 1,
        }
    }

    /// The lower load that held for as long as the confirm trial, which lost too much.
    fn held(&self) -> Option<ConfirmResult> {
        self.further.iter().copied().find(|further| further.met)
    }

    /// Time per second for which CPUs stood still, in ms; absent where stalls were not measured.
    pub fn stalls_ms_per_s(&self) -> Option<f64> {
        let stalled = self.stalled_s.filter(|_| self.traffic_s > 0.0)?;
        Some(stalled * 1e3 / self.traffic_s)
    }

    /// The bounds of a search that ran out of time, where they say less than it was to find out. Those of
    /// neighbouring loads do not: only how often one of the two was tried is less than wanted.
    pub(super) fn left_apart(&self, outcome: &Outcome) -> Option<Option<(Fps, Fps)>> {
        let most = 1.0 + NEIGHBOURS * self.plan.settings.width;
        let bounds = outcome.lower.zip(outcome.upper);
        let apart = bounds.is_none_or(|(lower, upper)| upper.0 > lower.0 * most);
        (outcome.timed_out && apart).then_some(bounds)
    }

    /// Length of the windows that a throughput was judged by against a loss goal, in seconds.
    pub(super) fn window_s(&self, throughput: Option<Fps>, loss_goal: f64) -> Option<f64> {
        let judged = throughput.filter(|_| self.by_windows());
        judged.map(|fps| window::of(fps.0, loss_goal).as_secs_f64())
    }

    /// The lowest lossy valid search trial above the lower bound and not far from it: what gave out
    /// first. Without a lower bound, the lowest of all.
    pub(super) fn overload(&self, lower: Option<Fps>) -> Option<&TrialRecord> {
        let lossy = self.lossy_above(lower);
        lossy.min_by(|a, b| a.load_fps.total_cmp(&b.load_fps))
    }

    fn lossy_above(&self, lower: Option<Fps>) -> impl Iterator<Item = &TrialRecord> {
        self.lossy
            .iter()
            .filter(move |record| is_above(record.load_fps, lower))
    }

    /// What the trials just above a result that missed a goal say of whose loss it was. They say nothing where the path
    /// forwards hardly more under overload.
    pub(super) fn above(&self, outcome: &Outcome, loss_goal: f64) -> Above {
        let near = self.sure_capacity.zip(outcome.throughput);
        if near.is_some_and(|(capacity, fps)| fps.0 >= NEAR_CAPACITY * capacity.0) {
            return Above::default();
        }
        let missed = self.lossy_above(outcome.lower);
        let missed = missed.filter(|record| record.frames.loss_ratio().0 > loss_goal);
        let stopped = missed.map(|record| {
            record
                .stalls
                .is_some_and(|stalls| 2 * stalls.lost > record.frames.lost)
        });
        let given_up = |far: bool| {
            let lower = outcome.lower.unwrap_or_default();
            let above =
                move |load: &&f64| is_above(**load, outcome.lower) || far && **load > lower.0;
            self.given_up.iter().filter(above).map(|_| true)
        };
        let mut all: Vec<bool> = stopped.chain(given_up(false)).collect();
        if all.is_empty() {
            // Nothing says that more is too much, however far above the result.
            all = given_up(true).collect();
        }
        Above {
            trials: all.len() as u32,
            stopped: all.iter().filter(|stopped| **stopped).count() as u32,
        }
    }
}

/// Whether a load is above a lower bound and not far from it; without one, all are.
fn is_above(load: f64, lower: Option<Fps>) -> bool {
    lower.is_none_or(|lower| load > lower.0 && load <= JUST_ABOVE * lower.0)
}
