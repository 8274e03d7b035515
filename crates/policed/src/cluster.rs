//! The daemon's part in a cluster: moves what etcd says to the machine that decides, and its decisions to the
//! controller, the guard, the disk and etcd.

mod memory;
mod options;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::etcd::{Event as Heard, Session};
use nicety_host::journal::since_boot;
use nicety_model::BitRate;
use nicety_police::cluster::told::Told;
use nicety_police::cluster::{
    Applied, ClusterEvent, Input, Limit, LocalDemand, Node, Orders, Output, Remembered,
};
use nicety_police::event::Event;
use nicety_police::report::{ClusterPart, ClusterTenant};
use nicety_police::{Controller, Decision, Policy, PortName};

use crate::guard::Guard;
use crate::log::Log;

pub use options::{Options, session};

/// Part of a period after which a tenant that has got more shows whether that is enough: a little more than the controller
/// takes a rate over at least.
const SHOWS: f64 = 0.3;

/// A host in a cluster.
pub(crate) struct Cluster {
    options: Options,
    session: Session,
    /// Of earlier policies: their leases live until no limit is above the safe shares.
    retired: Vec<Session>,
    node: Node,
    guard: Option<Guard>,
    /// The ports of the policy as the guard is to know them.
    ports: Arc<[PortName]>,
    /// Of earlier policies: they guard until the limits are those of this one.
    retired_guards: Vec<Guard>,
    /// The limits are those of the orders.
    low: bool,
    orders: Orders,
    /// The guard knows the orders, and the disk what the next daemon is to know.
    held: bool,
    /// The deadline of limits that may still be set. Orders without one come before the ports are lowered: the guard
    /// keeps it until they are, since the daemon may die in between.
    guarding: Option<Duration>,
    memory: PathBuf,
    /// What is to be on disk before anything is raised.
    unwritten: Option<Remembered>,
    /// Its tenants: number in the policy, and name.
    tenants: Vec<(usize, String)>,
    /// Serial of the orders that the controller had last.
    given_serial: u64,
    /// When to look at the ports once more: what they send below a higher limit is not known before.
    again: Option<Duration>,
    /// What it has said last.
    said: BTreeMap<String, LocalDemand>,
    /// Grants of the controller as they were given last.
    given: BTreeMap<String, BitRate>,
    told: Told,
    /// Why there is no guard, as it was told last.
    unguarded: Option<String>,
    log: Log,
}

impl Cluster {
    /// Begins where the policy names a cluster. etcd need not be there.
    ///
    /// # Errors
    /// When the thread for etcd cannot be started.
    pub(crate) fn start(
        policy: &Policy,
        options: Options,
        directory: &std::path::Path,
        before: Option<Self>,
        log: &Log,
    ) -> std::io::Result<Self> {
        let memory = memory::file(directory);
        let node = Node::new(options.host.clone(), memory::read(&memory));
        let (mut retired, mut retired_guards) = (Vec::new(), Vec::new());
        if let Some(before) = before {
            // Where the last policy's limits were never set, those of earlier ones may still hold.
            if !before.low {
                (retired, retired_guards) = (before.retired, before.retired_guards);
            }
            retired.push(before.session);
            retired_guards.extend(before.guard);
        }
        let named = |name: &String| options.host.tenants.contains_key(name);
        let tenants = policy.tenants.iter().enumerate();
        let tenants = tenants.filter(|(_, tenant)| named(&tenant.name));
        let mut cluster = Self {
            session: Session::start(options.session.clone())?,
            retired,
            node,
            guard: None,
            ports: Arc::default(),
            retired_guards,
            low: false,
            orders: Orders::default(),
            held: false,
            guarding: None,
            memory,
            unwritten: None,
            tenants: tenants
                .map(|(at, tenant)| (at, tenant.name.clone()))
                .collect(),
            given_serial: 0,
            again: None,
            said: BTreeMap::new(),
            given: BTreeMap::new(),
            told: Told::default(),
            unguarded: None,
            log: log.clone(),
            options,
        };
        cluster.feed(&Input::Tick);
        Ok(cluster)
    }

    /// Takes what etcd has said, leads, and gives the controller its grants: no more than the guard knows of. It leads
    /// here rather than after its report: what this host acknowledges has been heard by then like all others. `ports` are
    /// the policy's as the kernel knows them now.
    pub(crate) fn begin(
        &mut self,
        policy: &Policy,
        ports: &Arc<[PortName]>,
        controller: &mut Controller,
    ) {
        self.listen();
        self.feed(&Input::Lead);
        if self.ports != *ports {
            self.ports = Arc::clone(ports);
            self.held = false;
        }
        self.hold(policy);
        self.given_serial = self.orders.serial;
        let now = since_boot();
        self.again = self.again.filter(|at| *at > now);
        for (at, name) in &self.tenants {
            let limit = self.limit(name);
            controller.grant(*at, below(limit.max), limit.guarantee);
            let had = self.given.insert(name.clone(), below(limit.max));
            let short = self.said.get(name).is_none_or(|said| said.demand.is_none());
            if short && had.is_none_or(|had| had < below(limit.max)) {
                self.again = Some(now + policy.period.mul_f64(SHOWS));
            }
        }
    }

    /// Takes what etcd has said between two periods, and leads. Whether to look at the ports now: there are other grants
    /// for the controller, or a tenant may show by now what it wants.
    pub(crate) fn meanwhile(&mut self) -> bool {
        self.listen();
        self.feed(&Input::Lead);
        let shows = self.again.is_some_and(|at| at <= since_boot());
        shows || self.orders.serial != self.given_serial
    }

    fn listen(&mut self) {
        for heard in self.session.poll() {
            self.hear(heard);
        }
        self.feed(&Input::Tick);
    }

    /// Whether limits may be raised now: not after the deadline, from which on the guard lowers them.
    pub(crate) fn may_raise(&self, tenant: usize) -> bool {
        let is_ours = self.tenants.iter().any(|(at, _)| *at == tenant);
        let over = self
            .orders
            .deadline
            .is_some_and(|until| since_boot() >= until);
        !(is_ours && over)
    }

    /// Takes what is set at the ports and what the period has decided, and reports.
    pub(crate) fn end(&mut self, controller: &Controller, decision: &Decision) {
        let mut set = BTreeMap::new();
        for (at, name) in &self.tenants {
            let limit = self.orders.limits.get(name).copied().unwrap_or_default();
            let there = match controller.in_force(*at) {
                // As low as its ports go.
                Some((set, least)) if set <= least => set.min(limit.max),
                Some((set, _)) => set,
                None => BitRate(u64::MAX),
            };
            set.insert(name.clone(), there);
        }
        let low = |(name, set): (&String, &BitRate)| *set <= self.limit(name).max;
        let low = set.iter().all(low);
        self.low = low;
        if low {
            self.retired_guards.drain(..).for_each(Guard::end);
        }
        if low && self.held && self.orders.deadline.is_none() && self.guarding.take().is_some() {
            // One that does not hear it guards on; the next orders find another.
            self.guard = (self.guard.take())
                .and_then(|mut guard| guard.hold(None, &self.orders).ok().map(|()| guard));
            self.held = self.guard.is_some();
        }
        let serial = self.orders.serial;
        self.feed(&Input::Applied(Applied { serial, set }));
        let local = self.tenants.iter().filter_map(|(at, name)| {
            let granted = self.given.get(name).copied().unwrap_or_default();
            let decided = decision.tenants.get(*at)?;
            let demand = LocalDemand::of(decided, controller.wants(*at), granted);
            Some((name.clone(), demand))
        });
        let local: BTreeMap<String, LocalDemand> = local.collect();
        self.said.clone_from(&local);
        self.feed(&Input::Period(local));
    }

    /// The ports have been given back: neither guard nor lease is needed any more.
    pub(crate) fn stop(self) {
        for guard in self.guard.into_iter().chain(self.retired_guards) {
            guard.end();
        }
    }

    /// How it stands.
    pub(crate) fn state(&self) -> ClusterPart {
        let status = self.session.status();
        let now = since_boot();
        let left = self.orders.deadline;
        let heard = status.lease.map(|lease| now.saturating_sub(lease.sent_at));
        let tenants = self.options.host.tenants.iter().map(|(name, total)| {
            let limit = self.limit(name);
            ClusterTenant {
                tenant: name.clone(),
                demand: self.said.get(name).and_then(|said| said.demand),
                max: limit.max,
                guarantee: limit.guarantee,
                safe: self.orders.safe.get(name).copied().unwrap_or_default(),
                total_max: total.max,
            }
        });
        ClusterPart {
            host: self.options.host.name.clone(),
            prefix: self.options.session.prefix.clone(),
            endpoint: status.endpoint,
            stands: self.node.state(now).into(),
            leads: self.node.leads(),
            grant: self.orders.number,
            heard_s: heard.map(|heard| heard.as_secs_f64()),
            holds_s: left.map(|until| until.saturating_sub(now).as_secs_f64()),
            reconnects: status.reconnects,
            elections: status.elections,
            fallbacks: self.told.fallbacks(),
            unreadable: self.node.view().garbage().len(),
            guarded: self.guard.is_some(),
            trouble: status.trouble.map(|trouble| trouble.to_string()),
            tenants: tenants.collect(),
        }
    }

    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Joined { endpoint } => self.log.report(&Event::EtcdJoined(endpoint)),
            Heard::Trouble(trouble) => self.log.report(&Event::EtcdTrouble(trouble.to_string())),
            Heard::Lease(lease) => self.feed(&Input::Lease(lease)),
            Heard::Changed(changes) => self.feed(&Input::Changed(changes)),
            Heard::Elected(leads) => self.feed(&Input::Elected(leads)),
            Heard::Written(outcome) => {
                let applied = outcome == crate::etcd::Outcome::Applied;
                self.feed(&Input::Written { applied });
            }
        }
    }

    fn feed(&mut self, input: &Input) {
        let output = self.node.feed(since_boot(), input);
        self.carry_out(output);
    }

    fn carry_out(&mut self, output: Output) {
        if output.remember.is_some() {
            self.unwritten = output.remember;
            self.held = false;
        }
        if let Some(orders) = output.orders {
            self.orders = orders;
            self.held = false;
        }
        if let Some(registration) = output.register {
            self.retired.clear();
            self.session.register(registration);
        }
        if let Some(report) = output.report {
            self.session.report(report);
        }
        if !output.batches.is_empty() {
            self.session.lead(output.batches);
        }
        for event in output.events {
            self.tell(event);
        }
    }

    /// Has the guard know the orders; starts one where there is none.
    fn hold(&mut self, policy: &Policy) {
        if self.held {
            return;
        }
        let names = &self.options.host.tenants;
        // Before it is on disk nothing is raised: the next daemon would not know what it may send.
        let written = match &self.unwritten {
            Some(remembered) => memory::write(&self.memory, remembered),
            None => Ok(()),
        };
        let guarded = |name: &str| names.contains_key(name);
        let told = match self.guard.take() {
            Some(mut guard) => guard.follow(policy, &self.ports, guarded).map(|()| guard),
            None => Guard::start(policy, &self.ports, guarded),
        };
        self.guarding = self.orders.deadline.or(self.guarding);
        let until = self.guarding;
        let told = told.and_then(|mut guard| guard.hold(until, &self.orders).map(|()| guard));
        let why = match (told, written) {
            (Ok(guard), Ok(())) => {
                self.guard = Some(guard);
                self.unwritten = None;
                self.held = true;
                None
            }
            (Ok(guard), Err(error)) => {
                self.guard = Some(guard);
                Some(format!("cannot write {}: {error}", self.memory.display()))
            }
            (Err(error), _) => Some(format!("no guard: {error}")),
        };
        if self.unguarded != why {
            self.unguarded.clone_from(&why);
            if let Some(why) = why {
                self.log.report(&Event::GuardTrouble(why));
            }
        }
    }

    /// What a tenant may send now: its safe share while no guard knows how long more would hold.
    fn limit(&self, name: &str) -> Limit {
        let ordered = self.orders.limits.get(name).copied().unwrap_or_default();
        let safe = self.orders.safe.get(name).copied().unwrap_or_default();
        if self.held {
            ordered
        } else {
            Limit {
                max: ordered.max.min(safe),
                guarantee: ordered.guarantee.min(safe),
            }
        }
    }

    fn tell(&mut self, event: ClusterEvent) {
        if self.told.is_new(&event) {
            self.log.report(&Event::Cluster(event));
        }
    }
}

/// A little below a grant: what is read back of a driver's grid may be a little above what was set.
fn below(grant: BitRate) -> BitRate {
    BitRate(grant.0 - grant.0 / 1000)
}
