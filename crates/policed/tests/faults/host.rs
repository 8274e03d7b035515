//! A host as a process of its own, so that it can be killed and stopped: the real session and the real machine that
//! decides, as `nicety-policed` puts them together, over a port that is a file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use nicety_host::journal::since_boot;
use nicety_model::BitRate;
use nicety_police::cluster::mutant::{self, Mutant};
use nicety_police::cluster::told::Told;
use nicety_police::cluster::wire::Total;
use nicety_police::cluster::{
    Applied, HostSettings, Input, LocalDemand, Margin, Node, Orders, Output, Remembered,
};
use nicety_police::event::Event;
use nicety_policed::etcd::{Credentials, Event as Heard, Outcome, Session, Settings, Tls};
use serde::{Deserialize, Serialize};

use crate::port::{Field, Port};

/// Its only tenant.
pub const TENANT: &str = "blue";

/// How a host is started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Config {
    pub dir: PathBuf,
    pub name: String,
    pub prefix: String,
    pub endpoints: Vec<String>,
    pub ttl: Duration,
    pub period: Duration,
    pub ca: Option<PathBuf>,
    pub own: Option<(PathBuf, PathBuf)>,
    pub user: Option<(String, PathBuf)>,
    pub total: u64,
    pub guarantee: u64,
    pub hosts: u32,
    pub safe_share: f64,
    /// A rule that is taken out.
    pub mutant: Option<usize>,
}

impl Config {
    pub fn file(&self, what: &str) -> PathBuf {
        self.dir.join(format!("{}.{what}", self.name))
    }

    fn session(&self) -> Settings {
        Settings {
            endpoints: self.endpoints.clone(),
            prefix: self.prefix.clone(),
            host: self.name.clone(),
            tls: Tls {
                ca: self.ca.clone(),
                own: self.own.clone(),
            },
            user: self.user.clone().map(|(user, password_file)| Credentials {
                user,
                password_file,
            }),
            ttl: self.ttl,
            timeout: Duration::from_secs(2).min(self.ttl / 3),
        }
    }

    fn host(&self) -> HostSettings {
        let total = Total {
            max: BitRate(self.total),
            guarantee: BitRate(self.guarantee),
            weight: 1,
        };
        HostSettings {
            name: self.name.clone(),
            machine: format!("machine of {}", self.name),
            margin: Margin::default(),
            hosts: Some(self.hosts),
            safe_share: Some(self.safe_share),
            period: self.period,
            tenants: BTreeMap::from([(TENANT.to_owned(), total)]),
        }
    }
}

/// Rules that can be taken out.
pub const MUTANTS: [Mutant; 14] = [
    Mutant::NoAcknowledgement,
    Mutant::NoCeiling,
    Mutant::NoMargin,
    Mutant::NoLeaseCheck,
    Mutant::AnyLease,
    Mutant::NoGuard,
    Mutant::NoLedger,
    Mutant::NoStep,
    Mutant::ChargeIsOwned,
    Mutant::SafeAboveGrant,
    Mutant::AcknowledgedEarly,
    Mutant::StaleMemory,
    Mutant::RegisteredEarly,
    Mutant::AppliedLate,
];

/// Runs until it is killed.
pub fn main(config: &str) -> ExitCode {
    let config: Config = serde_json::from_str(config).unwrap();
    let missing = config.mutant.map(|which| MUTANTS[which]);
    mutant::with(missing, || Daemon::new(&config).run());
    ExitCode::SUCCESS
}

struct Daemon {
    session: Session,
    node: Node,
    port: Port,
    memory: PathBuf,
    orders: Orders,
    held: bool,
    unwritten: Option<Remembered>,
    period: Duration,
    told: Told,
    /// It tells its guard nothing.
    unguarded: bool,
}

impl Daemon {
    fn new(config: &Config) -> Self {
        let memory = config.file("json");
        let remembered = std::fs::read(&memory).ok();
        let remembered = remembered.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Self {
            session: Session::start(config.session()).unwrap(),
            node: Node::new(config.host(), remembered),
            port: Port::open(&config.file("port")).unwrap(),
            memory,
            orders: Orders::default(),
            held: false,
            unwritten: None,
            period: config.period,
            told: Told::default(),
            unguarded: config.mutant.map(|which| MUTANTS[which]) == Some(Mutant::NoGuard),
        }
    }

    fn run(&mut self) {
        self.feed(&Input::Tick);
        loop {
            for heard in self.session.poll() {
                self.hear(heard);
            }
            self.feed(&Input::Tick);
            self.hold();
            self.set();
            let set = BitRate(self.port.get(Field::Limit));
            self.feed(&Input::Applied(Applied {
                serial: self.orders.serial,
                set: BTreeMap::from([(TENANT.to_owned(), set)]),
            }));
            let local = BTreeMap::from([(TENANT.to_owned(), self.local(set.0))]);
            self.feed(&Input::Period(local));
            self.feed(&Input::Lead);
            sleep(self.period / 6);
        }
    }

    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Joined { endpoint } => say(&Event::EtcdJoined(endpoint)),
            Heard::Trouble(trouble) => say(&Event::EtcdTrouble(trouble.to_string())),
            Heard::Lease(lease) => self.feed(&Input::Lease(lease)),
            Heard::Changed(changes) => self.feed(&Input::Changed(changes)),
            Heard::Elected(leads) => self.feed(&Input::Elected(leads)),
            Heard::Written(outcome) => self.feed(&Input::Written {
                applied: outcome == Outcome::Applied,
            }),
        }
    }

    fn feed(&mut self, input: &Input) {
        let output: Output = self.node.feed(since_boot(), input);
        if output.remember.is_some() {
            self.unwritten = output.remember;
            self.held = false;
        }
        if let Some(orders) = output.orders {
            self.orders = orders;
            self.held = false;
        }
        if let Some(registration) = output.register {
            self.session.register(registration);
        }
        if let Some(report) = output.report {
            self.session.report(report);
        }
        if !output.batches.is_empty() {
            self.session.lead(output.batches);
        }
        for event in output.events {
            if self.told.is_new(&event) {
                say(&Event::Cluster(event));
            }
        }
        self.port.set(Field::Leads, u64::from(self.node.leads()));
    }

    /// On disk and with the guard, before anything is raised.
    fn hold(&mut self) {
        if std::mem::replace(&mut self.held, true) {
            return;
        }
        if let Some(remembered) = self.unwritten.take() {
            let new = self.memory.with_extension("new");
            std::fs::write(&new, serde_json::to_vec(&remembered).unwrap()).unwrap();
            std::fs::rename(&new, &self.memory).unwrap();
        }
        self.port.set(Field::Safe, self.safe());
        if let Some(deadline) = self.orders.deadline.filter(|_| !self.unguarded) {
            let micros = u64::try_from(deadline.as_micros()).unwrap_or(u64::MAX);
            self.port.set(Field::Deadline, micros);
        }
    }

    fn set(&mut self) {
        let limit = self
            .orders
            .limits
            .get(TENANT)
            .map_or(0, |limit| limit.max.0);
        let has = self.port.get(Field::Limit);
        let over = self
            .orders
            .deadline
            .is_some_and(|until| since_boot() >= until);
        let limit = if over { has.min(self.safe()) } else { limit };
        if limit != has {
            self.port.set(Field::Limit, limit);
        }
        self.port.set(Field::Number, self.orders.number);
        if self.orders.deadline.is_none() {
            self.port.set(Field::Deadline, 0);
        }
    }

    fn safe(&self) -> u64 {
        self.orders.safe.get(TENANT).map_or(0, |safe| safe.0)
    }

    /// As the controller of a host guesses it.
    fn local(&self, limit: u64) -> LocalDemand {
        let wants = self.port.get(Field::Demand);
        let held = wants > 0 && wants as f64 >= 0.99 * limit as f64;
        LocalDemand {
            used: BitRate(wants.min(limit)),
            demand: (!held).then_some(BitRate(wants + wants / 20)),
        }
    }
}

/// A line of its log: the name that journalctl(1) selects by, and the words.
#[allow(clippy::print_stderr, reason = "a host's log")]
fn say(event: &Event) {
    eprintln!("{}\t{event}", event.name().unwrap_or("-"));
}
