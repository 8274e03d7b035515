//! What happens to a session when etcd fails.

use std::time::Duration;

use nicety_cluster::{Batch, Event, Outcome, Trouble, Write};
use nicety_testkit::etcd::{Etcd, Options};
use nicety_testkit::runner::Skip;

use crate::host::{Host, TTL, count, settings, single, troubles, until_value};

pub fn killed() -> Result<(), Skip> {
    let mut etcd = Etcd::start(Options::default())?;
    let mut wanted = settings(&etcd, "a");
    // Longer than an election among the rest, and a member's start.
    wanted.ttl = Duration::from_secs(20);
    let mut host = Host::with(&etcd, wanted);
    host.until("joined", |_, status| status.joined);
    let lease = host.lease();
    let at = host.session().status().endpoint.unwrap();
    let member = etcd.endpoints().iter().position(|url| *url == at).unwrap();
    etcd.kill(member);
    host.put("report/a", "still here", true);
    host.until("at another member", |_, status| {
        status.joined && status.endpoint.as_ref() != Some(&at)
    });
    assert_eq!(host.lease(), lease);
    assert_eq!(count(&host.events, |event| *event == Event::LeaseLost), 0);
    until_value(&etcd, "report/a", "still here");
    Ok(())
}

pub fn cut() -> Result<(), Skip> {
    let etcd = Etcd::start(Options::default())?;
    let mut host = Host::joined(&etcd, "a");
    let lease = host.lease();
    let all = |off| (1..=3).for_each(|number| etcd.cut(number, off).unwrap());
    all(true);
    host.until("told", |events, status| {
        !status.joined && !troubles(events).is_empty()
    });
    let sent_at = host.session().status().lease.unwrap().sent_at;
    std::thread::sleep(2 * TTL);
    // No renewal that etcd has not answered counts.
    assert_eq!(host.session().status().lease.unwrap().sent_at, sent_at);
    all(false);
    host.until("back with another lease", |events, status| {
        let lost = count(events, |event| *event == Event::LeaseLost) == 1;
        lost && status.joined && status.lease.is_some_and(|has| has.id != lease)
    });
    Ok(())
}

pub fn slow() -> Result<(), Skip> {
    let etcd = Etcd::start(single())?;
    let mut wanted = settings(&etcd, "a");
    wanted.ttl = Duration::from_secs(12);
    wanted.timeout = Duration::from_secs(8);
    let mut host = Host::with(&etcd, wanted);
    host.until("joined", |_, status| status.joined);
    let lease = host.lease();
    etcd.slow(1, Duration::from_secs(1)).unwrap();
    let before = host.session().status().lease.unwrap().sent_at;
    host.put("report/a", "late", true);
    host.until("renewed all the same", |_, status| {
        status.lease.is_some_and(|has| has.sent_at > before)
    });
    etcd.slow(1, Duration::ZERO).unwrap();
    until_value(&etcd, "report/a", "late");
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
    let mut host = Host::joined(&etcd, "a");
    let big = "x".repeat(100_000);
    while etcd
        .ctl(&["put", "/elsewhere", &big])
        .unwrap()
        .status
        .success()
    {}
    host.put("report/a", "no room", true);
    let said = host.trouble();
    assert_eq!(said, Trouble::NoSpace);
    let (lease, before) = (host.lease(), host.session().status().lease.unwrap().sent_at);
    host.until("renewed", |_, status| {
        status.lease.is_some_and(|has| has.sent_at > before)
    });
    assert_eq!(host.lease(), lease);
    // Made room for as the message says, it goes on by itself.
    let revision = etcd
        .told(&["get", "/elsewhere", "--write-out", "fields"])
        .unwrap();
    let revision = revision
        .lines()
        .find_map(|line| line.strip_prefix("\"Revision\" : "))
        .unwrap();
    etcd.told(&["compact", revision]).unwrap();
    etcd.told(&["defrag"]).unwrap();
    etcd.told(&["alarm", "disarm"]).unwrap();
    host.put("report/a", "room", true);
    until_value(&etcd, "report/a", "room");
    assert_eq!(troubles(&host.events), [Trouble::NoSpace]);
    Ok(())
}

pub fn emptied() -> Result<(), Skip> {
    let mut etcd = Etcd::start(single())?;
    let mut host = Host::joined(&etcd, "a");
    host.until("leading", |_, status| status.leading);
    etcd.kill(0);
    etcd.wipe(0).unwrap();
    etcd.run(0).unwrap();
    host.until("its lease lost", |events, _| {
        count(events, |event| *event == Event::LeaseLost) == 1
    });
    host.until("leading again", |_, status| status.joined && status.leading);
    host.forget();
    let grant = |number| Batch {
        number,
        writes: vec![Write {
            path: "grant/a".to_owned(),
            value: Some(b"all of it".to_vec()),
            lease: host.lease(),
        }],
    };
    let (early, late) = (grant(1), grant(2));
    assert!(host.session().lead(early));
    let wrote = |events: &[Event], wanted: &Event| events.contains(wanted);
    let young = Event::Wrote {
        batch: 1,
        outcome: Outcome::Young,
    };
    host.until("refused while the prefix is new", |events, _| {
        wrote(events, &young)
    });
    std::thread::sleep(2 * TTL + Duration::from_secs(1));
    // The lease of the mark ends within etcd's own time for that.
    let mut batch = late;
    loop {
        let number = batch.number;
        assert!(host.session().lead(batch.clone()));
        host.until("answered", |events, _| {
            events
                .iter()
                .any(|event| matches!(event, Event::Wrote { batch, .. } if *batch == number))
        });
        let done = Event::Wrote {
            batch: number,
            outcome: Outcome::Done,
        };
        if wrote(&host.events, &done) {
            return Ok(());
        }
        batch.number += 1;
        std::thread::sleep(Duration::from_millis(200));
    }
}
