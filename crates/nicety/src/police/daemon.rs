//! The loop: sample, decide, apply, read back.

mod reload;
mod says;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use nicety_host::journal::StateDir;
use nicety_host::net_error::NetError;
use nicety_model::journal::Outcome;
use nicety_police::controller::Enforcement;
use nicety_police::{Controller, Decision, Policy, PortName, Seen, Tuning};

use super::board::{Board, Shown};
use super::check::check;
use super::found::Originals;
use super::guests::{self, Channels, Softs};
use super::journal::Priority;
use super::kernel::patience;
use super::ports::{How, Links, Look, Moment, Place, Ports};
use super::record::Recorder;
use super::serve;
use super::service::{Asked, Told, signals};
use super::softly::Kept;
use super::state::{self, Alone, Reloads};
use super::totals::Adder;
use crate::cli::police::RunArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// How often interfaces, limits and filters are compared with what they should be when the kernel has told
/// of a change; counters, and the limits of ports that send, are read every period.
const RECONCILE: Duration = Duration::from_millis(900);
/// The same when it has not.
const RECONCILE_ANYWAY: Duration = Duration::from_secs(10);
/// How often what `status` reads is written, at most, and while the ports stay as they are.
const WRITE: Duration = Duration::from_millis(450);
const WRITE_ANYWAY: Duration = Duration::from_secs(2);

/// Runs until it is stopped.
pub fn run(policy: &Policy, file: &str, text: &str, args: &RunArgs) -> Result<Exit, Failure> {
    let asked = signals()?;
    let mut ports = Ports::open(Some(policy))?;
    check(policy, file, &mut ports, args.absent_ok)?;
    let alone = Alone::claim(ports.namespace())?;
    let (state, _state_is_ours) = state::take(args.state.as_deref())?;
    alone.announce(state.path());
    let mut found = Originals::open(&state, &ports)?;
    if found.adopted > 0 {
        output::say(&format!(
            "taking over {} ports from a daemon that was killed",
            found.adopted
        ));
        found.release_others(&mut ports, policy);
    }
    ports.wait(patience(policy.period));
    let board = Arc::default();
    // The sockets go with the daemon, however it ends but by a kill.
    let (channels, softs) = guests::start(policy, &board, Kept::open(state.path()), None)?;
    let mut daemon = Daemon {
        controller: Controller::new(policy.clone(), &[], Tuning::default()),
        names: policy.ports().map(|(_, port)| port.clone()).collect(),
        known: vec![Known::default(); policy.ports().count()],
        nics_gone: BTreeSet::new(),
        policy: Arc::new(policy.clone()),
        file,
        absent_ok: args.absent_ok,
        born_ticks: state::born_ticks(std::process::id()).unwrap_or(0),
        reloads: Reloads::default(),
        ports,
        found,
        state,
        periods: 0,
        writes: 0,
        errors: 0,
        trouble: None,
        last: None,
        looked: None,
        changed: false,
        written: None,
        board,
        channels: Some(channels),
        softs,
        told: Told::new(),
        record: None,
    };
    if let Some(address) = args.listen {
        let at = serve::start(address, &args.listen_as, Arc::clone(&daemon.board))?;
        output::say(&format!(
            "http://{at}/ shows what happens, http://{at}/metrics is for Prometheus"
        ));
    }
    // Last: a start that fails leaves no directory that the next one would not write to.
    let record = |dir: &PathBuf| Recorder::start(dir, policy, file, text);
    daemon.record = args.out.as_ref().map(record).transpose()?;
    output::say(&format!(
        "sharing {} among {} tenants with {} ports, every {:?}; Ctrl-C puts everything back",
        policy.capacity,
        policy.tenants.len(),
        daemon.names.len(),
        policy.period
    ));
    let ended = daemon.go_on(&asked, args.periods);
    daemon.told.stopping();
    // No guest asks for anything from here on.
    daemon.channels = None;
    // However the loop ended, the ports are put back first.
    let closed = match args.keep {
        true => daemon.found.keep(),
        false => daemon
            .found
            .restore(&mut daemon.ports, "the daemon was stopped")
            .map(|(exit, _)| exit),
    };
    let _ = std::fs::remove_file(super::state_file(daemon.state.path()));
    let recorded = daemon.record.take().map_or(Ok(()), Recorder::finish);
    let exit = ended.and(closed)?;
    recorded.map(|()| exit)
}

/// What is told once, not every period.
#[derive(Debug, Clone, Default)]
struct Known {
    gone: bool,
    /// Gone, or there and not to be limited now.
    away: bool,
    /// Why it cannot be limited although it is there.
    waits: Option<String>,
    /// For how long the kernel has not told of it, where that is long.
    silent: Option<String>,
    /// The number of its interface.
    index: Option<u32>,
    trouble: Option<String>,
    enforcement: Enforcement,
    /// Bytes that had passed, and for how many periods none did while some waited.
    passed: u64,
    stuck: u32,
    adder: Adder,
    /// What was seen in the last period of an interface whose limit was not written since, and its
    /// number.
    last: Option<(u32, Seen)>,
}

/// Periods without a byte although some wait, after which a limiter counts as stuck; more where
/// the limit is so low that the largest packet takes longer.
const STUCK: u32 = 4;
/// Twice the largest packet, in bits.
const LARGEST_BITS: f64 = 2.0 * 98_304.0 * 8.0;

struct Daemon<'a> {
    policy: Arc<Policy>,
    file: &'a str,
    absent_ok: bool,
    born_ticks: u64,
    reloads: Reloads,
    controller: Controller,
    names: Vec<PortName>,
    known: Vec<Known>,
    /// NICs of the policy's functions that are not there.
    nics_gone: BTreeSet<String>,
    ports: Ports,
    found: Originals,
    state: StateDir,
    periods: u64,
    writes: u64,
    errors: u64,
    /// What keeps periods from their end.
    trouble: Option<String>,
    last: Option<Look>,
    /// When interfaces, limits and filters were last looked at.
    looked: Option<Instant>,
    /// The kernel has told of a change since.
    changed: bool,
    /// What was last written of the state.
    written: Option<Arc<Shown>>,
    board: Arc<Board>,
    channels: Option<Channels>,
    softs: Arc<Softs>,
    told: Told,
    record: Option<Recorder>,
}

impl Daemon<'_> {
    fn go_on(&mut self, asked: &Receiver<Asked>, most: Option<u64>) -> Result<Exit, Failure> {
        let mut next = Instant::now();
        while most.is_none_or(|most| self.periods < most) {
            // Where the kernel could not be asked, limits stay, and the next period asks again.
            let failed = self.period().err();
            self.errors += u64::from(failed.is_some());
            self.unwell(failed.map(|error| error.to_string()));
            self.periods += 1;
            next += self.policy.period;
            // After a stall the missed periods are left out, not made up for.
            let now = Instant::now();
            if next < now {
                next = now;
            }
            match asked.recv_timeout(next - now) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Asked::Reload) => {
                    self.reload();
                    // What it says holds at once.
                    next = Instant::now();
                }
                Ok(Asked::Stop) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(Exit::Done)
    }

    fn period(&mut self) -> Result<(), NetError> {
        let begin = Instant::now();
        let mut survey = self.survey()?;
        self.tell_nics(survey.nics());
        self.tell_turns();
        let mut seen = Vec::with_capacity(self.names.len());
        for index in 0..self.names.len() {
            seen.push(self.look(index, &mut survey));
        }
        for (tenant, soft) in self.softs.now().into_iter().enumerate() {
            self.controller.soften(tenant, soft);
        }
        let mut decision = self.controller.step(&seen);
        for (port, known) in decision.ports.iter_mut().zip(&self.known) {
            port.waits.clone_from(&known.waits);
            if known.silent.is_some() {
                port.present = false;
                port.waits.clone_from(&known.silent);
            }
        }
        self.renew(&seen, &decision, &survey);
        let after = self.apply(&decision, &seen, survey);
        self.tell(&decision);
        self.publish(decision, begin);
        self.last = Some(after?);
        Ok(())
    }

    /// Everything within [`RECONCILE`] of a change, counters and limits in between: all limits when
    /// somebody else may have touched one.
    fn survey(&mut self) -> Result<Look, NetError> {
        let changes = self.ports.changes();
        self.changed |= changes.other || self.ports.has_functions();
        let since = |at: Option<Instant>| at.map_or(Duration::MAX, |at| at.elapsed());
        let wait = match self.changed {
            true => RECONCILE,
            false => RECONCILE_ANYWAY,
        };
        let last = self.last.take().filter(|_| since(self.looked) < wait);
        match last {
            Some(last) => {
                let known = &self.known;
                let had = |port: usize| Some(known.get(port)?.last?.0);
                self.ports.survey_again(last, changes.any(), had)
            }
            None => {
                self.looked = Some(Instant::now());
                self.changed = false;
                self.ports.survey()
            }
        }
    }

    /// One port; what is found there for the first time is noted on disk before it is changed.
    fn look(&mut self, index: usize, survey: &mut Look) -> Seen {
        self.known[index].silent = None;
        let last = self.known[index].last.take();
        if let Some(seen) = last.and_then(|last| survey.still(last)) {
            self.known[index].last = last;
            return seen;
        }
        let name = self.names[index].to_string();
        let mut moment = survey.take(index, &self.names[index]);
        if let Place::Silent(why) = moment.place {
            // Nothing is known to be otherwise.
            let known = &mut self.known[index];
            (known.silent, known.last) = (why, last);
            return match known.away {
                true => Seen::default(),
                false => moment.seen,
            };
        }
        let had = self.known[index].index;
        if had.is_some() && moment.index.is_some_and(|now| had != Some(now)) {
            // Another interface has its name: this one is gone, and that one comes with the next look.
            moment = Moment::without(Place::Gone);
            self.looked = None;
        }
        if let Some(setup) = &moment.setup {
            self.controller.describe(index, setup);
        }
        self.known[index].adder.take(moment.counts);
        let gone = moment.place == Place::Gone;
        if gone != self.known[index].gone {
            let what = if gone { "is gone" } else { "is back" };
            let event = if gone { "port-gone" } else { "port-back" };
            self.note(
                Priority::Notice,
                event,
                index,
                &format!("port {name} {what}"),
            );
            self.known[index].gone = gone;
            if gone {
                self.leave(index, &name);
            }
        }
        let was_away = self.known[index].away;
        let (waits, line) = match &moment.place {
            Place::Gone | Place::Silent(_) => (None, None),
            Place::Waits(why) | Place::Unfit(why) => {
                (Some(why.clone()), Some(format!("port {name} waits: {why}")))
            }
            Place::Foreign(kind) => {
                let why = format!("somebody else's {kind} qdisc is in the way");
                let line = format!("port {name}: {why}");
                (Some(why), Some(line))
            }
            Place::There(words) => {
                let index = moment.index;
                let noted = self.found.note(&name, words, index, &mut self.ports);
                match noted {
                    Ok(()) => (None, None),
                    // Nobody could put it back: it is not changed, and the others are none the worse.
                    Err(error) => {
                        self.errors += 1;
                        let why = format!("what was found there cannot be noted: {error}");
                        let line = format!("port {name} waits: {why}");
                        (Some(why), Some(line))
                    }
                }
            }
        };
        let away = waits.is_some() || moment.place == Place::Gone;
        self.known[index].waits = waits;
        self.known[index].away = away;
        match line {
            Some(line) => {
                self.trouble(index, Some(line));
                moment.seen = Seen::default();
            }
            None if was_away && !away => {
                // Whatever kept it from a limit is over.
                self.trouble(index, None);
                // A driver may tell a limit that its hardware has lost with its link.
                if matches!(self.names[index], PortName::Vf { .. }) {
                    moment.seen.limit = None;
                }
            }
            None => {}
        }
        if !away {
            self.known[index].index = moment.index;
            self.known[index].last = moment.index.map(|at| (at, moment.seen));
        }
        moment.seen
    }

    /// A port is gone: what is left of it is removed now or at the end.
    fn leave(&mut self, index: usize, name: &str) {
        self.known[index].index = None;
        if let Some((now, outcome)) = self.found.left(name, &mut self.ports) {
            let back = match &outcome {
                Outcome::Failed { why } => format!("cannot be put back as it was: {why}"),
                Outcome::Foreign { found } => format!("has {found} now, which is left"),
                _ => "has the limit that was found there".to_owned(),
            };
            let line = format!("port {name} is called {now} now and {back}");
            self.note(Priority::Notice, "port-renamed", index, &line);
        }
        // What cannot be removed limits nothing.
        let _ = self.ports.at_links(Links::sweep);
    }

    /// Renews limiters that let nothing through although something waits.
    fn renew(&mut self, seen: &[Seen], decision: &Decision, look: &Look) {
        for (index, seen) in seen.iter().enumerate() {
            let known = &mut self.known[index];
            let Some(sample) = seen.sample else {
                known.stuck = 0;
                continue;
            };
            let waits = sample.backlog.is_some_and(|bytes| bytes > 0);
            let still = waits && sample.bytes == known.passed;
            known.stuck = if still { known.stuck + 1 } else { 0 };
            known.passed = sample.bytes;
            let port = &decision.ports[index];
            let longest = LARGEST_BITS / port.limit.bps().max(1.0);
            let periods = (longest / self.policy.period.as_secs_f64()).ceil() as u32;
            if known.stuck < STUCK.max(periods) {
                continue;
            }
            known.stuck = 0;
            let burst = self.policy.tenants[port.tenant].burst;
            let line = format!("port {}: its limiter is stuck and is renewed", port.port);
            self.note(Priority::Warning, "limiter-stuck", index, &line);
            let limit = (port.limit, burst);
            if let Some(Err(error)) = self.ports.set(index, look, limit, How::Renew) {
                self.trouble(index, Some(error.to_string()));
            }
        }
    }

    /// Writes what has changed, decreases first, and reads it back. Where the kernel does not answer to a
    /// write, nobody gets more before it is known what came of it.
    fn apply(&mut self, decision: &Decision, seen: &[Seen], look: Look) -> Result<Look, NetError> {
        let mut written = Vec::with_capacity(decision.writes.len());
        let mut unanswered = false;
        for index in &decision.writes {
            let port = &decision.ports[*index];
            let has = seen[*index].limit.filter(|has| has.0 > 0);
            if unanswered && has.is_some_and(|has| has < port.limit) {
                continue;
            }
            self.known[*index].last = None;
            let burst = self.policy.tenants[port.tenant].burst;
            let set = (self.ports).set(*index, &look, (port.limit, burst), How::Change);
            let Some(set) = set else {
                unanswered = true;
                self.controller.failed(*index);
                continue;
            };
            written.push(*index);
            match set {
                Ok(()) => {
                    self.writes += 1;
                    self.controller.wrote(*index, port.limit);
                }
                Err(error) => {
                    self.errors += 1;
                    self.controller.failed(*index);
                    self.trouble(*index, Some(error.to_string()));
                }
            }
        }
        if written.is_empty() {
            return Ok(look);
        }
        // A first limit makes an interface that the last look does not know.
        let known = |index: &usize| seen[*index].limit.is_some_and(|limit| limit.0 > 0);
        let mut survey = match written.iter().all(known) {
            true => self.ports.reread(look, &written),
            false => self.ports.survey(),
        }?;
        for index in &written {
            let port = &decision.ports[*index];
            match survey.take(*index, &port.port).seen.limit {
                Some(limit) if limit == port.limit => self.trouble(*index, None),
                Some(limit) => {
                    self.errors += 1;
                    self.controller.failed(*index);
                    self.trouble(
                        *index,
                        Some(format!(
                            "port {}: {} was written, the kernel says {limit}",
                            port.port, port.limit
                        )),
                    );
                }
                None => {}
            }
        }
        Ok(survey)
    }
}
