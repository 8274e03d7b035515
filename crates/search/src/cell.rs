//! One repeat of one cell: warm-up, search, confirm trial, latency trials.
//!
//! The confirm trial stands beside the search's result and never replaces it. If one good confirm
//! trial would also end the search (the load is one step from being the lower bound), it runs at
//! once and serves both: it is evidence of the same kind, only longer. A failed confirm trial is
//! never fed to the search. A path that stalls now and then therefore keeps the number of the goal's
//! short trials, with the verdict `unstable`. Lower confirm trials follow, so that the reader gets a
//! load that held.

mod apart;
mod bucket;
mod bursts;
mod curve;
mod delivery;
mod evidence;
mod fate;
mod goals;
mod hardware;
mod invalid;
mod left;
mod level;
mod record;
mod recovery;

use std::time::Duration;

use nicety_model::note::SearchNote;
use nicety_model::recovery::Then;
use nicety_model::{
    ConfirmResult, CurvePoint, Fps, LossGoal, Note, Purpose, SearchBounds, StreamCounts,
    TrialRecord,
};

use self::bucket::Bucket;
use self::delivery::Delivery;
use crate::burst::BurstSearch;
use crate::goal::GoalError;
use crate::machine::{Left, Search};
use crate::preset::{DEFAULT_MIN_LOAD, Settings};
use crate::recovery::RecoveryTrials;
use crate::reset::ResetTrials;

pub use evidence::CellContext;

/// Shares of the throughput at which latency is measured.
pub const LATENCY_SHARES: [f64; 3] = [0.1, 0.5, 0.9];

/// Relative difference up to which two loads are the same, rounding on the way considered.
const SAME_LOAD: f64 = 1e-9;
/// Shares of the rate under overload between which an earlier visit's result is believed.
const NEAR_CAPACITY: (f64, f64) = (0.85, 1.05);
/// Load over forwarding rate from which on it is a flood, and the moderate one that follows.
const FLOOD: f64 = 2.0;
const MODERATE: f64 = 1.5;
/// Time that a path has to come back from a reset where it does not say.
const RESET_LIMIT: Duration = Duration::from_secs(60);
/// Seconds that a trial with a reset mostly takes.
const RESET_S: f64 = 3.0;
/// Share of a cell's wall time in which frames are sent, or the search thinks it does.
const TRAFFIC_SHARE: f64 = 0.9;

/// Tasks of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellPlan {
    /// Search and confirm trial.
    pub settings: Settings,
    /// Several goals, strictest first, which is that of the settings; empty for that alone.
    pub goals: Vec<LossGoal>,
    /// Lowest load.
    pub min: Fps,
    /// Highest load: line rate, or what the tester makes without the path.
    pub max: Fps,
    /// Length of the warm-up trial at the highest load; zero for none.
    pub warm_up: Duration,
    /// Shares of the throughput at which latency is measured.
    pub latency_shares: Vec<f64>,
    /// Whether forwarding rate and loss are of interest there, too.
    pub curve: bool,
    /// Searches for the longest burst without loss; 0 for none.
    pub bursts: u32,
    /// Length of the overload before each trial of system recovery; zero for none of them.
    pub recovery: Duration,
    /// Resets of the path; 0 for none.
    pub resets: u32,
    /// Time that the path has to come back from one.
    pub reset_limit: Duration,
    /// Length of each latency trial.
    pub latency_trial: Duration,
    /// Lower bound of an earlier repeat or visit.
    pub expect: Option<Fps>,
    /// The same for each of several goals but the first.
    pub expect_further: Vec<Option<Fps>>,
    /// Throughput that earlier visits of the same cell found.
    pub earlier: Vec<Fps>,
    /// Shortest round trip of a cache line between tester and path seen in earlier visits of any cell,
    /// in ns.
    pub nearest_ns: Option<f64>,
    /// Whether a confirm trial that failed is followed by one or two at lower loads.
    pub second_confirm: bool,
    /// Wall time to make do with, see [`Self::within`].
    pub budget: Option<Duration>,
}

impl CellPlan {
    /// Everything, with one second of warm-up and of each latency trial.
    pub fn new(settings: Settings, max: Fps) -> Self {
        Self {
            settings,
            goals: Vec::new(),
            min: DEFAULT_MIN_LOAD,
            max,
            warm_up: Duration::from_secs(1),
            latency_shares: LATENCY_SHARES.to_vec(),
            curve: false,
            bursts: 0,
            recovery: Duration::ZERO,
            resets: 0,
            reset_limit: RESET_LIMIT,
            latency_trial: Duration::from_secs(1),
            expect: None,
            expect_further: Vec::new(),
            earlier: Vec::new(),
            nearest_ns: None,
            second_confirm: true,
            budget: None,
        }
    }

    /// Makes do with `budget` of wall time where that leaves a search worth having: a search
    /// whose trials disagree is cut earlier, and a confirm trial that failed is followed by
    /// another only while there is time.
    #[must_use]
    pub fn within(mut self, budget: Duration) -> Self {
        let around = self.warm_up
            + self.settings.confirm
            + self.settings.fate
            + self.latency_trial * self.latency_shares.len() as u32
            + Duration::from_secs_f64(self.beyond().seconds);
        let left = budget.mul_f64(TRAFFIC_SHARE).saturating_sub(around);
        self.settings.timeout = left
            .max(self.settings.timeout / 2)
            .min(self.settings.timeout);
        self.budget = Some(budget);
        self
    }

    /// A visit of which only the throughput is of interest: of the control cell, or one that others
    /// follow.
    #[must_use]
    pub fn brief(mut self) -> Self {
        self.settings.confirm = Duration::ZERO;
        self.settings.fate = Duration::ZERO;
        self.latency_shares.clear();
        self.bursts = 0;
        self.recovery = Duration::ZERO;
        self.resets = 0;
        self
    }

    /// Trials and traffic seconds on a path without noise.
    pub fn typical(&self) -> Left {
        let (mut trials, mut seconds) = self.settings.typical();
        for (count, each) in [
            (1, self.warm_up),
            (1, self.settings.confirm),
            (1, self.settings.fate),
            (self.latency_shares.len() as u32, self.latency_trial),
        ] {
            if !each.is_zero() {
                trials += count;
                seconds += f64::from(count) * each.as_secs_f64();
            }
        }
        trials += BurstSearch::new(self.max, self.bursts).left();
        let beyond = self.beyond();
        Left {
            trials: trials + beyond.trials,
            seconds: seconds + beyond.seconds,
        }
    }

    /// Those of recovery and reset.
    fn beyond(&self) -> Left {
        let recovery = RecoveryTrials::new(self.recovery);
        Left {
            trials: recovery.left() + self.resets,
            seconds: f64::from(recovery.left()) * recovery.each_s()
                + f64::from(self.resets) * RESET_S,
        }
    }
}

/// A trial the cell wants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Why.
    pub purpose: Purpose,
    /// Load per direction.
    pub load: Fps,
    /// Length.
    pub duration: Duration,
    /// Length of the windows by which it is judged.
    pub window: Option<Duration>,
    /// What the load becomes after that, in the same trial.
    pub then: Option<Then>,
    /// Number of the trial within the cell's repeat, from 1.
    pub index: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    WarmUp(Fps),
    Search,
    /// Before the search has ended, at a load it would end with.
    EarlyConfirm(Fps),
    Confirm(Fps),
    /// After a confirm trial that failed; the number of such a trial, from 1.
    Further(Fps, u32),
    Latency(usize),
    /// Bursts, until their search ends.
    Burst,
    /// Overloads that end.
    Recovery,
    /// The number of a trial of fates, from 0.
    Fate(usize),
    /// Resets: last, because the path may not be the same afterwards.
    Reset,
    Ended,
}

/// The machine for one repeat of one cell.
#[derive(Debug)]
pub struct Cell {
    plan: CellPlan,
    search: Box<dyn Search>,
    stage: Stage,
    index: u32,
    /// Invalid tries of the trial that is asked for.
    tries: u32,
    /// Most the tester has offered, in fps.
    reached: f64,
    failed: Option<Note>,
    search_trials: u32,
    search_wall: f64,
    traffic_s: f64,
    wall_s: f64,
    /// Valid search trials that lost more than the goal, without their streams.
    lossy: Vec<TrialRecord>,
    held_up: Option<Fps>,
    confirm: Option<TrialRecord>,
    /// Confirm trials at lower loads, after one that failed.
    further: Vec<ConfirmResult>,
    /// Forwarding rate under overload.
    capacity: Option<Fps>,
    /// The same where its CPUs were the path's own meanwhile.
    sure_capacity: Option<Fps>,
    /// Whether the path is a token bucket.
    bucket: Bucket,
    /// Loads of the search that were given up because other programs had the CPUs.
    given_up: Vec<f64>,
    /// Stalls of CPUs in the trials so far, in seconds; absent where stalls were not measured.
    stalled_s: Option<f64>,
    /// How far apart the search's trials saw tester and path, in ns.
    cache_lines_ns: Vec<f64>,
    /// The nearest that tester and path were seen to each other, in ns.
    nearest_ns: f64,
    /// Trials of the search that did not count because they were far apart.
    apart: u32,
    /// Disturbances of trials that still count as bad.
    disturbed: Option<Note>,
    /// Confirm trials that failed before the search had ended.
    early: Vec<TrialRecord>,
    /// Loads at which an early confirm trial did not end the search.
    tried: Vec<f64>,
    late: Option<String>,
    latency: Vec<nicety_model::LatencySummary>,
    curve: Vec<CurvePoint>,
    hardware: Vec<nicety_model::HardwareLatency>,
    bursts: BurstSearch,
    recoveries: RecoveryTrials,
    resets: ResetTrials,
    /// Trials of fates.
    fates: Vec<TrialRecord>,
    /// What became of frames beside being lost.
    delivery: Delivery,
    notes: Vec<Note>,
}

impl Cell {
    /// The machine at its start.
    ///
    /// # Errors
    /// A loss goal out of range.
    pub fn new(plan: CellPlan) -> Result<Self, GoalError> {
        let losses: Vec<f64> = plan.goals.iter().map(|goal| goal.loss_ratio).collect();
        let mut search = plan.settings.search_goals(&losses, plan.min, plan.max)?;
        let stage = if plan.warm_up.is_zero() {
            Stage::Search
        } else {
            Stage::WarmUp(plan.max)
        };
        if stage == Stage::Search {
            expect(search.as_mut(), &plan, |_| true);
        }
        let nearest_ns = plan.nearest_ns.unwrap_or(f64::INFINITY);
        Ok(Self {
            bursts: BurstSearch::new(plan.max, plan.bursts),
            recoveries: RecoveryTrials::new(plan.recovery),
            resets: ResetTrials::new(plan.resets),
            plan,
            search,
            stage,
            index: 0,
            tries: 0,
            reached: 0.0,
            failed: None,
            search_trials: 0,
            search_wall: 0.0,
            traffic_s: 0.0,
            wall_s: 0.0,
            lossy: Vec::new(),
            held_up: None,
            confirm: None,
            further: Vec::new(),
            capacity: None,
            sure_capacity: None,
            bucket: Bucket::default(),
            given_up: Vec::new(),
            stalled_s: None,
            cache_lines_ns: Vec::new(),
            nearest_ns,
            apart: 0,
            disturbed: None,
            early: Vec::new(),
            tried: Vec::new(),
            late: None,
            latency: Vec::new(),
            curve: Vec::new(),
            hardware: Vec::new(),
            fates: Vec::new(),
            delivery: Delivery::default(),
            notes: Vec::new(),
        })
    }

    /// The next trial, the same until its record is observed; `None` when the cell is done.
    pub fn next(&self) -> Option<Step> {
        let settings = &self.plan.settings;
        let window = |load: Fps| {
            let judged = settings.judges_windows();
            judged.then(|| crate::edge::window::of(load.0, settings.loss_ratio))
        };
        let mut then = None;
        let (purpose, load, duration, window) = match self.stage() {
            Stage::WarmUp(load) => (Purpose::WarmUp, load, self.plan.warm_up, window(load)),
            Stage::Search => {
                let request = self.search.next_trial()?;
                (
                    Purpose::Search,
                    request.load,
                    request.duration,
                    request.window,
                )
            }
            Stage::EarlyConfirm(load) | Stage::Confirm(load) | Stage::Further(load, _) => {
                (Purpose::Confirm, load, settings.confirm, window(load))
            }
            Stage::Latency(number) => {
                let share = *self.plan.latency_shares.get(number)?;
                let (load, duration) = self.at_share(self.level()?, share);
                let purpose = Purpose::Latency { load_ratio: share };
                (purpose, load, duration, None)
            }
            Stage::Burst => {
                let (load, duration) = self.burst(self.bursts.next()?);
                (Purpose::Burst, load, duration, None)
            }
            Stage::Recovery => {
                let (load, duration, after) = self.overloading(self.level()?);
                then = Some(after);
                (Purpose::Recovery, load, duration, None)
            }
            Stage::Fate(number) => {
                let (of, load) = *self.fates_wanted().get(number)?;
                (Purpose::Fate { of }, load, settings.fate, None)
            }
            Stage::Reset => (Purpose::Reset, self.level()?, self.plan.reset_limit, None),
            Stage::Ended => return None,
        };
        Some(Step {
            purpose,
            load,
            duration,
            window,
            then,
            index: self.index + 1,
        })
    }

    /// Takes the recorded trials of an interrupted run in their order, up to one that is not
    /// what the machine asks for: with another budget it goes another way. Returns how many.
    pub fn replay(&mut self, records: &[TrialRecord]) -> usize {
        let matches = |step: Step, record: &TrialRecord| {
            step.purpose == record.purpose
                && (step.load.0 - record.load_fps).abs() <= SAME_LOAD * record.load_fps
        };
        records
            .iter()
            .take_while(|record| {
                let fits = self.next().is_some_and(|step| matches(step, record));
                if fits {
                    self.observe(record);
                }
                fits
            })
            .count()
    }

    /// Takes the record of the trial that [`Self::next`] asked for.
    pub fn observe(&mut self, record: &TrialRecord) {
        let Some(step) = self.next() else { return };
        self.index += 1;
        self.wall_s += record.wall_s;
        self.traffic_s += record.duration_s;
        self.note_stalls(record);
        if self.stage == Stage::Search {
            self.search_trials += 1;
            self.search_wall += record.wall_s;
            if self.is_apart(record) {
                return;
            }
            self.look_for_bucket(record);
        }
        let stage = self.stage();
        match stage {
            Stage::Burst => self.bursts.observe(bursts::shot(record)),
            Stage::Recovery => self.recovered(record),
            Stage::Reset => self.was_reset(record),
            _ => {}
        }
        if let Stage::Burst | Stage::Recovery | Stage::Reset = stage {
            self.stage = stage;
            return;
        }
        if !self.tells_fates(record) && !self.counts(record) {
            self.invalid(record, &step);
            return;
        }
        self.tries = 0;
        self.reached = self.reached.max(record.load_fps);
        self.delivery.observe(record, self.meets(record));
        match self.stage() {
            Stage::WarmUp(_) => self.warmed_up(Some(record)),
            Stage::Search => self.searched(record),
            Stage::EarlyConfirm(load) => {
                self.tried.push(load.0);
                if self.meets(record) {
                    self.search.observe_goals(&self.seen(record));
                    self.confirm = Some(light(record));
                    // The search ends with this trial; should it not, it goes on.
                    self.stage = Stage::Search;
                    self.after_search();
                } else {
                    self.early.push(light(record));
                    self.stage = Stage::Search;
                }
            }
            Stage::Confirm(_) => {
                self.confirm = Some(light(record));
                self.after_confirm();
            }
            Stage::Further(_, number) => {
                let further = self.confirmed(record);
                self.further.push(further);
                self.after_further(record, further.met, number);
            }
            Stage::Latency(number) => {
                let share = self.plan.latency_shares.get(number).copied();
                self.at_load(record, share);
                self.hardware(record, share);
                self.stage = Stage::Latency(number + 1);
            }
            // Observed above.
            Stage::Burst | Stage::Recovery | Stage::Reset => {}
            Stage::Fate(number) => {
                self.fates.push(light(record));
                self.stage = Stage::Fate(number + 1);
            }
            Stage::Ended => {}
        }
    }

    /// Bounds so far, for a progress line.
    pub fn bounds(&self) -> SearchBounds {
        self.search.bounds()
    }

    /// Ends the cell without a result.
    pub fn fail(&mut self, why: Note) {
        self.failed = Some(why);
        self.stage = Stage::Ended;
    }

    fn warmed_up(&mut self, record: Option<&TrialRecord>) {
        if let Some(load) = record.and_then(|record| self.less_than_a_flood(record)) {
            self.stage = Stage::WarmUp(load);
            return;
        }
        if let Some(rate) = self.capacity {
            self.search.expect_forwarding(rate);
        }
        // An earlier visit that found another machine than this one says nothing.
        let capacity = self.capacity.filter(|_| self.by_windows());
        let fits = |load: &Fps| {
            let near = |rate: Fps| (NEAR_CAPACITY.0..=NEAR_CAPACITY.1).contains(&(load.0 / rate.0));
            capacity.is_none_or(near)
        };
        expect(self.search.as_mut(), &self.plan, fits);
        self.stage = Stage::Search;
    }

    /// Takes the rate under overload; the next load where this one was a flood, which costs many paths a part of their
    /// rate: the capacity is the maximum forwarding rate (RFC 2285 §3.6.3).
    fn less_than_a_flood(&mut self, record: &TrialRecord) -> Option<Fps> {
        let (met, rate) = (self.meets(record), self.forwarded(record));
        let after_flood = record.load_fps < self.plan.max.0 * (1.0 - SAME_LOAD);
        // Only overload tells what the path forwards.
        if met && !after_flood {
            return None;
        }
        if self.capacity.is_none_or(|capacity| rate.0 > capacity.0) {
            self.capacity = Some(rate);
            let stalls = record.stalls.as_ref();
            let is_sure = stalls.is_some_and(|stalls| !stalls.are_too_many(record.frames.sent));
            self.sure_capacity = is_sure.then_some(rate);
        }
        let is_flood = !after_flood && record.load_fps > FLOOD * rate.0;
        let next = (MODERATE * rate.0).min(self.plan.max.0);
        (self.by_windows() && (is_flood || met) && next > self.plan.min.0).then_some(Fps(next))
    }

    fn searched(&mut self, record: &TrialRecord) {
        if !self.meets(record) {
            self.lossy.push(light(record));
        } else if self.was_held_up(record) {
            self.given_up.push(record.load_fps);
        }
        self.search.observe_goals(&self.seen(record));
        self.after_search();
    }

    /// A bucket shows in the time in which the path had its CPUs, whatever the trial is worth besides.
    fn look_for_bucket(&mut self, record: &TrialRecord) {
        let windows = record.windows.as_ref();
        let rate =
            windows.and_then(|windows| self.bucket.observe(windows, record::directions(record)));
        if let Some(rate) = rate {
            self.search.cap(rate);
        }
    }

    /// Search, confirm trial or a later stage.
    fn after_search(&mut self) {
        let confirm = self.plan.settings.confirm;
        if self.search.next_trial().is_some() {
            let untried = |load: &Fps| !self.tried.contains(&load.0);
            if let Some(load) = self
                .search
                .decidable_by(confirm)
                .filter(untried)
                .filter(|_| !confirm.is_zero())
            {
                self.stage = Stage::EarlyConfirm(load);
            }
            return;
        }
        let outcome = self.search.outcome();
        if let Some(why) = outcome.failed {
            self.fail(why);
            return;
        }
        let Some(lower) = outcome.lower else {
            self.fail(SearchNote::NoLoadInGoal.into());
            return;
        };
        if self.confirm.is_none() {
            let tried = self.early.iter().find(|trial| trial.load_fps == lower.0);
            self.confirm = tried.cloned();
        }
        if confirm.is_zero() {
            self.stage = Stage::Latency(0);
        } else if self
            .confirm
            .as_ref()
            .is_some_and(|trial| trial.load_fps == lower.0)
        {
            self.after_confirm();
        } else {
            // A load that the path carries now, and that all visits together stand for.
            let level = self.level().map_or(lower.0, |level| level.0.min(lower.0));
            self.stage = Stage::Confirm(Fps(level));
        }
    }

    /// Whether another confirm trial and the latency trials fit in the budget.
    fn has_time(&self) -> bool {
        let plan = &self.plan;
        let latency = plan.latency_trial * plan.latency_shares.len() as u32;
        let needed = (plan.settings.confirm + latency).as_secs_f64() / TRAFFIC_SHARE;
        plan.budget
            .is_none_or(|budget| self.wall_s + needed <= budget.as_secs_f64())
    }

    fn after_confirm(&mut self) {
        let missed = self.confirm.clone().filter(|record| !self.meets(record));
        match missed {
            Some(record) => self.after_further(&record, false, 0),
            None => self.stage = Stage::Latency(0),
        }
    }

    /// After confirm trial `number` (0 is the first one): another one, lower, where it failed.
    fn after_further(&mut self, record: &TrialRecord, met: bool, number: u32) {
        let again = !met && self.plan.second_confirm && self.has_time();
        let lower = self.lower_load(record, number).filter(|_| again);
        self.stage = match lower {
            Some(load) => Stage::Further(load, number + 1),
            None => Stage::Latency(0),
        };
    }
}

/// Tells a search of the loads that earlier visits found, those of them that `fit`.
fn expect(search: &mut dyn Search, plan: &CellPlan, fits: impl Fn(&Fps) -> bool) {
    let loads = std::iter::once(&plan.expect).chain(&plan.expect_further);
    for (goal, load) in loads.enumerate() {
        if let Some(load) = load.as_ref().filter(|load| fits(load)) {
            search.expect_of(goal, *load);
        }
    }
}

/// A record of whose streams only the frames are left: what the result needs of it.
fn light(record: &TrialRecord) -> TrialRecord {
    let frames = |stream: &StreamCounts| StreamCounts {
        stream: stream.stream,
        frames: stream.frames,
        ..StreamCounts::default()
    };
    TrialRecord {
        streams: record.streams.iter().map(frames).collect(),
        ..record.clone()
    }
}

#[cfg(test)]
pub(crate) mod tests;
