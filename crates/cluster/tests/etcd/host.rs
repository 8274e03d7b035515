//! A host of a test: its session and what it was told.

use std::time::{Duration, Instant};

use nicety_cluster::{Event, OwnPut, Session, Settings, Status, Tls, Trouble};
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
        identity: format!("test of {host}"),
        own: vec![format!("grant/{host}"), format!("member/{host}")],
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
        Self::with(etcd, settings(etcd, host))
    }

    pub fn with(etcd: &Etcd, settings: Settings) -> Self {
        Self {
            session: etcd
                .hub()
                .run(|| Session::start(settings))
                .unwrap()
                .unwrap(),
            events: Vec::new(),
        }
    }

    /// Started, and has its name.
    pub fn joined(etcd: &Etcd, host: &str) -> Self {
        let mut host = Self::start(etcd, host);
        host.until("joined", |events, _| {
            count(events, |event| matches!(event, Event::Joined { .. })) > 0
        });
        host
    }

    /// Takes events until it is as wanted.
    pub fn until(&mut self, what: &str, wanted: impl Fn(&[Event], &Status) -> bool) {
        let end = Instant::now() + LIMIT;
        loop {
            self.events.extend(self.session.poll());
            let status = self.session.status();
            if wanted(&self.events, &status) {
                return;
            }
            assert!(
                Instant::now() < end,
                "never {what}: {status:?} {:#?}",
                self.events
            );
            std::thread::sleep(Duration::from_millis(20));
        }
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

    pub fn put(&self, path: &str, value: &str, leased: bool) {
        self.session.put(OwnPut {
            path: path.to_owned(),
            value: value.into(),
            leased,
        });
    }

    /// What was told is not looked at again.
    pub fn forget(&mut self) {
        self.events.extend(self.session.poll());
        self.events.clear();
    }
}

pub fn count(events: &[Event], is: impl Fn(&Event) -> bool) -> usize {
    events.iter().filter(|event| is(event)).count()
}

pub fn troubles(events: &[Event]) -> Vec<Trouble> {
    let of = |event: &Event| match event {
        Event::Trouble(trouble) => Some(trouble.clone()),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

/// What stands at a path, by etcdctl.
pub fn value(etcd: &Etcd, path: &str) -> String {
    let key = format!("{PREFIX}/{path}");
    etcd.told(&["get", "--print-value-only", &key])
        .unwrap()
        .trim_end()
        .to_owned()
}

/// Waits for what stands at a path.
pub fn until_value(etcd: &Etcd, path: &str, wanted: &str) {
    let end = Instant::now() + LIMIT;
    while value(etcd, path) != wanted {
        assert!(
            Instant::now() < end,
            "{path} is {:?}, never {wanted:?}",
            value(etcd, path)
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}
