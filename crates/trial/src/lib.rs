//! Runs one trial: reads the counters on the way, lets the engine send, drain and count, reads
//! the counters again, and records the result.
//!
//! It chooses no loads and retries nothing; that is the search's job.

mod fate;
mod hardware;
mod hops;
mod inside;
mod loss_ledger;
mod passed;
mod record;
mod reset;
mod resting;
mod stalls;
mod step;
mod windows;

use std::time::Duration;

use nicety_fate::{Fates, Hops, Windows};
use nicety_host::cpu_load::{CpuSnapshot, Watch};
use nicety_host::roots::{FactError, ProcRoot};
use nicety_host::softnet::SoftnetSample;
use nicety_host::tasks::label_of;
use nicety_model::interval::LatencyHistogram;
use nicety_model::recovery::Then;
use nicety_model::{Fps, Purpose, TrialRecord, Validity};
use nicety_paths::counters::PathCounters;
use nicety_paths::path::Path;
use nicety_port::clock;
use nicety_port::distance;
use nicety_port::probes::Prober;
use nicety_port::stalls::StallWatch;
use nicety_port::{Arrivals, Engine, EngineReport, LostFrame, PortError, Rest, Stop, TrialOrder};

pub use inside::{Following, Noted};
pub use record::FRAMES_TOLERANCE;
pub use stalls::span as stall_span;

/// A switch remembers addresses for so long at least.
const LEARNED_FOR: Duration = Duration::from_secs(10);
/// Time for learning frames to pass.
const PASSING: Duration = Duration::from_millis(20);
/// Looks at the distance of tester and path before a trial, and the pause between two.
const LOOKS: u32 = 40;
const LOOK: Duration = Duration::from_millis(50);
/// Longest wait for late frames: RFC 2544 §23 asks for 2 s.
pub const DRAIN_MAX: Duration = Duration::from_secs(2);
/// Quiet time after which the wait ends early. A path that holds a frame longer than this
/// without passing any other is taken to have lost it.
pub const DRAIN_QUIET: Duration = Duration::from_millis(40);
/// The same after a burst: the next one finds an empty buffer, and a shaper that has its tokens back.
pub const BURST_PAUSE: Duration = Duration::from_millis(100);

/// A trial to run.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialSpec {
    /// Cell name.
    pub cell: String,
    /// Repeat of the cell, from 1.
    pub repeat: u32,
    /// Visit of the control cell.
    pub control: Option<u32>,
    /// Number within the repeat, from 1.
    pub index: u32,
    /// Why.
    pub purpose: Purpose,
    /// Load per direction.
    pub load: Fps,
    /// Length.
    pub duration: Duration,
    /// What the load becomes after that, in the same trial.
    pub then: Option<Then>,
    /// Length of the windows over which loss is counted, see [`nicety_model::Windows`]; rounded up
    /// to what the engine can tell apart. None are counted without it.
    pub window: Option<Duration>,
}

impl TrialSpec {
    /// Length in seconds, with the load that it becomes.
    fn total_s(&self) -> f64 {
        let then = self.then.map_or(Duration::ZERO, |then| then.duration);
        (self.duration + then).as_secs_f64()
    }

    /// Load on average over that time.
    fn mean(&self) -> Fps {
        let frames = |load: Fps, duration: Duration| load.0 * duration.as_secs_f64();
        match self.then {
            None => self.load,
            Some(then) => {
                let all = frames(self.load, self.duration) + frames(then.load, then.duration);
                Fps(all / self.total_s())
            }
        }
    }
}

/// Why there is no record of a trial.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// Stopped by the user: the trial counts for nothing.
    #[error("interrupted")]
    Interrupted,
    /// The host's counters cannot be read.
    #[error("cannot read the host's counters: {0}")]
    Facts(#[from] FactError),
}

/// Runs trials on one path with one engine.
pub struct Trials<'a> {
    engine: &'a mut dyn Engine,
    path: &'a dyn Path,
    proc: ProcRoot,
    rest: Option<Rest>,
    /// CPUs of the path; empty where not known.
    path_cpus: Vec<u32>,
    pair: Option<(u32, u32)>,
    /// Longest round trip of a cache line between the two with which a trial begins at once, in ns.
    near_ns: Option<f64>,
    memory: resting::Memory,
    stalls: Option<&'a StallWatch>,
    prober: Option<&'a Prober>,
    fates: Option<&'a mut Fates>,
    hops: Option<&'a mut Hops>,
    /// The tester's own receipt is known to `fates`.
    receipt: bool,
    /// A trial that is stopped early counts as far as it went.
    parts: bool,
    /// When learning frames were sent last.
    learned: Option<Duration>,
    /// The numbers that arrive are kept in every trial.
    numbers: bool,
    histogram: LatencyHistogram,
    counter: u8,
}

/// The counters around a trial.
struct Before {
    cpu: CpuSnapshot,
    softnet: Option<SoftnetSample>,
    counters: PathCounters,
}

impl<'a> Trials<'a> {
    /// Trials with `engine` on the path `path`. `first` is the number of the first trial,
    /// so that frames still under way from an earlier engine are not taken for ours.
    pub fn new(engine: &'a mut dyn Engine, path: &'a dyn Path, first: u8) -> Self {
        Self {
            engine,
            path,
            proc: ProcRoot::live(),
            rest: None,
            path_cpus: Vec::new(),
            pair: None,
            near_ns: None,
            memory: resting::Memory::default(),
            stalls: None,
            prober: None,
            fates: None,
            hops: None,
            receipt: false,
            parts: false,
            learned: None,
            numbers: false,
            histogram: LatencyHistogram::default(),
            counter: first,
        }
    }

    /// A CPU of the tester and one of the path whose distance is noted with every trial.
    #[must_use]
    pub fn between(mut self, pair: Option<(u32, u32)>) -> Self {
        self.pair = pair;
        self
    }

    /// Has a trial wait for up to 2 s until a cache line takes no longer than `near_ns` between the two
    /// CPUs: a hypervisor that moved them apart mostly moves them back, and a trial meanwhile tells of
    /// another machine.
    #[must_use]
    pub fn near_within(mut self, near_ns: Option<f64>) -> Self {
        self.near_ns = near_ns;
        self
    }

    /// CPUs on which the path runs, and the tester does not.
    #[must_use]
    pub fn path_on(mut self, cpus: &[u32]) -> Self {
        self.path_cpus = cpus.to_vec();
        self
    }

    /// Lets the senders rest, see [`Rest`]; but not in a trial whose load leaves the CPUs of the path,
    /// if these are known, idle for more than 10 % by what earlier trials on it have shown.
    #[must_use]
    pub fn resting(mut self, rest: Option<Rest>) -> Self {
        self.rest = rest;
        self
    }

    /// Sets the frames apart that say nothing about the path because a CPU stood still, or worked for
    /// others than tester and path: one of the path's, where these are known.
    #[must_use]
    pub fn watching(mut self, stalls: Option<&'a StallWatch>) -> Self {
        let threads = &self.path.facts().threads;
        let path: Vec<u32> = threads.iter().map(|thread| thread.thread.pid).collect();
        self.stalls = stalls.filter(|stalls| stalls.spare(&path).is_ok());
        self
    }

    /// Has the NICs of both ports stamp probes beside the load of latency trials.
    #[must_use]
    pub fn probing(mut self, prober: Option<&'a Prober>) -> Self {
        self.prober = prober;
        self
    }

    /// Has trials of fates note why the kernel throws away which frame.
    #[must_use]
    pub fn noting(mut self, fates: Option<&'a mut Fates>) -> Self {
        self.fates = fates;
        self
    }

    /// Has trials of fates note how long sampled frames are where.
    #[must_use]
    pub fn hopping(mut self, hops: Option<&'a mut Hops>) -> Self {
        self.hops = hops;
        self
    }

    /// Has a trial that is stopped early count as far as it went, for constant loads, and keeps the numbers
    /// that arrive.
    #[must_use]
    pub fn in_parts(mut self) -> Self {
        (self.parts, self.numbers) = (true, true);
        self
    }

    /// Latencies of the last trial.
    pub fn histogram(&self) -> &LatencyHistogram {
        &self.histogram
    }

    /// Which numbers of the last trial arrived, by stream, where they are kept and this engine can say.
    pub fn arrivals(&self) -> Option<Vec<Arrivals>> {
        self.engine.arrivals().filter(|_| self.numbers)
    }

    /// Keeps the frames around up to `most` lost ones of every trial from now on. False where the engine does
    /// not see whole frames.
    pub fn keep_neighbours(&mut self, most: usize) -> bool {
        self.engine.keep_neighbours(most)
    }

    /// The first lost frames of the last trial and their neighbours.
    pub fn neighbours(&mut self) -> Vec<LostFrame> {
        self.engine.neighbours()
    }

    /// Runs one trial. A path or port that breaks gives a record that says so; only an
    /// interruption or an unreadable host gives none.
    ///
    /// # Errors
    /// [`TrialError::Interrupted`] when `stop` was set before the end, and a part of a trial does not count.
    pub fn run(&mut self, spec: &TrialSpec, stop: &Stop) -> Result<TrialRecord, TrialError> {
        if spec.purpose == Purpose::Reset {
            return self.reset(spec, stop);
        }
        let started = nicety_host::clock::unix_time();
        let start = nicety_host::clock::monotonic();
        if let Err(error) = self.learn() {
            return Ok(record::broken(spec, started, start, error.to_string()));
        }
        let of = match spec.purpose {
            Purpose::Fate { of } => Some(of),
            _ => None,
        };
        let noting = of.is_some() && self.fates.is_some();
        let hopping = of.is_some() && self.hops.is_some();
        if noting {
            self.learn_receipt(spec.load, stop);
        }
        self.histogram = LatencyHistogram::default();
        self.counter = self.counter.wrapping_add(1);
        let order = TrialOrder {
            load: spec.load,
            duration: spec.duration,
            then: spec.then,
            drain_max: DRAIN_MAX,
            drain_quiet: match spec.purpose {
                Purpose::Burst => BURST_PAUSE,
                _ => DRAIN_QUIET,
            },
            trial: self.counter,
            rest: self.memory.rest(self.rest, spec.load.0),
            catch_up: overload(spec.purpose),
            numbers: noting || self.numbers || spec.then.is_some(),
        };
        if spec.then.is_some() && !self.engine.steps() {
            let why = "this engine cannot change its load while a trial runs".to_owned();
            return Ok(record::broken(spec, started, start, why));
        }
        let windows = hopping.then(|| {
            let windows = Windows::new(order.frames(), clock::monotonic_ns());
            match self.path.kernels() {
                Some(_) => windows.shared(),
                None => windows,
            }
        });
        let following = self.follow(&order, noting, windows);
        let near = self.wait_until_near(stop);
        let watch = self.watch();
        let before = match self.before(&watch) {
            Ok(before) => before,
            Err(Trouble::Path(why)) => return Ok(record::broken(spec, started, start, why)),
            Err(Trouble::Facts(error)) => return Err(error.into()),
        };
        if let Some(stalls) = self.stalls {
            stalls.forget();
        }
        let begun = match self.fates.as_deref_mut().filter(|_| noting) {
            Some(fates) => fates.begin(order.trial, order.frames()).map(|()| true),
            None => Ok(false),
        };
        let hops_begun = match (self.hops.as_deref_mut(), windows) {
            (Some(hops), Some(windows)) => hops.begin(order.trial, windows).map(|()| true),
            _ => Ok(false),
        };
        let wants_latency = matches!(spec.purpose, Purpose::Latency { .. });
        let prober = self.prober.filter(|_| wants_latency);
        let (report, hardware) =
            hardware::beside(prober, &order, || self.engine.trial(&order, stop));
        let noted = self.noted(begun);
        let passed_by = match (hops_begun, self.hops.as_deref_mut()) {
            (Ok(true), Some(hops)) => Some(hops.end()),
            (Ok(_), _) => None,
            (Err(why), _) => Some(Err(why)),
        };
        let report = match report {
            Ok(report) => report,
            Err(error) => {
                return Ok(record::broken(spec, started, start, error.to_string()));
            }
        };
        let report = match (report.interrupted, self.parts) {
            (true, false) => return Err(TrialError::Interrupted),
            (true, true) => as_far_as_it_went(report),
            (false, _) => report,
        };
        self.histogram.clone_from(&report.histogram);
        let cpu_after = CpuSnapshot::take(&self.proc, &watch)?;
        let softnet = SoftnetSample::read(&self.proc).ok();
        let counters = self.path.counters();
        let inside = following.map(Following::end).unwrap_or_default();
        let mut record = record::of(spec, &report);
        record.notes.extend(inside.notes.iter().cloned());
        record.step = step::of(&order, self.engine);
        if let Some(hardware) = hardware {
            hardware::add(&mut record, hardware);
        }
        let watched = self.stalls.map(StallWatch::seen);
        let stalls = watched.as_ref().and_then(Option::as_deref);
        if let Some(report) = stalls::report(stalls, &self.path_cpus, self.engine) {
            record::set_apart(&mut record, report);
        }
        if let Some(window) = spec.window {
            let apart = watched.as_ref().map_or_else(Vec::new, |noted| {
                stalls::apart(noted.as_deref(), &self.path_cpus)
            });
            let slots = self.engine.slots();
            record.windows = slots.and_then(|s| windows::of(&s, &apart, window, &record.frames));
            record::without_window(&mut record);
        }
        record.started_unix_s = started.as_secs_f64();
        record.cpu = Some(record::cpu(&watch, &before.cpu, &cpu_after, &report));
        let elapsed = resting::elapsed(&before.cpu, &cpu_after);
        self.memory.note(&record, &self.path_cpus, elapsed);
        match counters {
            Ok(after) => {
                if let Some(cpu) = &mut record.cpu {
                    cpu.guests = record::guests(&before.counters.guests, &after.guests);
                    cpu.polling = record::polling(&before.counters.polling, &after.polling);
                }
                let softnet = before
                    .softnet
                    .zip(softnet)
                    .map(|(old, new)| new.since(&old));
                let beside = loss_ledger::beside_path(softnet.as_ref(), report.tester_drops);
                record.passed = passed::between(&before.counters, &after);
                let after = loss_ledger::without_xdp(&before.counters, after, &report);
                record.loss_ledger =
                    loss_ledger::complete(record.frames.lost, &before.counters, &after, beside);
                if let Some(passed) = passed_by {
                    let ports = self.path.ports().each_ref();
                    let places = after.interfaces.iter();
                    let way = hops::Way {
                        ports: ports.map(|port| port.name.as_str()),
                        places: places.map(|place| place.interface.as_str()).collect(),
                        inside: &inside,
                    };
                    hops::add(&mut record, passed, &way);
                }
                if let Some(noted) = noted {
                    let seen = fate::Seen {
                        path: self.path,
                        after: &after,
                        guests: &inside.fates,
                    };
                    fate::add(&mut record, noted, self.engine, &report, &seen);
                }
            }
            Err(error) => {
                record.validity = Validity::Broken {
                    why: error.to_string(),
                }
            }
        }
        record.cache_line_ns = near
            .zip(self.distance())
            .map(|(before, after)| [before, after]);
        record.wall_s = (nicety_host::clock::monotonic() - start).as_secs_f64();
        Ok(record)
    }

    /// Has the guests on the path follow the frames of a trial, where it is looked for what became of them.
    fn follow(
        &self,
        order: &TrialOrder,
        noting: bool,
        windows: Option<Windows>,
    ) -> Option<Following<'a>> {
        let fates = self
            .fates
            .as_deref()
            .filter(|_| noting || windows.is_some())?;
        let follow = fates.follow(order.trial, order.frames()).drops(noting);
        Following::begin(self.path, &follow, windows)
    }

    /// Sends learning frames before the first trial, and again before one that begins ten seconds later: a switch
    /// forgets addresses, and floods. They have passed before the trial's counters are read.
    pub(crate) fn learn(&mut self) -> Result<(), PortError> {
        let now = nicety_host::clock::monotonic();
        if self
            .learned
            .is_some_and(|learned| now - learned < LEARNED_FOR)
        {
            return Ok(());
        }
        self.engine.learn()?;
        self.learned = Some(now);
        std::thread::sleep(PASSING);
        Ok(())
    }

    /// How far apart tester and path are, once they are near or that has taken too long.
    fn wait_until_near(&self, stop: &Stop) -> Option<f64> {
        let mut now = self.distance();
        for _ in 0..LOOKS {
            let far = now.zip(self.near_ns).is_some_and(|(ns, near)| ns > near);
            if !far || stop.is_set() {
                break;
            }
            std::thread::sleep(LOOK);
            now = self.distance();
        }
        now
    }

    /// How far apart tester and path are now.
    fn distance(&self) -> Option<f64> {
        let (tester, path) = self.pair?;
        distance::round_trip_ns(tester, path)
    }

    /// The path's threads, for CPU accounting.
    fn watch(&self) -> Watch {
        let mut watch = Watch::default();
        for thread in &self.path.facts().threads {
            watch.add(thread.thread.pid, label_of(&thread.thread.name));
        }
        watch
    }

    fn before(&self, watch: &Watch) -> Result<Before, Trouble> {
        let counters = self.path.counters();
        Ok(Before {
            counters: counters.map_err(|error| Trouble::Path(error.to_string()))?,
            softnet: SoftnetSample::read(&self.proc).ok(),
            cpu: CpuSnapshot::take(&self.proc, watch).map_err(Trouble::Facts)?,
        })
    }
}

/// A trial that was to send no more than it had sent when it was stopped.
fn as_far_as_it_went(mut report: EngineReport) -> EngineReport {
    for sender in &mut report.senders {
        sender.intended = sender.sent;
    }
    for stream in &mut report.streams {
        stream.frames.intended = stream.frames.sent;
    }
    report
}

/// Whether a trial is to send as many frames as it can, and not to judge its load.
fn overload(purpose: Purpose) -> bool {
    matches!(
        purpose,
        Purpose::WarmUp | Purpose::Burst | Purpose::Recovery
    )
}

/// What stands in the way before the first frame.
enum Trouble {
    Path(String),
    Facts(FactError),
}
