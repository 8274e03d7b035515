//! Hosts without a kernel: the product's machine, controller and session with etcd, and ports that are simulated. One
//! thread plays them all, each in a period of its own as the daemon does.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nicety_benchmarks::background::Background;
use nicety_host::journal::since_boot;
use nicety_model::BitRate;
use nicety_netdev::netns::NetNs;
use nicety_police::cluster::{
    Applied, ClusterEvent, HostState, Input, LocalDemand, Node, Orders, Output,
};
use nicety_police::{Controller, Policy, Seen, Tuning};
use nicety_policed::etcd::{Event, Outcome, Session};

use crate::port::Port;
use crate::{HOSTS, REAL, TENANTS, Wants};

/// How often ports are looked at.
const TICK: Duration = Duration::from_millis(10);
/// How often a host listens to etcd between two periods, as the daemon does.
const MEANWHILE: Duration = Duration::from_millis(50);

/// What has passed of each tenant and host, in bytes, and when.
pub type Passed = Arc<Mutex<(Instant, Vec<[f64; TENANTS.len()]>)>>;

struct Host {
    number: usize,
    session: Session,
    node: Node,
    controller: Controller,
    orders: Orders,
    ports: [Port; TENANTS.len()],
    granted: [BitRate; TENANTS.len()],
    period: Duration,
    /// Serial of the orders that the controller had last.
    given: u64,
    /// When it looks once more: a limit that held it was raised.
    again: Option<Duration>,
    short: [bool; TENANTS.len()],
    next: Duration,
    listens: Duration,
    /// Times that it lost its grant.
    fallbacks: u64,
}

impl Host {
    fn new(number: usize, policy: &Policy, etcd: &NetNs) -> Result<Self> {
        let name = format!("simulated-{number:03}");
        let settings = nicety_policed::cluster::session(policy, name.clone());
        let settings = settings.context("the policy names no cluster")?;
        let of = policy.cluster_host(name, format!("{number:032x}"));
        let node = Node::new(of.context("the policy names no cluster")?, None);
        let setup = Port::setup(policy);
        let simulated = (HOSTS - REAL) as u32;
        Ok(Self {
            number,
            session: etcd.run(|| Session::start(settings))??,
            node,
            controller: Controller::new(policy.clone(), &[setup; TENANTS.len()], Tuning::default()),
            orders: Orders::default(),
            ports: [Port::default(); TENANTS.len()],
            granted: [BitRate(0); TENANTS.len()],
            period: policy.period,
            given: 0,
            again: None,
            short: [true; TENANTS.len()],
            // Spread over a period.
            next: since_boot() + policy.period * (number - REAL) as u32 / simulated,
            listens: Duration::ZERO,
            fallbacks: 0,
        })
    }

    /// What the daemon does in its time: a period, or to listen and to lead between two of them.
    fn act(&mut self, now: Duration) {
        if self.next <= now {
            self.next = (self.next + self.period).max(now);
            self.look(now);
        } else if self.listens <= now {
            self.listens = now + MEANWHILE;
            self.listen();
            self.feed(&Input::Lead);
            if self.again.is_some_and(|at| at <= now) || self.orders.serial != self.given {
                self.look(now);
            }
        }
    }

    fn listen(&mut self) {
        for heard in self.session.poll() {
            let input = match heard {
                Event::Lease(lease) => Input::Lease(lease),
                Event::Changed(changes) => Input::Changed(changes),
                Event::Elected(leads) => Input::Elected(leads),
                Event::Written(outcome) => Input::Written {
                    applied: outcome == Outcome::Applied,
                },
                Event::Joined { .. } | Event::Trouble(_) => continue,
            };
            self.feed(&input);
        }
        self.feed(&Input::Tick);
    }

    fn look(&mut self, now: Duration) {
        self.listens = now + MEANWHILE;
        self.listen();
        self.feed(&Input::Lead);
        self.given = self.orders.serial;
        self.again = self.again.filter(|at| *at > now);
        for (tenant, name) in TENANTS.iter().enumerate() {
            let limit = self.orders.limits.get(*name).copied().unwrap_or_default();
            // A little below, as the daemon.
            let max = BitRate(limit.max.0 - limit.max.0 / 1000);
            self.controller.grant(tenant, max, limit.guarantee);
            if self.short[tenant] && max > self.granted[tenant] {
                self.again = Some(now + self.period.mul_f64(0.3));
            }
            self.granted[tenant] = max;
        }
        let seen: Vec<Seen> = self.ports.iter().map(|port| port.seen(now)).collect();
        let decision = self.controller.step(&seen);
        let over = self.orders.deadline.is_some_and(|until| now >= until);
        for port in &decision.writes {
            let limit = decision.ports[*port].limit;
            let grows = self.ports[*port].limit().is_some_and(|has| has < limit);
            if !(grows && over) {
                self.ports[*port].set(limit);
                self.controller.wrote(*port, limit);
            }
        }
        let set = TENANTS.iter().enumerate().map(|(tenant, name)| {
            let ordered = self.orders.limits.get(*name).copied().unwrap_or_default();
            let set = match self.controller.in_force(tenant) {
                Some((set, least)) if set <= least => set.min(ordered.max),
                Some((set, _)) => set,
                None => BitRate(u64::MAX),
            };
            ((*name).to_owned(), set)
        });
        let (serial, set) = (self.orders.serial, set.collect());
        self.feed(&Input::Applied(Applied { serial, set }));
        let local = TENANTS.iter().enumerate().map(|(tenant, name)| {
            let wants = self.controller.wants(tenant);
            let of = LocalDemand::of(&decision.tenants[tenant], wants, self.granted[tenant]);
            self.short[tenant] = of.demand.is_none();
            ((*name).to_owned(), of)
        });
        let local = local.collect();
        self.feed(&Input::Period(local));
    }

    fn feed(&mut self, input: &Input) {
        let Output {
            orders,
            register,
            report,
            batches,
            events,
            ..
        } = self.node.feed(since_boot(), input);
        let fell = |event: &&ClusterEvent| matches!(event, ClusterEvent::FellBack { .. });
        self.fallbacks += events.iter().filter(fell).count() as u64;
        if let Some(orders) = orders {
            self.orders = orders;
        }
        if let Some(registration) = register {
            self.session.register(registration);
        }
        if let Some(report) = report {
            self.session.report(report);
        }
        if !batches.is_empty() {
            self.session.lead(batches);
        }
    }
}

/// The hosts and the thread that plays them.
pub struct Simulated {
    pub passed: Passed,
    granted: Arc<AtomicU64>,
    fallbacks: Arc<AtomicU64>,
    _thread: Background,
}

impl Simulated {
    pub fn start(policy: &Policy, etcd: &NetNs, wants: &Wants) -> Result<Self> {
        let hosts = (REAL..HOSTS).map(|number| Host::new(number, policy, etcd));
        let mut hosts = hosts.collect::<Result<Vec<_>>>()?;
        let nothing = vec![[0.0; TENANTS.len()]; hosts.len()];
        let passed: Passed = Arc::new(Mutex::new((Instant::now(), nothing)));
        let [granted, fallbacks] = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
        let work = {
            let passed = Arc::clone(&passed);
            let [granted, fallbacks] = [&granted, &fallbacks].map(Arc::clone);
            let wants = wants.clone();
            move |end: &AtomicBool| {
                let mut last = Instant::now();
                while !end.load(Ordering::Relaxed) {
                    std::thread::sleep(TICK);
                    let now = Instant::now();
                    let seconds = (now - last).as_secs_f64();
                    last = now;
                    for host in &mut hosts {
                        for (tenant, port) in host.ports.iter_mut().enumerate() {
                            port.advance(seconds, wants.of(tenant, host.number));
                        }
                    }
                    let bytes = |host: &Host| host.ports.map(|port| port.passed);
                    let all = hosts.iter().map(bytes).collect();
                    *passed.lock().unwrap_or_else(PoisonError::into_inner) = (now, all);
                    let now = since_boot();
                    hosts.iter_mut().for_each(|host| host.act(now));
                    let stands = |host: &&Host| host.node.state(now) == HostState::Granted;
                    let count = hosts.iter().filter(stands).count();
                    granted.store(count as u64, Ordering::Relaxed);
                    let fell = hosts.iter().map(|host| host.fallbacks).sum();
                    fallbacks.store(fell, Ordering::Relaxed);
                }
            }
        };
        Ok(Self {
            passed,
            granted,
            fallbacks,
            _thread: Background::start("simulated", work)?,
        })
    }

    /// Times that a host lost its grant.
    pub fn fallbacks(&self) -> u64 {
        self.fallbacks.load(Ordering::Relaxed)
    }

    /// Hosts that hold a grant.
    pub fn granted(&self) -> usize {
        self.granted.load(Ordering::Relaxed) as usize
    }
}
