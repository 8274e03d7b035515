//! What a session is for.

use nicety_cluster::{Batch, Change, Event, Outcome, Write};
use nicety_testkit::etcd::Etcd;
use nicety_testkit::runner::Skip;

use crate::host::{Host, PREFIX, TTL, count, single, troubles, until_value, value};

pub fn values() -> Result<(), Skip> {
    let etcd = Etcd::start(single())?;
    let mut host = Host::joined(&etcd, "a");
    assert_eq!(value(&etcd, "schema"), "nicety-police 1");
    assert_eq!(value(&etcd, "host/a"), "test of a");
    host.put("report/a", "1", true);
    host.put("member/a", "kept", false);
    until_value(&etcd, "report/a", "1");
    until_value(&etcd, "member/a", "kept");
    // It hears of its own path, and of no other.
    etcd.told(&["put", &format!("{PREFIX}/grant/a"), "yes"])
        .unwrap();
    etcd.told(&["put", &format!("{PREFIX}/grant/b"), "no"])
        .unwrap();
    let told = |events: &[Event], wanted: &str| {
        events.iter().any(|event| match event {
            Event::OwnChanged(changes) => changes.iter().any(
                |change| matches!(change, Change::Put(entry) if entry.value == wanted.as_bytes()),
            ),
            _ => false,
        })
    };
    host.until("told of its grant", |events, _| told(events, "yes"));
    assert!(!told(&host.events, "no"));
    // What is under the lease goes with it, the rest stays.
    drop(host);
    until_value(&etcd, "report/a", "");
    assert_eq!(value(&etcd, "host/a"), "");
    assert_eq!(value(&etcd, "member/a"), "kept");
    Ok(())
}

pub fn names() -> Result<(), Skip> {
    let etcd = Etcd::start(single())?;
    let first = Host::joined(&etcd, "a");
    let mut second = Host::start(&etcd, "a");
    let said = second.trouble().to_string();
    let lease = format!("(lease {:x}, test of a)", first.lease());
    assert!(
        said.contains("has the name a at etcd") && said.contains(&lease),
        "{said}"
    );
    second.put("report/a", "stolen", true);
    assert_eq!(value(&etcd, "report/a"), "");
    drop(first);
    second.until("joined", |_, status| status.joined);
    until_value(&etcd, "report/a", "stolen");
    // One line, however often it was refused.
    assert_eq!(troubles(&second.events).len(), 1);
    Ok(())
}

fn batch(number: u64, writes: &[(&str, &str, i64)]) -> Batch {
    let writes = writes.iter().map(|(path, value, lease)| Write {
        path: (*path).to_owned(),
        value: Some((*value).into()),
        lease: *lease,
    });
    Batch {
        number,
        writes: writes.collect(),
    }
}

fn outcome(events: &[Event], number: u64) -> Option<&Outcome> {
    events.iter().find_map(|event| match event {
        Event::Wrote { batch, outcome } if *batch == number => Some(outcome),
        _ => None,
    })
}

/// Writes a leader's batch until the prefix is not new any more.
fn write(host: &mut Host, writes: &[(&str, &str, i64)]) -> Outcome {
    for number in 1.. {
        host.forget();
        assert!(host.session().lead(batch(number, writes)));
        host.until("written", |events, _| outcome(events, number).is_some());
        match outcome(&host.events, number).unwrap() {
            Outcome::Young => std::thread::sleep(std::time::Duration::from_millis(300)),
            other => return other.clone(),
        }
    }
    unreachable!()
}

pub fn election() -> Result<(), Skip> {
    let etcd = Etcd::start(single())?;
    let mut first = Host::joined(&etcd, "a");
    first.until("leading", |events, _| {
        events
            .iter()
            .any(|event| matches!(event, Event::View { .. }))
    });
    let mut second = Host::joined(&etcd, "b");
    second.put("report/b", "wants", true);
    let sees = |events: &[Event]| {
        events.iter().any(|event| match event {
            Event::Changes { changes, .. } => changes.iter().any(
                |change| matches!(change, Change::Put(entry) if entry.path == "report/b" && entry.lease != 0),
            ),
            _ => false,
        })
    };
    first.until("told of b's report", |events, _| sees(events));
    // No host but the leader is told of others, or writes.
    assert!(!second.session().status().leading && !sees(&second.events));
    assert!(second.session().lead(batch(1, &[("grant/a", "forged", 0)])));
    second.until("refused", |events, _| {
        outcome(events, 1) == Some(&Outcome::NotLeader)
    });
    assert_eq!(value(&etcd, "grant/a"), "");
    let lease = second.lease();
    assert_eq!(
        write(&mut first, &[("grant/b", "10", lease)]),
        Outcome::Done
    );
    assert_eq!(value(&etcd, "grant/b"), "10");
    drop(first);
    second.until("leading", |events, _| {
        events.iter().any(|event| match event {
            // What the last leader granted is all there at the first look.
            Event::View { entries, .. } => entries
                .iter()
                .any(|entry| entry.path == "grant/b" && entry.lease == lease),
            _ => false,
        })
    });
    Ok(())
}

pub fn gone_lease() -> Result<(), Skip> {
    let etcd = Etcd::start(single())?;
    let mut leader = Host::joined(&etcd, "a");
    leader.until("leading", |_, status| status.leading);
    let other = Host::joined(&etcd, "b");
    let (gone, alive) = (other.lease(), leader.lease());
    drop(other);
    let writes = [("grant/b", "lost", gone), ("grant/a", "kept", alive)];
    assert_eq!(write(&mut leader, &writes), Outcome::Done);
    assert_eq!(value(&etcd, "grant/a"), "kept");
    assert_eq!(value(&etcd, "grant/b"), "");
    Ok(())
}

pub fn stalled() -> Result<(), Skip> {
    let etcd = Etcd::start(single())?;
    let mut host = Host::joined(&etcd, "a");
    let lease = host.lease();
    // Nobody asks for events: as a loop that hangs in the kernel.
    std::thread::sleep(4 * TTL);
    host.until("its lease lost and another one there", |events, status| {
        let lost = count(events, |event| *event == Event::LeaseLost) == 1;
        lost && status.joined && status.lease.is_some_and(|has| has.id != lease)
    });
    Ok(())
}
