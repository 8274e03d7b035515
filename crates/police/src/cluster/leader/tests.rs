use std::collections::BTreeMap;

use nicety_model::BitRate;

use super::*;
use crate::cluster::view::{Change, Changes};
use crate::cluster::wire::{Grant, HostReport, Member, Total, Usage};

fn put(key: String, value: &impl Wire, lease: i64) -> Change {
    Change::Put {
        key,
        value: value.encode(),
        lease,
    }
}

fn member(host: &str, lease: i64, max: u64) -> Change {
    let total = Total {
        max: BitRate(max),
        guarantee: BitRate(max / 2),
        weight: 1,
    };
    let member = Member {
        schema: SCHEMA,
        machine: host.to_owned(),
        hosts: None,
        safe_share: None,
        tenants: BTreeMap::from([("blue".to_owned(), total)]),
    };
    put(format!("member/{host}"), &member, lease)
}

fn report(host: &str, lease: i64, holds: u64, demand: Option<u64>) -> Change {
    let usage = Usage {
        used: BitRate(0),
        demand: demand.map(BitRate),
    };
    let report = HostReport {
        schema: SCHEMA,
        holds,
        tenants: BTreeMap::from([("blue".to_owned(), usage)]),
    };
    put(format!("report/{host}"), &report, lease)
}

fn view(changes: Vec<Change>) -> View {
    let mut view = View::default();
    view.take(&Changes {
        revision: 1,
        all: true,
        changes,
    });
    view
}

/// Takes batches as the store would.
fn written(view: &mut View, batches: &[Batch]) {
    for batch in batches {
        assert_eq!(view.ledger(), Ok(batch.expects));
        let mut changes = vec![put("ledger".to_owned(), &batch.becomes, 0)];
        let grants = batch.grants.iter();
        changes.extend(grants.map(|(host, grant)| put(format!("grant/{host}"), grant, 0)));
        view.take(&Changes {
            revision: view.revision() + 1,
            all: false,
            changes,
        });
    }
}

fn step(view: &mut View) -> BTreeMap<String, Grant> {
    let (batches, _) = Leader::default().step(view);
    written(view, &batches);
    let grants = batches.into_iter().flat_map(|batch| batch.grants);
    grants
        .map(|(host, grant)| (host, grant.tenants["blue"]))
        .collect()
}

fn change(view: &mut View, changes: Vec<Change>) {
    view.take(&Changes {
        revision: view.revision() + 1,
        all: false,
        changes,
    });
}

#[test]
fn capacity_moves_only_after_it_was_given_back() {
    let mut view = view(vec![member("a", 1, 1000), member("b", 2, 1000)]);
    let first = step(&mut view);
    assert_eq!(
        (first["a"].max, first["b"].max),
        (BitRate(500), BitRate(500))
    );
    assert_eq!(first["a"].safe, BitRate(500));
    change(
        &mut view,
        vec![report("a", 1, 1, Some(0)), report("b", 2, 1, None)],
    );
    // b wants more: a is lowered first, and counts with what it had.
    let lowered = step(&mut view);
    // Only its guarantee can follow the demand at once.
    assert_eq!(
        (lowered["b"].max, lowered["b"].guarantee),
        (BitRate(500), BitRate(487))
    );
    assert_eq!(
        (lowered["a"].max, lowered["a"].ceiling()),
        (BitRate(12), BitRate(500))
    );
    assert!(step(&mut view).is_empty());
    change(
        &mut view,
        vec![report("a", 1, 2, Some(0)), report("b", 2, 2, None)],
    );
    let raised = step(&mut view);
    assert_eq!(raised["b"].max, BitRate(987));
    // Nothing more is written, but that a holds less when it dies.
    assert_eq!(
        (raised["a"].max, raised["a"].safe_ceiling()),
        (BitRate(12), BitRate(12))
    );
    change(&mut view, vec![report("b", 2, 3, None)]);
    assert!(step(&mut view).is_empty());
}

#[test]
fn an_old_report_that_comes_again_raises_nobody() {
    let member = |host, lease| {
        let Change::Put { key, value, .. } = member(host, lease, 1000) else {
            unreachable!()
        };
        let mut member = Member::decode(&value).unwrap();
        if let Some(total) = member.tenants.get_mut("blue") {
            total.guarantee = BitRate(0);
        }
        put(key, &member, lease)
    };
    let mut view = view(vec![member("a", 1), member("b", 2)]);
    step(&mut view);
    let b_wants = |holds| report("b", 2, holds, None);
    change(&mut view, vec![report("a", 1, 1, Some(0)), b_wants(1)]);
    step(&mut view);
    change(&mut view, vec![report("a", 1, 2, Some(0))]);
    assert_eq!(step(&mut view)["b"].max, BitRate(987));
    // a counts as if it had 500 again, and wants more. What it has been granted stays all it has.
    change(&mut view, vec![report("a", 1, 1, None), b_wants(3)]);
    let next = step(&mut view);
    assert!(
        next.get("a").is_none_or(|of| of.max <= BitRate(12)),
        "{next:?}"
    );
    assert!(next["b"].max < BitRate(987));
}

#[test]
fn a_dead_host_keeps_its_safe_share_and_no_more() {
    let mut view = view(vec![member("a", 1, 1000), member("b", 2, 1000)]);
    step(&mut view);
    change(
        &mut view,
        vec![report("a", 1, 1, None), report("b", 2, 1, Some(0))],
    );
    step(&mut view);
    change(&mut view, vec![report("b", 2, 2, Some(0))]);
    step(&mut view);
    let gone = |key: &str| Change::Gone {
        key: key.to_owned(),
    };
    change(&mut view, vec![report("a", 1, 3, None)]);
    change(
        &mut view,
        vec![gone("member/a"), gone("report/a"), report("b", 2, 2, None)],
    );
    // a had 987, and keeps 500 of it.
    assert_eq!(step(&mut view)["b"].max, BitRate(500));
}

#[test]
fn what_cannot_be_read_stops_raises_and_is_named() {
    let mut view = view(vec![
        member("a", 1, 1000),
        Change::Put {
            key: "grant/x".to_owned(),
            value: b"?".to_vec(),
            lease: 0,
        },
    ]);
    let (batches, events) = Leader::default().step(&view);
    let key = "grant/x".to_owned();
    assert!(events.contains(&ClusterEvent::CannotRaise { key }));
    assert!(batches[0].grants[0].1.tenants.is_empty());
    change(
        &mut view,
        vec![Change::Put {
            key: "ledger".to_owned(),
            value: b"{\"schema\":9}".to_vec(),
            lease: 0,
        }],
    );
    let (batches, _) = Leader::default().step(&view);
    assert!(batches.is_empty());
}

#[test]
fn the_smaller_total_counts_and_both_hosts_are_named_once() {
    let view = view(vec![member("a", 1, 1000), member("b", 2, 400)]);
    let mut leader = Leader::default();
    let (batches, events) = leader.step(&view);
    let sum: u64 = batches
        .iter()
        .flat_map(|batch| &batch.grants)
        .map(|(_, g)| g.tenants["blue"].max.0)
        .sum();
    assert_eq!(sum, 400);
    let differ = |event: &&ClusterEvent| matches!(event, ClusterEvent::PoliciesDiffer { .. });
    assert_eq!(events.iter().filter(differ).count(), 2);
    assert!(leader.step(&view).1.is_empty());
}

fn nine_hosts() -> View {
    let hosts = (0..9).map(|host| member(&format!("h{host}"), host + 1, 1000));
    view(hosts.collect())
}

#[test]
fn a_step_becomes_transactions_that_follow_each_other() {
    let mut view = nine_hosts();
    let (batches, _) = Leader::default().step(&view);
    let sequence = |ledger: Ledger| ledger.sequence;
    let chain: Vec<_> = (batches.iter())
        .map(|b| (b.expects.map(sequence), b.becomes.sequence, b.grants.len()))
        .collect();
    assert_eq!(
        chain,
        [
            (None, 1, 2),
            (Some(1), 2, 2),
            (Some(2), 3, 2),
            (Some(3), 4, 2),
            (Some(4), 5, 1)
        ]
    );
    written(&mut view, &batches[..4]);
    // Who comes after goes on from what was written.
    let rest: Vec<String> = step(&mut view).into_keys().collect();
    assert_eq!(rest, ["h8"]);
}

#[test]
fn a_transaction_follows_only_its_own_step() {
    let view = nine_hosts();
    let (first, _) = Leader::default().step(&view);
    let (same, _) = Leader::default().step(&view);
    assert_eq!(first, same);
    // Another revision, or other grants at the same one.
    let mut later = view.clone();
    change(&mut later, Vec::new());
    let mut other = nine_hosts();
    other.take(&Changes {
        revision: 1,
        all: false,
        changes: vec![member("h8", 9, 900)],
    });
    for view in [later, other] {
        let (second, _) = Leader::default().step(&view);
        assert_eq!(second[0].expected(), first[0].expected());
        for (mine, others) in first.iter().zip(&second).skip(1) {
            assert_eq!(mine.becomes.sequence, others.becomes.sequence);
            assert_ne!(mine.expected(), others.expected());
        }
    }
}
