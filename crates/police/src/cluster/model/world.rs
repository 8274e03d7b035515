//! Hosts and store together, and what may happen to them.

use std::collections::{BTreeMap, VecDeque};

use nicety_model::BitRate;

use super::super::Input;
use super::super::wire::Total;
use super::machine::{Machine, Stage, TTL};
use super::store::{Answer, Millis, Request, Store};

/// Real time between two steps.
const STEP: Millis = 250;
/// Requests that may come a second time.
pub const REMEMBERED: usize = 40;

/// How messages between a host and the store travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    Up,
    /// Everything takes so long.
    Slow(Millis),
    /// Everything is lost.
    Down,
    /// The host is heard, and hears nothing.
    Deaf,
}

/// What the adversary does. Hosts are numbers modulo the hosts there are.
#[derive(Debug, Clone)]
pub enum Action {
    Run(Millis),
    Link(usize, Link),
    /// Stops the daemon (SIGSTOP), or lets it go on.
    Daemon(usize, bool),
    /// Stops the machine, or lets it go on.
    Machine(usize, bool),
    /// Stops the daemon when its next orders are carried out up to here.
    FreezeAt(usize, Stage),
    Kill(usize),
    Start(usize),
    /// Kills the daemon and starts another, which carries out orders only up to here.
    Restart(usize, Stage),
    /// The daemon carries out orders only up to here.
    Stall(usize, Stage),
    Elect(usize, bool),
    /// Of the host's next step as a leader these transactions are lost.
    Lose(usize, u8),
    Demand(usize, usize, u64),
    /// A request that the store has had comes again.
    Again(usize),
    /// The host reads everything anew.
    Reread(usize),
}

/// A message on its way.
#[derive(Debug)]
enum Message {
    ToStore(Request),
    ToHost(Answer),
}

#[derive(Debug)]
pub struct World {
    pub now: Millis,
    pub store: Store,
    pub hosts: Vec<Machine>,
    links: Vec<Link>,
    /// With the host and when they arrive.
    messages: Vec<(Millis, usize, Message)>,
    served: VecDeque<(usize, Request)>,
    pub totals: BTreeMap<String, Total>,
}

/// How a case begins.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Thousandths of real time at which each host's clock runs, 900 to 1100.
    pub rates: Vec<u64>,
    /// The same for the store.
    pub store_rate: u64,
    /// The policy fixes the number of hosts.
    pub fixed: bool,
    /// Total and guarantee of each tenant.
    pub tenants: Vec<(u64, u64)>,
}

impl World {
    pub fn new(setup: &Setup) -> Self {
        let totals: BTreeMap<String, Total> = (setup.tenants.iter().enumerate())
            .map(|(number, (max, guarantee))| {
                let total = Total {
                    max: BitRate(*max),
                    guarantee: BitRate((*guarantee).min(*max)),
                    weight: 1,
                };
                (format!("t{number}"), total)
            })
            .collect();
        let fixed = setup.fixed.then_some(setup.rates.len() as u32);
        let hosts = setup.rates.iter().enumerate();
        let hosts = hosts.map(|(number, rate)| Machine::new(number, *rate, &totals, fixed));
        let mut world = Self {
            now: 0,
            store: Store::new(TTL * 1000 / setup.store_rate),
            links: vec![Link::Up; setup.rates.len()],
            hosts: hosts.collect(),
            messages: Vec::new(),
            served: VecDeque::new(),
            totals,
        };
        world.feed(0, &Input::Elected(true));
        world
    }

    /// Carries out what the adversary wants.
    ///
    /// # Errors
    /// The cap does not hold any more.
    pub fn take(&mut self, action: &Action) -> Result<(), String> {
        let hosts = self.links.len();
        let of = |host: usize| host % hosts;
        match *action {
            Action::Run(time) => {
                for _ in 0..time.div_ceil(STEP) {
                    self.step()?;
                }
            }
            Action::Link(host, link) => self.links[of(host)] = link,
            Action::Daemon(host, true) => self.hosts[of(host)].daemon_frozen = true,
            Action::Daemon(host, false) => {
                let requests = self.hosts[of(host)].thaw(self.now);
                self.send(of(host), requests);
            }
            Action::FreezeAt(host, stage) => {
                let host = &mut self.hosts[of(host)];
                (host.stall, host.freezes) = (stage, true);
            }
            Action::Restart(host, stage) => {
                let host = &mut self.hosts[of(host)];
                host.kill();
                host.start();
                host.stall = stage;
            }
            Action::Machine(host, frozen) => {
                let host = of(host);
                self.hosts[host].frozen = frozen;
                self.hosts[host].guard(self.now);
            }
            Action::Kill(host) => self.hosts[of(host)].kill(),
            Action::Start(host) => self.hosts[of(host)].start(),
            Action::Stall(host, stage) => self.hosts[of(host)].stall = stage,
            Action::Elect(host, elected) => self.feed(of(host), &Input::Elected(elected)),
            Action::Lose(host, which) => self.hosts[of(host)].lost = which,
            Action::Demand(host, tenant, demand) => {
                let tenant = format!("t{}", tenant % self.totals.len());
                self.hosts[of(host)].demand.insert(tenant, demand);
            }
            Action::Again(which) => {
                let count = self.served.len();
                if count > 0 {
                    let (host, request) = self.served[which % count].clone();
                    self.messages
                        .push((self.now, host, Message::ToStore(request)));
                    self.deliver();
                }
            }
            Action::Reread(host) => self.hosts[of(host)].heard = None,
        }
        self.check()
    }

    fn step(&mut self) -> Result<(), String> {
        self.now += STEP;
        self.store.expire(self.now);
        for host in 0..self.hosts.len() {
            self.hosts[host].guard(self.now);
        }
        self.check()?;
        for host in 0..self.hosts.len() {
            self.deliver();
            if self.hosts[host].runs() {
                let requests = self.hosts[host].act(self.now);
                self.send(host, requests);
                self.watch(host);
                self.work(host);
            }
            self.check()?;
        }
        self.deliver();
        self.check()
    }

    fn feed(&mut self, host: usize, input: &Input) {
        if self.hosts[host].runs() {
            let requests = self.hosts[host].feed(self.now, input);
            self.send(host, requests);
        }
    }

    fn work(&mut self, host: usize) {
        let requests = self.hosts[host].work(self.now);
        self.send(host, requests);
    }

    fn watch(&mut self, host: usize) {
        let until = match self.links[host] {
            Link::Up => self.store.revision(),
            Link::Slow(delay) => {
                let history = &self.store.history;
                history.partition_point(|(at, _)| at + delay <= self.now)
            }
            Link::Down | Link::Deaf => return,
        };
        let requests = self.hosts[host].watch(self.now, &self.store, until);
        self.send(host, requests);
    }

    fn send(&mut self, host: usize, requests: Vec<Request>) {
        let delay = match self.links[host] {
            Link::Up | Link::Deaf => 0,
            Link::Slow(delay) => delay,
            Link::Down => return,
        };
        for request in requests {
            self.messages
                .push((self.now + delay, host, Message::ToStore(request)));
        }
    }

    /// Delivers what has arrived: messages of which the delays differ overtake each other.
    fn deliver(&mut self) {
        loop {
            let due = self.messages.iter().position(|(at, host, message)| {
                let hears = matches!(message, Message::ToStore(_)) || self.hosts[*host].runs();
                *at <= self.now && hears
            });
            let Some(due) = due else {
                return;
            };
            let (_, host, message) = self.messages.remove(due);
            match message {
                Message::ToStore(request) => self.serve(host, request),
                Message::ToHost(answer) => {
                    let requests = self.hosts[host].hear(self.now, answer);
                    self.send(host, requests);
                    self.work(host);
                }
            }
        }
    }

    fn serve(&mut self, host: usize, request: Request) {
        if self.served.len() >= REMEMBERED {
            self.served.pop_front();
        }
        self.served.push_back((host, request.clone()));
        let name = self.hosts[host].name.clone();
        let answer = self.store.serve(self.now, &name, request);
        let delay = match self.links[host] {
            Link::Up => 0,
            Link::Slow(delay) => delay,
            Link::Down | Link::Deaf => return,
        };
        if let Some(answer) = answer {
            self.messages
                .push((self.now + delay, host, Message::ToHost(answer)));
        }
    }

    /// What the hosts may send of a tenant together.
    pub fn sum(&self, tenant: &str) -> u64 {
        let sending = self.hosts.iter().filter(|host| !host.frozen);
        sending.filter_map(|host| host.kernel.get(tenant)).sum()
    }

    pub fn check(&self) -> Result<(), String> {
        for (tenant, total) in &self.totals {
            let sum = self.sum(tenant);
            if sum > total.max.0 {
                let each = self
                    .hosts
                    .iter()
                    .map(|host| (&host.name, host.kernel.get(tenant)));
                let each: Vec<_> = each.collect();
                return Err(format!(
                    "at {} ms the hosts may send {sum} of {tenant}, {} more than {}: {each:?}",
                    self.now,
                    sum - total.max.0,
                    total.max.0
                ));
            }
        }
        Ok(())
    }
}
