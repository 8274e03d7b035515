//! The loop: sample, decide, apply, read back.

mod apply;
mod look;
mod names;
mod packets;
mod publish;
mod received;
mod reload;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use nicety_host::journal::{Lock, StateDir};
use nicety_model::run::Naming;
use nicety_netdev::net_admin;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::shaper::Changes;
use nicety_police::adopt::Way;
use nicety_police::event::{Event, PortEvent};
use nicety_police::liveness::answer_timeout;
use nicety_police::packets::Packets;
use nicety_police::port_watch::PortWatch;
use nicety_police::report::Reloads;
use nicety_police::schedule::{Reconcile, next_period};
use nicety_police::{Controller, Policy, PortName, Tuning};

use crate::admission::check;
use crate::bills::Bills;
use crate::board::{Board, Shown};
use crate::cluster::{self, Cluster};
use crate::drops::Counter;
use crate::guests::{self, Channels, Softs};
use crate::log::Log;
use crate::names::{Bound, Start};
use crate::originals::Originals;
use crate::ports::{Links, Look, Ports};
use crate::record::Recorder;
use crate::service::{Notifier, ServiceRequest, signals};
use crate::soft_limits::SoftLimits;
use crate::state::{self, Alone};
use crate::{Error, PolicyFile};

use received::Received;

pub use crate::originals::Restored;

/// How often a daemon of a cluster listens to etcd between two periods.
const MEANWHILE: Duration = Duration::from_millis(50);
/// How long a start waits for those who know names: one command of theirs, and a little.
pub(crate) const FIRST: Duration = Duration::from_secs(6);

/// How the daemon runs.
#[derive(Debug, Clone)]
pub struct Options {
    /// Directory of the journal and state.
    pub directory: PathBuf,
    /// What the host is called.
    pub naming: Naming,
    /// Start although a port of the policy is not there yet.
    pub absent_ok: bool,
    /// Refuse names that are no port now.
    pub strict: bool,
    /// Leave the last limits when stopped.
    pub keep: bool,
    /// Stop after so many periods.
    pub periods: Option<u64>,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The ports have what was found there, or keep their limits as was asked for.
    Clean,
    /// A port has not what was found there.
    NotRestored,
}

/// A daemon that has everything it needs, and has changed nothing yet.
pub struct Daemon {
    policy: Arc<Policy>,
    file: String,
    options: Options,
    born_ticks: u64,
    reloads: Reloads,
    controller: Controller,
    names: Vec<PortName>,
    /// What those of them are that are names.
    bound: Bound,
    watches: Vec<PortWatch>,
    /// What tenants receive, where the policy limits that.
    received: Option<Received>,
    /// Packets that tenants send, where the policy limits these.
    packets: Option<Packets>,
    /// NICs of the policy's functions that are not there.
    nics_gone: BTreeSet<String>,
    ports: Ports,
    originals: Originals,
    state: StateDir,
    periods: u64,
    writes: u64,
    errors: u64,
    /// What keeps periods from their end.
    trouble: Option<String>,
    last: Option<Look>,
    reconcile: Reconcile,
    /// Changes of others that were noticed between two periods.
    noticed: Changes,
    /// Where its clock begins.
    begin: Instant,
    /// What was last written of the state.
    written: Option<Arc<Shown>>,
    board: Arc<Board>,
    channels: Option<Channels>,
    softs: Arc<Softs>,
    notifier: Notifier,
    record: Option<Recorder>,
    /// Keeps what tenants use, where the policy asks for it.
    bills: Option<Bills>,
    /// Counts dropped packets, where the policy wants that.
    drops: Option<Counter>,
    /// Its part in a cluster, where the policy names one.
    cluster: Option<Cluster>,
    requests: Receiver<ServiceRequest>,
    log: Log,
    /// Given up last.
    _alone: (Alone, Lock),
}

impl Daemon {
    /// Refuses what cannot be shared, and takes what keeps a second daemon out, the journal of one that was
    /// killed, and the guests' sockets, which go with the daemon however it ends but by a kill.
    ///
    /// # Errors
    /// What is wrong with the policy, or what the host lacks.
    pub fn start(policy: &PolicyFile, options: Options, log: Log) -> Result<Self, Error> {
        let requests = signals()?;
        let PolicyFile { policy, file, .. } = policy;
        net_admin::require(&NetNs::current()?, "police run")?;
        let mut ports = Ports::open(Some(policy), &log)?;
        let start = Start {
            file,
            strict: options.strict,
            wait: FIRST,
        };
        let bound = Bound::start(policy, &mut ports, start, None)?;
        check(policy, file, &mut ports, options.absent_ok, &log)?;
        let alone = Alone::claim(ports.namespace(), &log)?;
        let (state, lock) = state::take(&options.directory)?;
        alone.announce(state.path());
        let mut originals = Originals::open(&state, &ports, &log)?;
        if originals.adopted > 0 {
            log.report(&Event::Adopted(originals.adopted));
            let names = Arc::clone(ports.names());
            originals.release_others(&mut ports, &names, policy);
            ports.resume(originals.replaced());
        }
        let board = Arc::default();
        let cluster = enter(
            policy,
            &options,
            (ports.namespace(), state.path()),
            None,
            &log,
        )?;
        let place = (state.path(), options.naming.called(), ports.namespace());
        let bills = Bills::start(policy, place, &log)?;
        ports.count_interfaces(bills.is_some());
        let kept = SoftLimits::open(state.path(), &log);
        let (channels, softs) = guests::start(policy, &board, kept, None, &log)?;
        Ok(Self {
            controller: Controller::new(policy.clone(), &[], Tuning::default()),
            names: policy.ports().map(|(_, port)| port.clone()).collect(),
            watches: vec![PortWatch::default(); policy.ports().count()],
            received: Received::of(policy),
            packets: Packets::of(policy),
            bound,
            nics_gone: BTreeSet::new(),
            policy: Arc::new(policy.clone()),
            file: file.clone(),
            options,
            born_ticks: state::born_ticks(std::process::id()).unwrap_or(0),
            reloads: Reloads::default(),
            ports,
            originals,
            state,
            periods: 0,
            writes: 0,
            errors: 0,
            trouble: None,
            last: None,
            reconcile: Reconcile::default(),
            noticed: Changes::default(),
            begin: Instant::now(),
            written: None,
            board,
            channels: Some(channels),
            softs,
            notifier: Notifier::new(),
            record: None,
            bills,
            drops: policy.drops.then(Counter::start),
            cluster,
            requests,
            log,
            _alone: (alone, lock),
        })
    }

    /// What it shows to those who ask.
    pub fn board(&self) -> &Arc<Board> {
        &self.board
    }

    /// Records every period in a new directory. Last before it runs: a start that fails leaves no directory
    /// that the next one would not write to.
    ///
    /// # Errors
    /// When the directory is there already or cannot be written.
    pub fn record(&mut self, dir: &Path, policy: &PolicyFile) -> Result<(), Error> {
        self.record = Some(Recorder::start(
            dir,
            policy,
            self.options.naming.clone(),
            &self.log,
        )?);
        Ok(())
    }

    /// Runs until it is stopped. However the loop ends, the ports are put back first.
    ///
    /// # Errors
    /// What could not be put back or recorded.
    pub fn run(mut self) -> Result<Ended, Error> {
        self.log.report(&Event::Sharing {
            capacity: self.policy.capacity,
            tenants: self.policy.tenants.len(),
            ports: self.names.len(),
            period: self.policy.period,
        });
        self.go_on();
        self.notifier.stopping();
        // No guest asks for anything from here on.
        self.channels = None;
        self.close_bills();
        let closed = if self.options.keep {
            // What a cluster granted ends with the lease: its guard lowers it.
            self.originals.keep(&mut self.ports)
        } else {
            (self.originals)
                .restore(&mut self.ports, "the daemon was stopped")
                .map(|restored| restored.bad)
        };
        let closed = closed.map(|bad| match bad {
            0 => Ended::Clean,
            _ => Ended::NotRestored,
        });
        if let Some(cluster) = self.cluster.take().filter(|_| !self.options.keep) {
            cluster.stop();
        }
        let _ = std::fs::remove_file(state::file(self.state.path()));
        let recorded = self.record.take().map_or(Ok(()), Recorder::finish);
        let ended = closed?;
        recorded.map(|()| ended)
    }

    fn go_on(&mut self) {
        let mut next = self.now();
        while self.options.periods.is_none_or(|most| self.periods < most) {
            // Where the kernel could not be asked, limits stay, and the next period asks again.
            let failed = self.period(true).err();
            self.errors += u64::from(failed.is_some());
            self.report_trouble(failed.map(|error| error.to_string()));
            self.periods += 1;
            // The first limits were waited for, however busy the machine: a period later they would hold a period later.
            self.ports.wait(answer_timeout(self.policy.period));
            let now = self.now();
            next = if self.ports.hurries() {
                now + self.policy.period / 2
            } else {
                next_period(next, self.policy.period, now)
            };
            match self.wait(next) {
                Err(RecvTimeoutError::Timeout) | Ok(ServiceRequest::LookAgain) => {
                    next = next.min(self.now());
                }
                Ok(ServiceRequest::Reload) => {
                    self.reload();
                    // What it says holds at once.
                    next = self.now();
                }
                Ok(ServiceRequest::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Waits for a request or the next period. Grants of the cluster that come meanwhile are set at once. Where limits of
    /// others are adopted, what they have changed is looked for after half of the time: a port whose limit is made
    /// anew is unlimited for one period at most.
    fn wait(&mut self, next: Duration) -> Result<ServiceRequest, RecvTimeoutError> {
        let begin = self.now();
        let half = begin + next.saturating_sub(begin) / 2;
        let mut half = self.ports.watches().then_some(half);
        loop {
            let left = half.unwrap_or(next).saturating_sub(self.now());
            let part = self.cluster.as_ref().map_or(left, |_| left.min(MEANWHILE));
            match self.requests.recv_timeout(part) {
                Err(RecvTimeoutError::Timeout) if left > part => {}
                Err(RecvTimeoutError::Timeout) if half.is_some() => {
                    half = None;
                    self.noticed = self.noticed.and(self.ports.changes());
                    if self.noticed.watched {
                        return Err(RecvTimeoutError::Timeout);
                    }
                }
                // The next period has the answer.
                Ok(ServiceRequest::LookAgain) => self.bound.look_again(),
                other => return other,
            }
            if self.cluster.as_mut().is_some_and(Cluster::meanwhile) {
                let failed = self.period(false).err();
                self.report_trouble(failed.map(|error| error.to_string()));
            }
        }
    }

    /// Looks at all ports and sets what they may send. One that does not count comes between two periods, for the cluster:
    /// it is neither recorded nor shown, since most rates of so short a time are not known.
    fn period(&mut self, counts: bool) -> Result<(), NetError> {
        let begin = Instant::now();
        self.rebind();
        let mut survey = self.survey()?;
        self.report_nics(survey.nics());
        self.report_silences();
        let mut seen = Vec::with_capacity(self.names.len());
        for index in 0..self.names.len() {
            seen.push(self.look(Way::Sends, index, &mut survey));
        }
        let received = self.look_at_received(&mut survey);
        for (tenant, soft) in self.softs.now().into_iter().enumerate() {
            self.controller.soften(tenant, soft);
        }
        if let Some(cluster) = &mut self.cluster {
            cluster.begin(&self.policy, self.ports.names(), &mut self.controller);
        }
        let mut decision = self.step(Way::Sends, &seen);
        for (port, watch) in decision.ports.iter_mut().zip(&self.watches) {
            watch.explain(port);
        }
        self.name_ports(&mut decision);
        self.renew(Way::Sends, &seen, &decision, &survey);
        let after = self.apply(Way::Sends, &decision, &seen, survey);
        if let (Some(cluster), Ok(_)) = (&mut self.cluster, &after) {
            cluster.end(&self.controller, &decision);
        }
        self.report_decision(Way::Sends, &decision);
        if let Some(bills) = &mut self.bills {
            bills.end(counts.then_some(&decision));
        }
        let after = after.and_then(|look| self.share_received(&received, look));
        if counts {
            self.share_ports(&decision);
            self.report_drops();
            self.publish(decision, begin);
        }
        self.last = Some(after?);
        Ok(())
    }

    /// Looks at all ports once more, and keeps what tenants have used until now.
    fn close_bills(&mut self) {
        let Some(mut bills) = self.bills.take() else {
            return;
        };
        // Where the kernel does not answer, the last period is the end.
        if let Ok(mut survey) = self.ports.survey() {
            for (index, name) in self.ports.names().iter().enumerate() {
                bills.look(index, &survey.take(Way::Sends, index, name));
            }
            bills.end(None);
        }
        bills.stop(!self.options.keep);
    }

    /// Time since its clock began.
    fn now(&self) -> Duration {
        self.begin.elapsed()
    }

    /// Reports what happened at a port.
    fn report(&self, index: usize, event: PortEvent) {
        let (port, tenant) = self.whose(index);
        let event = self.worded(index, event);
        let interface = self.interface(index);
        self.log.report(&Event::Port {
            port,
            interface: interface.filter(|_| !matches!(event, PortEvent::Absent(_))),
            tenant,
            event,
        });
    }

    /// The name of a port, and its tenant.
    fn whose(&self, index: usize) -> (String, Option<String>) {
        let port = self.names.get(index).map(ToString::to_string);
        let tenant = self.policy.ports().nth(index);
        let tenant = tenant.and_then(|(tenant, _)| self.policy.tenants.get(tenant));
        (
            port.unwrap_or_default(),
            tenant.map(|tenant| tenant.name.clone()),
        )
    }
}

/// What the host is called in a cluster: its label, which its operator has given it, else its name.
fn entry_name(naming: &Naming) -> Option<String> {
    naming.label.clone().or_else(|| naming.hostname.clone())
}

/// Enters the cluster that a policy names, in a network namespace and with a state directory; `before` is the part in
/// it that an earlier policy had.
fn enter(
    policy: &Policy,
    options: &Options,
    (netns, directory): (u64, &Path),
    before: Option<Cluster>,
    log: &Log,
) -> Result<Option<Cluster>, Error> {
    let entry = cluster::Options::of(policy, entry_name(&options.naming), netns)?;
    match entry {
        Some(entry) => Ok(Some(Cluster::start(policy, entry, directory, before, log)?)),
        None => {
            if let Some(before) = before {
                before.stop();
            }
            Ok(None)
        }
    }
}

/// Puts back what a killed daemon has left changed; none when there is no such directory.
///
/// # Errors
/// When a daemon runs, and those of the journal.
pub fn restore(directory: &Path, log: &Log) -> Result<Option<Restored>, Error> {
    let mut ports = Ports::open(None, log)?;
    let _alone = Alone::claim(ports.namespace(), log)?;
    if !directory.is_dir() {
        return Ok(None);
    }
    let (state, _lock) = state::take(directory)?;
    let mut originals = Originals::open(&state, &ports, log)?;
    if originals.is_empty() {
        // Of one that could not take all of it away.
        ports.at_links(Links::sweep_all).transpose()?;
        return Ok(Some(Restored::default()));
    }
    net_admin::require(&NetNs::current()?, "police restore")?;
    originals.restore(&mut ports, "asked to").map(Some)
}
