//! One host: clock, kernel, guard, disk and daemon.

use std::collections::BTreeMap;
use std::time::Duration;

use nicety_model::BitRate;

use super::super::log::{Beginning, Line};
use super::super::mutant::{self, Mutant};
use super::super::settings::{HostSettings, Margin};
use super::super::view::{Changes, Joining};
use super::super::wire::Total;
use super::super::{
    Applied, Input, Lease, LocalDemand, Node, Orders, Output, Registration, Remembered,
};
use super::store::{Answer, Millis, Request, Store};

/// Milliseconds of the store's clock and of the hosts'.
pub const TTL: Millis = 8_000;
pub const PERIOD: Millis = 1_000;
/// How often a daemon looks at its ports, and a leader may decide.
const LOOK: Millis = PERIOD / 4;

/// How far orders are carried out: on disk, with the guard, in the kernel, told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Stage {
    Disk,
    Guard,
    Kernel,
    Told,
    #[default]
    Done,
}

/// Orders that are being carried out.
#[derive(Debug, Clone)]
struct Work {
    orders: Orders,
    remember: Option<Remembered>,
    stage: Stage,
}

#[derive(Debug)]
pub struct Machine {
    pub name: String,
    /// Thousandths of real time.
    rate: u64,
    settings: HostSettings,
    pub node: Option<Node>,
    disk: Option<Remembered>,
    pub kernel: BTreeMap<String, u64>,
    guard: Option<(u64, BTreeMap<String, BitRate>)>,
    work: Option<Work>,
    wanted: Option<Registration>,
    /// The daemon stops before this stage.
    pub stall: Stage,
    /// It stands still there, from the next orders on.
    pub freezes: bool,
    /// Transactions of its next step that are lost, as bits: a leader may die between any two.
    pub lost: u8,
    /// Its daemons' inputs and outputs are kept.
    pub records: bool,
    pub recorded: Vec<(Beginning, Vec<Line>)>,
    /// Its daemon stands still.
    pub daemon_frozen: bool,
    /// The whole machine stands still, and sends nothing.
    pub frozen: bool,
    /// Revisions that it has heard of; none before the first read.
    pub heard: Option<usize>,
    pub demand: BTreeMap<String, u64>,
    /// By its clock.
    next_renewal: u64,
    next_period: u64,
    next_lead: u64,
}

impl Machine {
    pub fn new(
        number: usize,
        rate: u64,
        total: &BTreeMap<String, Total>,
        hosts: Option<u32>,
    ) -> Self {
        let name = format!("h{number}");
        let mut machine = Self {
            settings: HostSettings {
                name: name.clone(),
                machine: format!("m{number}"),
                margin: Margin::default(),
                hosts,
                safe_share: None,
                period: Duration::from_millis(PERIOD),
                tenants: total.clone(),
            },
            name,
            rate,
            node: None,
            disk: None,
            kernel: BTreeMap::new(),
            guard: None,
            work: None,
            wanted: None,
            stall: Stage::Done,
            freezes: false,
            lost: 0,
            records: false,
            recorded: Vec::new(),
            daemon_frozen: false,
            frozen: false,
            heard: None,
            demand: BTreeMap::new(),
            next_renewal: 0,
            next_period: number as u64 * 130,
            next_lead: PERIOD / 2,
        };
        machine.start();
        machine
    }

    /// Its `CLOCK_BOOTTIME`, in milliseconds.
    pub fn clock(&self, now: Millis) -> u64 {
        now * self.rate / 1000
    }

    /// Kills the daemon at any point; the guard lives on.
    pub fn kill(&mut self) {
        (self.node, self.work, self.wanted, self.heard) = (None, None, None, None);
        (self.daemon_frozen, self.freezes, self.stall) = (false, false, Stage::Done);
    }

    pub fn start(&mut self) {
        if self.node.is_none() {
            self.node = Some(Node::new(self.settings.clone(), self.disk.clone()));
            if self.records {
                let beginning = Beginning {
                    settings: self.settings.clone(),
                    remembered: self.disk.clone(),
                };
                self.recorded.push((beginning, Vec::new()));
            }
        }
    }

    /// Lets the daemon go on: it first does what it was about to do.
    pub fn thaw(&mut self, now: Millis) -> Vec<Request> {
        (self.daemon_frozen, self.freezes, self.stall) = (false, false, Stage::Done);
        if self.frozen {
            return Vec::new();
        }
        self.work(now)
    }

    /// The daemon can act.
    pub fn runs(&self) -> bool {
        self.node.is_some() && !self.daemon_frozen && !self.frozen
    }

    /// What the guard does on its own.
    pub fn guard(&mut self, now: Millis) {
        let clock = self.clock(now);
        let due = self
            .guard
            .as_ref()
            .filter(|(deadline, _)| *deadline <= clock);
        let Some((_, safe)) = due else {
            return;
        };
        if self.frozen || mutant::is(Mutant::NoGuard) {
            return;
        }
        for (tenant, limit) in &mut self.kernel {
            *limit = (*limit).min(safe.get(tenant).map_or(0, |safe| safe.0));
        }
    }

    /// Feeds the daemon, and gives what it asks of the store.
    pub fn feed(&mut self, now: Millis, input: &Input) -> Vec<Request> {
        let at = Duration::from_millis(self.clock(now));
        let Some(node) = &mut self.node else {
            return Vec::new();
        };
        let output = node.feed(at, input);
        if let Some((_, lines)) = self.recorded.last_mut() {
            lines.push(Line {
                at,
                input: input.clone(),
                output: output.clone(),
            });
        }
        let lease = node.host().lease();
        self.obey(output, lease)
    }

    fn obey(&mut self, output: Output, lease: Option<i64>) -> Vec<Request> {
        if let Some(orders) = output.orders {
            let unwritten = self.work.take().and_then(|work| work.remember);
            self.work = Some(Work {
                orders,
                remember: output.remember.or(unwritten),
                stage: Stage::Disk,
            });
        } else if let Some(remember) = output.remember {
            // Orders tell the safe shares, so what is to be kept does not change without them.
            self.disk = Some(remember);
        }
        if output.register.is_some() {
            self.wanted = output.register;
        }
        let mut requests = Vec::new();
        if let (Some(report), Some(lease)) = (output.report, lease) {
            requests.push(Request::Report { lease, report });
        }
        if !output.batches.is_empty() {
            let lost = std::mem::take(&mut self.lost);
            let batches = output.batches.into_iter().enumerate();
            let sent = batches.filter(|(at, _)| lost >> (at % 8) & 1 == 0);
            requests.extend(sent.map(|(_, batch)| Request::Batch(batch)));
        }
        requests
    }

    /// Carries out orders up to where the daemon is to stop.
    pub fn work(&mut self, now: Millis) -> Vec<Request> {
        let clock = self.clock(now);
        let Some(mut work) = self.work.take() else {
            return Vec::new();
        };
        let mut told = None;
        while work.stage < self.stall && work.stage != Stage::Done {
            match work.stage {
                Stage::Disk => {
                    let keeps = self.disk.is_some() && mutant::is(Mutant::StaleMemory);
                    self.disk = work.remember.take().filter(|_| !keeps).or(self.disk.take());
                    work.stage = Stage::Guard;
                }
                Stage::Guard => {
                    if let Some(deadline) = work.orders.deadline {
                        self.guard = Some((deadline.as_millis() as u64, work.orders.safe.clone()));
                    }
                    work.stage = Stage::Kernel;
                }
                Stage::Kernel => {
                    self.set(&work.orders, clock);
                    work.stage = Stage::Told;
                }
                Stage::Told | Stage::Done => {
                    let set = self.kernel.iter();
                    told = Some(Applied {
                        serial: work.orders.serial,
                        set: set
                            .map(|(tenant, set)| (tenant.clone(), BitRate(*set)))
                            .collect(),
                    });
                    work.stage = Stage::Done;
                }
            }
        }
        if work.stage != Stage::Done {
            self.daemon_frozen |= self.freezes;
            self.work = Some(work);
        }
        told.map_or_else(Vec::new, |applied| self.feed(now, &Input::Applied(applied)))
    }

    /// Sets the limits. The deadline is looked at right before.
    fn set(&mut self, orders: &Orders, clock: u64) {
        let deadline = orders.deadline.map(|deadline| deadline.as_millis() as u64);
        let late = deadline.is_some_and(|deadline| clock >= deadline);
        for (tenant, limit) in &orders.limits {
            let kernel = self.kernel.entry(tenant.clone()).or_default();
            *kernel = if late && !mutant::is(Mutant::AppliedLate) {
                (*kernel).min(orders.safe.get(tenant).map_or(0, |safe| safe.0))
            } else {
                limit.max.0
            };
        }
        if deadline.is_none() {
            self.guard = None;
        }
    }

    /// What the daemon does at its times.
    pub fn act(&mut self, now: Millis) -> Vec<Request> {
        let clock = self.clock(now);
        let mut requests = self.feed(now, &Input::Tick);
        let lease = self.node.as_ref().and_then(|node| node.host().lease());
        if clock >= self.next_renewal {
            self.next_renewal = clock + TTL / 5;
            requests.push(match lease {
                Some(lease) => Request::KeepAlive {
                    lease,
                    sent_at: clock,
                },
                None => Request::NewLease { sent_at: clock },
            });
        }
        requests.extend(self.registration());
        if clock >= self.next_period {
            self.next_period = clock + LOOK;
            let local = self.local();
            requests.extend(self.feed(now, &Input::Period(local)));
        }
        if clock >= self.next_lead {
            self.next_lead = clock + LOOK;
            requests.extend(self.feed(now, &Input::Lead));
        }
        requests
    }

    /// Writes its entry until it stands there; an earlier daemon's lease is revoked before.
    fn registration(&mut self) -> Option<Request> {
        let node = self.node.as_ref()?;
        let wanted = self.wanted.clone()?;
        if node.host().lease() != Some(wanted.lease) {
            return None;
        }
        match node.view().joining(&self.name, &self.settings.machine) {
            Joining::Own { lease } if lease == wanted.lease => {
                self.wanted = None;
                None
            }
            Joining::Own { lease } => Some(Request::Revoke { lease }),
            Joining::Free | Joining::Taken { .. } => Some(Request::Register(wanted)),
        }
    }

    fn local(&self) -> BTreeMap<String, LocalDemand> {
        let tenants = self.settings.tenants.keys();
        tenants
            .map(|tenant| {
                let wants = self.demand.get(tenant).copied().unwrap_or_default();
                let limit = self.kernel.get(tenant).copied().unwrap_or_default();
                let held = wants > 0 && wants as f64 >= 0.95 * limit as f64;
                let local = LocalDemand {
                    used: BitRate(wants.min(limit)),
                    // As the controller of a host guesses it.
                    demand: (!held).then_some(BitRate(wants + wants / 20)),
                };
                (tenant.clone(), local)
            })
            .collect()
    }

    /// Takes an answer.
    pub fn hear(&mut self, now: Millis, answer: Answer) -> Vec<Request> {
        let lease = match answer {
            Answer::Written { applied } => return self.feed(now, &Input::Written { applied }),
            Answer::Lives { lease, sent_at } => Lease::Renewed {
                lease,
                sent_at: Duration::from_millis(sent_at),
                ttl: Duration::from_millis(TTL),
            },
            Answer::Ended { lease } => Lease::Ended { lease },
        };
        let other = self.node.as_ref().and_then(|node| node.host().lease());
        // A second lease that comes while the first lives is left to end.
        if let (Lease::Renewed { lease, .. }, Some(other)) = (lease, other)
            && lease != other
        {
            return Vec::new();
        }
        self.feed(now, &Input::Lease(lease))
    }

    /// Hears what has changed up to `limit` revisions.
    pub fn watch(&mut self, now: Millis, store: &Store, limit: usize) -> Vec<Request> {
        let changes = match self.heard {
            None => Changes {
                revision: store.revision() as i64,
                all: true,
                changes: store.all(),
            },
            Some(heard) if heard < limit => Changes {
                revision: limit as i64,
                all: false,
                changes: (store.history[heard..limit].iter())
                    .flat_map(|(_, changes)| changes.clone())
                    .collect(),
            },
            Some(_) => return Vec::new(),
        };
        self.heard = Some(changes.revision as usize);
        self.feed(now, &Input::Changed(changes))
    }
}
