//! What happens to a session when etcd fails.

use std::time::Duration;

use nicety_netdev::netns::NetNs;
use nicety_police::cluster::Batch;
use nicety_police::cluster::wire::Ledger;
use nicety_policed::etcd::{Event, Outcome, Trouble};
use nicety_testkit::etcd::{Etcd, Options};
use nicety_testkit::runner::Skip;

use crate::host::{Host, TTL, ended, settings, single, troubles, until_value};
use crate::work::report;

pub fn killed() -> Result<(), Skip> {
    let mut etcd = Etcd::start(Options::default())?;
    let mut wanted = settings(&etcd, "a");
    // Longer than an election among the rest.
    wanted.ttl = Duration::from_secs(20);
    let mut host = Host::with(etcd.hub(), wanted);
    host.until("joined", |_, status| status.joined);
    let mut host = host.registered("one");
    let lease = host.lease();
    let at = host.session().status().endpoint.unwrap();
    let member = etcd.endpoints().iter().position(|url| *url == at).unwrap();
    etcd.kill(member);
    host.until("at another member", |_, status| {
        status.registered && status.endpoint.as_ref() != Some(&at)
    });
    assert_eq!(host.lease(), lease);
    assert_eq!(ended(&host.events), 0);
    until_value(&etcd, "report/a", |value| {
        // As the daemon does every period: what is lost with a connection comes again.
        host.session().report(report(9));
        value.contains("\"holds\":9")
    });
    Ok(())
}

pub fn cut() -> Result<(), Skip> {
    let etcd = Etcd::start(Options::default())?;
    let ns = NetNs::create("host").unwrap();
    etcd.join(&ns, 10).unwrap();
    let mut host = Host::with(&ns, settings(&etcd, "a"));
    host.until("joined", |_, status| status.joined);
    let lease = host.lease();
    etcd.cut(10, true).unwrap();
    host.until("told", |events, status| {
        !status.joined && !troubles(events).is_empty()
    });
    let sent_at = host.session().status().lease.unwrap().sent_at;
    std::thread::sleep(2 * TTL);
    // No renewal that etcd has not answered counts.
    let held = host.session().status().lease.unwrap();
    assert_eq!((held.id, held.sent_at), (lease, sent_at));
    etcd.cut(10, false).unwrap();
    host.until("back with another lease", |events, status| {
        let another = status.lease.is_some_and(|has| has.id != lease);
        ended(events) > 0 && status.joined && another
    });
    Ok(())
}

pub fn slow() -> Result<(), Skip> {
    let etcd = Etcd::start(single())?;
    let mut wanted = settings(&etcd, "a");
    wanted.ttl = Duration::from_secs(12);
    wanted.timeout = Duration::from_secs(8);
    let mut host = Host::with(etcd.hub(), wanted);
    host.until("joined", |_, status| status.joined);
    let mut host = host.registered("one");
    let lease = host.lease();
    let slowed = etcd.slow(1, Duration::from_secs(1));
    if let Err(error) = &slowed {
        println!(
            "  no netem here ({}): etcd is frozen for seconds instead",
            error.to_string().trim()
        );
        etcd.freeze(0, true);
    }
    let before = host.session().status().lease.unwrap().sent_at;
    host.session().report(report(5));
    std::thread::sleep(Duration::from_secs(2));
    match slowed {
        Ok(()) => etcd.slow(1, Duration::ZERO).unwrap(),
        Err(_) => etcd.freeze(0, false),
    }
    host.until("renewed all the same", |_, status| {
        status.lease.is_some_and(|has| has.sent_at > before)
    });
    until_value(&etcd, "report/a", |value| value.contains("\"holds\":5"));
    assert_eq!(host.lease(), lease);
    assert!(
        troubles(&host.events).is_empty(),
        "{:?}",
        troubles(&host.events)
    );
    Ok(())
}

pub fn full() -> Result<(), Skip> {
    let etcd = Etcd::start(Options {
        quota_bytes: Some(1 << 20),
        ..single()
    })?;
    let mut wanted = settings(&etcd, "a");
    // Whoever is full answers, however slowly.
    wanted.ttl = Duration::from_secs(12);
    wanted.timeout = Duration::from_secs(8);
    let mut host = Host::with(etcd.hub(), wanted);
    host.until("joined", |_, status| status.joined);
    let mut host = host.registered("one");
    let big = "x".repeat(100_000);
    let put = || etcd.ctl(&["put", "/elsewhere", &big]).unwrap();
    while put().status.success() {}
    host.look(|_, _| true);
    host.session().report(report(1));
    assert_eq!(host.trouble(), Trouble::NoSpace);
    let (lease, before) = (host.lease(), host.session().status().lease.unwrap().sent_at);
    host.until("renewed", |_, status| {
        status.lease.is_some_and(|has| has.sent_at > before)
    });
    assert_eq!(host.lease(), lease);
    // Made room for as the message says, it goes on by itself.
    let fields = etcd
        .told(&["get", "/elsewhere", "--write-out", "fields"])
        .unwrap();
    let mut lines = fields.lines();
    let revision = lines.find_map(|line| line.strip_prefix("\"Revision\" : "));
    etcd.told(&["compact", revision.unwrap()]).unwrap();
    etcd.told(&["defrag"]).unwrap();
    etcd.told(&["alarm", "disarm"]).unwrap();
    host.look(|_, _| true);
    host.session().report(report(2));
    until_value(&etcd, "report/a", |value| value.contains("\"holds\":2"));
    assert_eq!(troubles(&host.events), [Trouble::NoSpace]);
    // The next time is another accident.
    while put().status.success() {}
    host.forget();
    host.session().report(report(3));
    assert_eq!(host.trouble(), Trouble::NoSpace);
    Ok(())
}

pub fn emptied() -> Result<(), Skip> {
    let mut etcd = Etcd::start(single())?;
    let mut host = Host::joined(&etcd, "a");
    host.until("leading", |_, status| status.leading);
    etcd.kill(0);
    etcd.wipe(0).unwrap();
    etcd.run(0).unwrap();
    host.until("its lease lost", |events, _| ended(events) > 0);
    host.until("leading again", |_, status| status.joined && status.leading);
    host.forget();
    let empty = Batch {
        expects: None,
        becomes: Ledger {
            schema: 1,
            sequence: 1,
            revision: 1,
            digest: 1,
        },
        grants: Vec::new(),
    };
    let written = |events: &[Event], wanted: Outcome| events.contains(&Event::Written(wanted));
    host.session().lead(vec![empty.clone()]);
    host.until("refused while the prefix is new", |events, _| {
        written(events, Outcome::Young)
    });
    // It passes when no host can hold what an older etcd has granted.
    for _ in 0..300 {
        host.session().lead(vec![empty.clone()]);
        std::thread::sleep(Duration::from_millis(100));
        if host.look(|events, _| written(events, Outcome::Applied)) {
            return Ok(());
        }
    }
    panic!("never applied: {:?}", host.events);
}
