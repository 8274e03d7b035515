//! Who hears late, or nothing at first.

use std::time::{Duration, Instant};

use etcd_client::Client;
use nicety_netdev::netns::NetNs;
use nicety_police::cluster::{Change, Changes};
use nicety_policed::etcd::{Event, Trouble};
use nicety_testkit::etcd::{Etcd, Options};
use nicety_testkit::runner::Skip;

use crate::host::{Host, PREFIX, TTL, settings, single, troubles};

/// More changes than wait anywhere: 1,024 in the host, as many in etcd, and 2 MB between them.
const CHANGES: usize = 6016;
/// Bytes of each.
const SIZE: usize = 2048;
/// Changes that are under way at the same time.
const AT_ONCE: usize = 32;

/// Writes a key of the prefix again and again, and forgets all but the last revision. Gives that.
fn write_much(etcd: &Etcd) -> i64 {
    let endpoint = &etcd.endpoints()[0];
    let key = format!("{PREFIX}/report/busy");
    let work = async {
        let client = Client::connect([endpoint], None).await.unwrap();
        for part in 0..CHANGES / AT_ONCE {
            let mut writes = tokio::task::JoinSet::new();
            for number in 0..AT_ONCE {
                let (mut client, key) = (client.clone(), key.clone());
                let more = "x".repeat(SIZE);
                let holds = part * AT_ONCE + number;
                let value =
                    format!(r#"{{"schema":1,"holds":{holds},"tenants":{{}},"more":"{more}"}}"#);
                writes.spawn(async move { client.put(key, value, None).await.unwrap() });
            }
            writes.join_all().await;
        }
        let mut client = client;
        let last = client
            .put(key, "{\"schema\":1,\"holds\":77,\"tenants\":{}}", None)
            .await;
        let revision = last.unwrap().header().unwrap().revision();
        client.compact(revision, None).await.unwrap();
        revision
    };
    let run = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap().block_on(work)
    };
    etcd.hub().run(run).unwrap()
}

/// All that was read anew.
fn reread(events: &[Event]) -> Option<&Changes> {
    events.iter().find_map(|event| match event {
        Event::Changed(changes) if changes.all => Some(changes),
        _ => None,
    })
}

pub fn compacted() -> Result<(), Skip> {
    let etcd = Etcd::start(single())?;
    let mut wanted = settings(&etcd, "a");
    // Nobody asks for events meanwhile.
    wanted.ttl = Duration::from_secs(120);
    let mut host = Host::with(etcd.hub(), wanted);
    host.until("leading", |events, _| {
        events.contains(&Event::Elected(true))
    });
    let lease = host.lease();
    host.forget();
    let last = write_much(&etcd);
    host.until("read anew", |events, _| reread(events).is_some());
    let all = reread(&host.events).unwrap();
    assert!(all.revision >= last, "{} {last}", all.revision);
    let newest = |change: &Change| {
        matches!(change, Change::Put { key, value, .. }
            if key == "report/busy" && String::from_utf8_lossy(value).contains("77"))
    };
    assert!(all.changes.iter().any(newest), "{all:?}");
    // It has missed changes, and neither its connection nor its lease.
    let told = host
        .events
        .iter()
        .filter(|event| matches!(event, Event::Changed(of) if !of.all));
    let told = told.count();
    assert!(
        told < CHANGES,
        "all {told} changes were told: nothing was compacted"
    );
    println!("  {told} of {CHANGES} changes were told, then everything");
    assert_eq!(host.lease(), lease);
    assert!(
        troubles(&host.events).is_empty(),
        "{:?}",
        troubles(&host.events)
    );
    assert!(host.session().status().leading);
    // And goes on from there.
    host.forget();
    etcd.told(&["put", &format!("{PREFIX}/report/late"), "{}"])
        .unwrap();
    host.until("told of what comes", |events, _| {
        crate::host::told(events, "report/late")
    });
    Ok(())
}

pub fn later() -> Result<(), Skip> {
    let mut etcd = Etcd::start(single())?;
    etcd.kill(0);
    let mut host = Host::start(&etcd, "a");
    let said = host.trouble();
    assert!(matches!(said, Trouble::Unreachable { .. }), "{said}");
    let said = said.to_string();
    for part in [
        "cannot reach etcd at http://198.51.100.1:2379",
        "refused",
        "check endpoints",
    ] {
        assert!(said.contains(part), "{said}");
    }
    // It tries again and again, and says no more.
    let end = Instant::now() + 2 * TTL;
    while Instant::now() < end {
        host.look(|_, status| status.joined);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(troubles(&host.events).len(), 1, "{:?}", host.events);
    etcd.run(0).unwrap();
    host.until("joined", |_, status| {
        status.joined && status.lease.is_some()
    });
    assert_eq!(host.session().status().trouble, None);
    drop(host.registered("one"));
    Ok(())
}

pub fn told_once() -> Result<(), Skip> {
    let etcd = Etcd::start(Options::default())?;
    let ns = NetNs::create("host").unwrap();
    etcd.join(&ns, 10).unwrap();
    let mut host = Host::with(&ns, settings(&etcd, "a"));
    host.until("joined", |_, status| status.joined);
    host.forget();
    // All three endpoints are tried meanwhile, and each fails in its own way.
    etcd.silence(10, true).unwrap();
    let end = Instant::now() + 5 * TTL;
    while Instant::now() < end {
        host.look(|_, _| true);
        std::thread::sleep(Duration::from_millis(20));
    }
    let said = troubles(&host.events);
    assert_eq!(said.len(), 1, "{said:?}");
    etcd.silence(10, false).unwrap();
    let another = |event: &Event| matches!(event, Event::Joined { .. });
    host.until("joined again", |events, status| {
        status.joined && events.iter().any(another) && crate::host::ended(events) == 1
    });
    // The end of its lease is told as that.
    assert_eq!(
        troubles(&host.events).len(),
        1,
        "{:?}",
        troubles(&host.events)
    );
    Ok(())
}
