//! A host of a test: its session and what it was told.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nicety_netdev::netns::NetNs;
use nicety_police::cluster::{Change, Lease, Margin, Registration, settings::HostSettings};
use nicety_policed::etcd::{Event, Session, Settings, Status, Tls, Trouble};
use nicety_testkit::etcd::{Etcd, Options};

/// Life of a lease.
pub const TTL: Duration = Duration::from_secs(2);
/// Limit of what is waited for; never reached where things work.
const LIMIT: Duration = Duration::from_secs(60);
/// Below which the tests work.
pub const PREFIX: &str = "/nicety/test";

/// One etcd member is all that most tests need.
pub fn single() -> Options {
    Options {
        members: 1,
        ..Options::default()
    }
}

/// Settings of a host.
pub fn settings(etcd: &Etcd, host: &str) -> Settings {
    Settings {
        endpoints: etcd.endpoints(),
        prefix: PREFIX.to_owned(),
        host: host.to_owned(),
        tls: Tls::default(),
        user: None,
        ttl: TTL,
        timeout: Duration::from_secs(2),
    }
}

pub struct Host {
    session: Session,
    pub events: Vec<Event>,
}

impl Host {
    pub fn start(etcd: &Etcd, host: &str) -> Self {
        Self::with(etcd.hub(), settings(etcd, host))
    }

    pub fn with(ns: &NetNs, settings: Settings) -> Self {
        Self {
            session: ns.run(|| Session::start(settings)).unwrap().unwrap(),
            events: Vec::new(),
        }
    }

    /// Started, and speaks to etcd.
    pub fn joined(etcd: &Etcd, host: &str) -> Self {
        let mut host = Self::start(etcd, host);
        host.until("joined", |_, status| status.joined);
        host
    }

    /// Registers as a machine, and waits until its entry stands.
    pub fn registered(mut self, machine: &str) -> Self {
        self.register(machine);
        self.until("registered", |_, status| status.registered);
        self
    }

    pub fn register(&mut self, machine: &str) {
        let settings = HostSettings {
            name: String::new(),
            machine: machine.to_owned(),
            margin: Margin::default(),
            hosts: None,
            safe_share: None,
            period: Duration::from_secs(1),
            tenants: BTreeMap::new(),
        };
        self.session.register(Registration {
            lease: self.lease(),
            member: settings.member(),
        });
    }

    /// Takes events until it is as wanted.
    pub fn until(&mut self, what: &str, wanted: impl Fn(&[Event], &Status) -> bool) {
        let end = Instant::now() + LIMIT;
        while !self.look(&wanted) {
            let status = self.session.status();
            assert!(
                Instant::now() < end,
                "never {what}: {status:?} {:#?}",
                self.events
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Takes events; whether it is as wanted.
    pub fn look(&mut self, wanted: impl Fn(&[Event], &Status) -> bool) -> bool {
        self.events.extend(self.session.poll());
        wanted(&self.events, &self.session.status())
    }

    /// The first trouble that is told.
    pub fn trouble(&mut self) -> Trouble {
        self.until("in trouble", |events, _| !troubles(events).is_empty());
        troubles(&self.events).remove(0)
    }

    pub fn session(&self) -> &Session {
        &self.session
    }

    pub fn lease(&self) -> i64 {
        self.session.status().lease.unwrap().id
    }

    /// What was told is not looked at again.
    pub fn forget(&mut self) {
        self.events.extend(self.session.poll());
        self.events.clear();
    }
}

/// Leases that have ended.
pub fn ended(events: &[Event]) -> usize {
    let ended = |event: &&Event| matches!(event, Event::Lease(Lease::Ended { .. }));
    events.iter().filter(ended).count()
}

pub fn troubles(events: &[Event]) -> Vec<Trouble> {
    let of = |event: &Event| match event {
        Event::Trouble(trouble) => Some(trouble.clone()),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

/// Whether a key was told of.
pub fn told(events: &[Event], wanted: &str) -> bool {
    let is = |change: &Change| matches!(change, Change::Put { key, .. } if key == wanted);
    events.iter().any(|event| match event {
        Event::Changed(changes) => changes.changes.iter().any(is),
        _ => false,
    })
}

/// What stands at a path, by etcdctl.
pub fn value(etcd: &Etcd, path: &str) -> String {
    let key = format!("{PREFIX}/{path}");
    let told = etcd.told(&["get", "--print-value-only", &key]);
    told.unwrap().trim_end().to_owned()
}

/// Waits for what stands at a path.
pub fn until_value(etcd: &Etcd, path: &str, wanted: impl Fn(&str) -> bool) {
    let end = Instant::now() + LIMIT;
    while !wanted(&value(etcd, path)) {
        assert!(Instant::now() < end, "{path} is {:?}", value(etcd, path));
        std::thread::sleep(Duration::from_millis(50));
    }
}
