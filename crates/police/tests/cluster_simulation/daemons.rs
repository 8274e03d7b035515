//! Hosts that are not in step: the product's machine and controller, each in a period of its own, ports that take whole
//! frames, and a store that answers after a while. Time is simulated, so a run says the same each time.

use std::collections::BTreeMap;
use std::time::Duration;

use nicety_model::BitRate;
use nicety_police::cluster::wire::Wire;
use nicety_police::cluster::{
    Applied, Change, Changes, Input, Lease, LocalDemand, Node, Orders, Output,
};
use nicety_police::controller::PortSetup;
use nicety_police::{Controller, Policy, Sample, Seen, Tuning};

use super::Rng;

pub const TENANT: &str = "blue";
pub const PERIOD: Duration = Duration::from_secs(1);
/// How often ports are looked at.
const TICK: Duration = Duration::from_millis(10);
/// How often a host listens to the store between two periods, as the daemon does.
const LISTENS: Duration = Duration::from_millis(50);
/// From a write to its answer, and to those who watch.
const DELAY: Duration = Duration::from_millis(15);
/// Bytes on the wire of a frame.
const FRAME: f64 = 1538.0;

/// A port behind a token bucket with the kernel's burst and queue.
#[derive(Debug, Clone, Copy, Default)]
struct Port {
    passed: u64,
    dropped: u64,
    /// What waits, and what is owed to the next frame of the sender, in bytes.
    waits: f64,
    owed: f64,
    tokens: f64,
    limit: Option<BitRate>,
}

impl Port {
    fn set(&mut self, limit: BitRate) {
        self.limit = Some(limit);
        self.tokens = self.tokens.min(burst(limit));
    }

    /// Time passes, in which somebody sends at a rate in bits per second.
    fn advance(&mut self, seconds: f64, wants: f64) {
        self.owed += wants / 8.0 * seconds;
        let come = (self.owed / FRAME).floor();
        self.owed -= come * FRAME;
        let Some(limit) = self.limit else {
            self.passed += come as u64;
            return;
        };
        self.tokens += limit.bps() / 8.0 * seconds;
        let (room, there) = ((self.tokens / FRAME).floor(), self.waits + come);
        let passes = there.min(room);
        self.passed += passes as u64;
        self.tokens = (self.tokens - passes * FRAME).min(burst(limit));
        let queue = ((limit.bps() / 8.0 * 0.025).max(98_304.0) / FRAME).floor();
        self.waits = (there - passes).min(queue);
        self.dropped += (there - passes - self.waits) as u64;
    }

    fn seen(&self, at: Duration) -> Seen {
        let sample = Sample {
            drops: Some(self.dropped),
            backlog: Some((self.waits * FRAME) as u64),
            // Without what the controller adds for the wire.
            ..Sample::passed(at, self.passed * 1514, self.passed)
        };
        Seen {
            limit: Some(self.limit.unwrap_or_default()),
            ..Seen::counted(sample)
        }
    }
}

fn burst(limit: BitRate) -> f64 {
    match limit.bps() / 8.0 * 0.004 {
        bytes if bytes < 98_304.0 => 16_384.0,
        bytes => bytes,
    }
}

struct Host {
    name: String,
    lease: i64,
    node: Node,
    controller: Controller,
    orders: Orders,
    port: Port,
    granted: BitRate,
    /// Serial of the orders that the controller had last.
    given: u64,
    next: Duration,
    /// When it looks once more: a limit that held it was raised.
    again: Option<Duration>,
    short: bool,
    listens: Duration,
    inbox: Vec<(Duration, Input)>,
}

/// What is asked of the store.
enum Request {
    Put(String, Vec<u8>, i64),
    Lead(Vec<nicety_police::cluster::Batch>),
}

/// Many hosts, the first of which leads, and a store.
pub struct Daemons {
    now: Duration,
    hosts: Vec<Host>,
    /// What each host would send, in bits per second.
    pub wants: Vec<f64>,
    revision: i64,
    ledger: Option<Vec<u8>>,
    asked: Vec<(Duration, usize, Request)>,
    /// Transactions, and changes that hosts have heard of, so far.
    pub writes: u64,
    pub events: u64,
}

fn policy(total: u64) -> Policy {
    let text = format!(
        "[link]\ncapacity = \"800mbit\"\nheadroom = 0.0\n[cluster]\nendpoints = [\"http://127.0.0.1:1\"]\n\
         [[tenant]]\nname = \"{TENANT}\"\nports = [\"p0\"]\ntotal_max = \"{total}bit\"\n"
    );
    Policy::parse("policy.toml", &text).unwrap()
}

impl Daemons {
    pub fn new(hosts: usize, total: u64, seed: u64) -> Self {
        let policy = policy(total);
        let mut rng = Rng::new(seed);
        let made = (0..hosts).map(|number| {
            let name = format!("host-{number:03}");
            let of = policy.cluster_host(name.clone(), format!("{number:032x}"));
            let lease = number as i64 + 1;
            let renewed = Lease::Renewed {
                lease,
                sent_at: Duration::ZERO,
                ttl: Duration::from_secs(1_000_000),
            };
            let nothing = Changes {
                revision: 0,
                all: true,
                changes: Vec::new(),
            };
            let mut inbox = vec![Input::Lease(renewed), Input::Changed(nothing)];
            if number == 0 {
                inbox.push(Input::Elected(true));
            }
            Host {
                name,
                lease,
                node: Node::new(of.unwrap(), None),
                controller: Controller::new(
                    policy.clone(),
                    &[PortSetup::tc(&policy)],
                    Tuning::default(),
                ),
                orders: Orders::default(),
                port: Port::default(),
                granted: BitRate(0),
                given: 0,
                next: Duration::from_millis(rng.next() % 1000),
                again: None,
                short: true,
                listens: Duration::ZERO,
                inbox: inbox
                    .into_iter()
                    .map(|input| (Duration::ZERO, input))
                    .collect(),
            }
        });
        Self {
            now: Duration::ZERO,
            hosts: made.collect(),
            wants: vec![0.0; hosts],
            revision: 0,
            ledger: None,
            asked: Vec::new(),
            writes: 0,
            events: 0,
        }
    }

    pub fn now(&self) -> Duration {
        self.now
    }

    /// Bits that have passed at each host.
    pub fn passed(&self) -> Vec<f64> {
        let bits = |host: &Host| host.port.passed as f64 * FRAME * 8.0;
        self.hosts.iter().map(bits).collect()
    }

    /// What each host may send, in bits per second.
    pub fn limits(&self) -> Vec<f64> {
        let limit = |host: &Host| host.port.limit.map_or(0.0, BitRate::bps);
        self.hosts.iter().map(limit).collect()
    }

    /// Ten milliseconds pass.
    pub fn tick(&mut self) {
        self.now += TICK;
        let now = self.now;
        let due = |(at, ..): &(Duration, usize, Request)| *at <= now;
        let (asked, later) = std::mem::take(&mut self.asked).into_iter().partition(due);
        self.asked = later;
        for (_, from, request) in asked {
            self.answer(from, request);
        }
        for index in 0..self.hosts.len() {
            let host = &mut self.hosts[index];
            host.port.advance(TICK.as_secs_f64(), self.wants[index]);
            let requests = host.act(now);
            let sent = requests
                .into_iter()
                .map(|request| (now + DELAY, index, request));
            self.asked.extend(sent);
        }
    }

    fn answer(&mut self, from: usize, request: Request) {
        match request {
            Request::Put(key, value, lease) => {
                self.writes += 1;
                self.change(vec![Change::Put { key, value, lease }]);
            }
            Request::Lead(batches) => {
                let mut applied = true;
                for batch in batches {
                    self.writes += 1;
                    if self.ledger != batch.expected() {
                        applied = false;
                        break;
                    }
                    self.ledger = Some(batch.ledger());
                    let put = |key, value| Change::Put {
                        key,
                        value,
                        lease: 0,
                    };
                    let mut changes = vec![put("ledger".to_owned(), batch.ledger())];
                    let grants = batch.grants.iter();
                    changes.extend(
                        grants.map(|(host, grant)| put(format!("grant/{host}"), grant.encode())),
                    );
                    self.change(changes);
                }
                let at = self.now + DELAY;
                self.hosts[from]
                    .inbox
                    .push((at, Input::Written { applied }));
            }
        }
    }

    /// The leader hears everything, others of their own grant.
    fn change(&mut self, changes: Vec<Change>) {
        self.revision += 1;
        let (revision, at) = (self.revision, self.now + DELAY);
        let mut hear = |host: &mut Host, changes: Vec<Change>| {
            self.events += changes
                .iter()
                .filter(|change| change.key() != "ledger")
                .count() as u64;
            let changes = Changes {
                revision,
                all: false,
                changes,
            };
            host.inbox.push((at, Input::Changed(changes)));
        };
        let own: BTreeMap<String, Change> = (changes.iter())
            .filter_map(|change| {
                Some((
                    change.key().strip_prefix("grant/")?.to_owned(),
                    change.clone(),
                ))
            })
            .collect();
        hear(&mut self.hosts[0], changes);
        for host in self.hosts.iter_mut().skip(1) {
            if let Some(change) = own.get(&host.name) {
                hear(host, vec![change.clone()]);
            }
        }
    }
}

impl Host {
    /// What the daemon does in its time: a period, or to listen and to lead between two of them.
    fn act(&mut self, now: Duration) -> Vec<Request> {
        let mut requests = Vec::new();
        if self.next <= now {
            self.next += PERIOD;
            self.look(now, &mut requests);
        } else if self.listens <= now {
            self.listen(now, &mut requests);
            if self.again.is_some_and(|at| at <= now) || self.orders.serial != self.given {
                self.look(now, &mut requests);
            }
        }
        requests
    }

    fn listen(&mut self, now: Duration, requests: &mut Vec<Request>) {
        self.listens = now + LISTENS;
        let (heard, later) =
            (std::mem::take(&mut self.inbox).into_iter()).partition(|(at, _)| *at <= now);
        self.inbox = later;
        for (_, input) in heard {
            self.feed(now, &input, requests);
        }
        self.feed(now, &Input::Tick, requests);
        self.feed(now, &Input::Lead, requests);
    }

    fn look(&mut self, now: Duration, requests: &mut Vec<Request>) {
        self.listen(now, requests);
        self.given = self.orders.serial;
        let limit = self.orders.limits.get(TENANT).copied().unwrap_or_default();
        // A little below, as the daemon.
        let had = std::mem::replace(&mut self.granted, BitRate(limit.max.0 - limit.max.0 / 1000));
        self.again = self.again.filter(|at| *at > now);
        if self.short && self.granted > had {
            self.again = Some(now + PERIOD.mul_f64(0.3));
        }
        self.controller.grant(0, self.granted, limit.guarantee);
        let decision = self.controller.step(&[self.port.seen(now)]);
        if !decision.writes.is_empty() {
            let limit = decision.ports[0].limit;
            self.port.set(limit);
            self.controller.wrote(0, limit);
        }
        let set = match self.controller.in_force(0) {
            Some((set, least)) if set <= least => set.min(limit.max),
            Some((set, _)) => set,
            None => BitRate(u64::MAX),
        };
        let applied = Applied {
            serial: self.orders.serial,
            set: BTreeMap::from([(TENANT.to_owned(), set)]),
        };
        self.feed(now, &Input::Applied(applied), requests);
        let wants = self.controller.wants(0);
        let local = LocalDemand::of(&decision.tenants[0], wants, self.granted);
        self.short = local.demand.is_none();
        let local = BTreeMap::from([(TENANT.to_owned(), local)]);
        self.feed(now, &Input::Period(local), requests);
    }

    fn feed(&mut self, now: Duration, input: &Input, requests: &mut Vec<Request>) {
        let Output {
            orders,
            register,
            report,
            batches,
            ..
        } = self.node.feed(now, input);
        if let Some(orders) = orders {
            self.orders = orders;
        }
        let name = &self.name;
        let put = |key: &str, value| Request::Put(format!("{key}/{name}"), value, self.lease);
        requests.extend(register.map(|of| put("member", of.member.encode())));
        requests.extend(report.map(|report| put("report", report.encode())));
        if !batches.is_empty() {
            requests.push(Request::Lead(batches));
        }
    }
}
