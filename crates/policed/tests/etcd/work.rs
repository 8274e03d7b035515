//! What a session is for.

use std::time::Duration;

use nicety_police::cluster::wire::Ledger;
use nicety_police::cluster::{Batch, Change, HostGrant, HostReport};
use nicety_policed::etcd::{Event, Forgotten, Outcome, Trouble, forget, look};
use nicety_testkit::etcd::Etcd;
use nicety_testkit::runner::Skip;

use crate::host::{Host, PREFIX, TTL, ended, settings, single, told, troubles, until_value, value};

pub fn report(holds: u64) -> HostReport {
    HostReport {
        schema: 1,
        holds,
        ..HostReport::default()
    }
}

pub fn values() -> Result<(), Skip> {
    let etcd = Etcd::start(single())?;
    let mut host = Host::joined(&etcd, "a");
    assert_eq!(value(&etcd, "schema"), "nicety cluster 1");
    // No report before the entry stands.
    host.session().report(report(1));
    host.register("one");
    host.until("registered", |_, status| status.registered);
    host.session().report(report(2));
    until_value(&etcd, "report/a", |value| value.contains("\"holds\":2"));
    assert!(value(&etcd, "member/a").contains("\"machine\":\"one\""));
    // An entry that somebody has removed comes back.
    etcd.told(&["del", &format!("{PREFIX}/member/a")]).unwrap();
    host.session().report(report(3));
    until_value(&etcd, "member/a", |value| !value.is_empty());
    drop(host);
    // What is under the lease goes with it.
    until_value(&etcd, "member/a", str::is_empty);
    assert_eq!(value(&etcd, "report/a"), "");
    Ok(())
}

pub fn names() -> Result<(), Skip> {
    let etcd = Etcd::start(single())?;
    let mut first = Host::joined(&etcd, "a").registered("one");
    let mut second = Host::joined(&etcd, "a");
    second.register("two");
    let said = second.trouble().to_string();
    assert!(
        said.contains("another machine has the name a at etcd (machine one)"),
        "{said}"
    );
    second.session().report(report(7));
    first.look(|_, _| true);
    assert_eq!(value(&etcd, "report/a"), "");
    drop(first);
    second.until("registered", |_, status| status.registered);
    // One line, however often it was refused.
    assert_eq!(troubles(&second.events).len(), 1);
    // The next daemon of the same machine does not wait for the end of a lease that it once had.
    let third = Host::joined(&etcd, "a").registered("two");
    assert!(value(&etcd, "member/a").contains("two"));
    second.until("without a lease", |events, _| ended(events) == 1);
    drop(third);
    Ok(())
}

/// A transaction of a leader that has read so many before it.
fn batch(expects: Option<u64>, hosts: &[(&str, i64)]) -> Batch {
    let sequence = expects.map_or(1, |last| last + 1);
    let grants = hosts.iter().map(|(host, lease)| {
        let grant = HostGrant {
            schema: 1,
            lease: *lease,
            number: sequence,
            ..HostGrant::default()
        };
        ((*host).to_owned(), grant)
    });
    Batch {
        expects: expects.map(ledger),
        becomes: ledger(sequence),
        grants: grants.collect(),
    }
}

/// The ledger after so many transactions, as one step makes it.
fn ledger(sequence: u64) -> Ledger {
    Ledger {
        schema: 1,
        sequence,
        revision: 1,
        digest: 1,
    }
}

fn outcome(events: &[Event]) -> Option<&Outcome> {
    events.iter().find_map(|event| match event {
        Event::Written(outcome) => Some(outcome),
        _ => None,
    })
}

/// What comes of transactions, once the prefix is not new any more. Others go on meanwhile.
fn write(host: &mut Host, batches: &[Batch], others: &mut [&mut Host]) -> Outcome {
    loop {
        host.forget();
        host.session().lead(batches.to_vec());
        host.until("written", |events, _| outcome(events).is_some());
        match outcome(&host.events) {
            Some(Outcome::Young) => std::thread::sleep(Duration::from_millis(200)),
            other => return other.unwrap().clone(),
        }
        for other in others.iter_mut() {
            other.look(|_, _| true);
        }
    }
}

pub fn election() -> Result<(), Skip> {
    let etcd = Etcd::start(single())?;
    let mut first = Host::joined(&etcd, "a").registered("one");
    let elected = |events: &[Event]| events.contains(&Event::Elected(true));
    first.until("leading", |events, _| elected(events));
    let mut second = Host::joined(&etcd, "b").registered("two");
    second.session().report(report(0));
    first.until("told of b's report", |events, _| told(events, "report/b"));
    // No host but the leader is told of others, or writes.
    second.session().lead(vec![batch(None, &[("a", 1)])]);
    second.until("refused", |events, _| {
        outcome(events) == Some(&Outcome::Overtaken)
    });
    assert!(!elected(&second.events) && !told(&second.events, "member/a"));
    assert_eq!(value(&etcd, "grant/a"), "");
    let grants = [("a", first.lease()), ("b", second.lease())];
    let both = [batch(None, &grants), batch(Some(1), &grants[1..])];
    assert_eq!(
        write(&mut first, &both, &mut [&mut second]),
        Outcome::Applied
    );
    assert!(value(&etcd, "ledger").contains("\"sequence\":2"));
    second.until("granted", |events, _| told(events, "grant/b"));
    assert!(!told(&second.events, "grant/a"));
    // Who has read an older ledger writes nothing, and nothing after it.
    let stale = [batch(Some(1), &grants), batch(Some(2), &grants)];
    assert_eq!(
        write(&mut first, &stale, &mut [&mut second]),
        Outcome::Overtaken
    );
    assert!(value(&etcd, "ledger").contains("\"sequence\":2"));
    second.forget();
    drop(first);
    second.until("leading", |events, _| elected(events));
    // What the last leader has granted is there at the first look, and outlives its host.
    let all = second.events.iter().rev().find_map(|event| match event {
        Event::Changed(changes) if changes.all => Some(changes),
        _ => None,
    });
    let has = |wanted: &str| {
        let mut changes = all.unwrap().changes.iter();
        changes.any(|change| matches!(change, Change::Put { key, .. } if key == wanted))
    };
    assert!(
        has("grant/a") && has("grant/b") && has("ledger") && !has("member/a"),
        "{all:?}"
    );
    Ok(())
}

pub fn gone_for_good() -> Result<(), Skip> {
    let etcd = Etcd::start(single())?;
    let at = settings(&etcd, "a");
    let ask = |host: &str| etcd.hub().run(|| forget(&at, host)).unwrap().unwrap();
    let mut leader = Host::joined(&etcd, "a").registered("one");
    leader.until("leading", |events, _| {
        events.contains(&Event::Elected(true))
    });
    let grants = [batch(None, &[("a", leader.lease()), ("b", 7)])];
    assert_eq!(write(&mut leader, &grants, &mut []), Outcome::Applied);
    assert_eq!(ask("a"), Forgotten::Alive);
    assert_eq!(ask("b"), Forgotten::Done);
    assert_eq!(ask("b"), Forgotten::Unknown);
    let all = etcd.hub().run(|| look(&at)).unwrap().unwrap();
    let keys: Vec<&str> = all
        .changes
        .iter()
        .filter_map(|change| match change {
            Change::Put { key, .. } if !key.starts_with("leader/") => Some(key.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(keys, ["grant/a", "ledger", "member/a", "schema"]);
    Ok(())
}

pub fn stalled() -> Result<(), Skip> {
    let etcd = Etcd::start(single())?;
    let mut host = Host::joined(&etcd, "a");
    let lease = host.lease();
    // Nobody asks for events: as a loop that hangs in the kernel.
    std::thread::sleep(4 * TTL);
    host.until("its lease lost and another one there", |events, status| {
        let another = status.lease.is_some_and(|has| has.id != lease);
        ended(events) > 0 && status.joined && another
    });
    assert!(troubles(&host.events).contains(&Trouble::Stalled));
    Ok(())
}
