use std::collections::BTreeMap;

use nicety_model::BitRate;

use super::*;
use crate::cluster::Usage;
use crate::cluster::wire::{Grant, SCHEMA};

const PERIOD: Duration = Duration::from_secs(1);

fn at(seconds: f64) -> Duration {
    Duration::from_secs_f64(100.0 + seconds)
}

fn report(holds: u64, demand: Option<u64>) -> HostReport {
    let usage = Usage {
        used: BitRate(demand.unwrap_or(1_000)),
        demand: demand.map(BitRate),
    };
    HostReport {
        schema: SCHEMA,
        holds,
        tenants: BTreeMap::from([("blue".to_owned(), usage)]),
    }
}

fn grant(number: u64, max: u64, ceiling: u64) -> HostGrant {
    let grant = Grant {
        max: BitRate(max),
        ceiling: Some(BitRate(ceiling)),
        ..Grant::default()
    };
    HostGrant {
        schema: SCHEMA,
        lease: 1,
        number,
        tenants: BTreeMap::from([("blue".to_owned(), grant)]),
    }
}

struct Host(Reports);

impl Host {
    /// Whether it writes.
    fn says(&mut self, seconds: f64, report: HostReport) -> bool {
        self.0.due(at(seconds), PERIOD, 1, None, report).is_some()
    }
}

#[test]
fn what_is_no_news_is_written_seldom() {
    let mut host = Host(Reports::default());
    assert!(host.says(0.0, report(1, Some(1_000))));
    let quiet = (1..=40).map(|quarter| f64::from(quarter) / 4.0);
    let writes = quiet.filter(|time| host.says(*time, report(1, Some(1_010))));
    assert_eq!(writes.collect::<Vec<_>>(), [3.0, 6.0, 9.0]);
    // A little more is told once a period, in its time.
    assert!(!host.says(10.25, report(1, Some(1_100))) || !host.says(10.5, report(1, Some(1_200))));
}

#[test]
fn what_is_sharp_is_written_at_once() {
    let mut host = Host(Reports::default());
    assert!(host.says(0.0, report(1, Some(1_000))));
    // It stops, begins, and is held by its grant.
    assert!(host.says(0.1, report(1, Some(0))));
    assert!(host.says(0.2, report(1, Some(1_000))));
    assert!(host.says(0.3, report(1, None)));
    assert!(host.says(0.4, report(1, Some(0))));
    assert!(host.says(0.5, report(1, None)));
    // It has no more of them.
    assert!(!host.says(0.6, report(1, Some(0))));
    assert!(host.says(1.1, report(1, Some(0))));
    // A new lease knows nothing of the last.
    let mut reports = host.0;
    let again = report(1, Some(0));
    assert_eq!(
        reports.due(at(2.2), PERIOD, 2, None, again.clone()),
        Some(again)
    );
}

#[test]
fn an_acknowledgement_cannot_wait_when_it_frees_something() {
    let (old, new) = (report(1, Some(50)), report(2, Some(50)));
    assert!(is_sharp(&old, &new, Some(&grant(2, 100, 900))));
    // A raise is held already, and another grant than the last frees nothing.
    assert!(!is_sharp(&old, &new, Some(&grant(2, 100, 100))));
    assert!(!is_sharp(&old, &new, Some(&grant(3, 100, 900))));
    assert!(!is_sharp(&old, &new, None));
    // What is small beside the grant matters to nobody.
    let (old, new) = (report(1, Some(1)), report(1, Some(4)));
    assert!(!is_sharp(&old, &new, Some(&grant(1, 100, 100))));
    assert!(is_sharp(&old, &new, Some(&grant(1, 10, 10))));
}

#[test]
fn nobody_writes_more_than_once_a_period_in_the_mean() {
    let mut host = Host(Reports::default());
    let mut turns = Turns::default();
    let (mut reports, mut decided) = (0, 0);
    for tenth in 0..10_000 {
        let time = f64::from(tenth) / 10.0;
        let demand = (tenth % 2 == 0).then_some(1_000);
        reports += u32::from(host.says(time, report(1, demand)));
        turns.hurry();
        if turns.due(at(time), PERIOD, 20) {
            turns.took(at(time), 20, 20);
            turns.written();
            decided += 1;
        }
    }
    assert!((990..=1_000 + 6).contains(&reports), "{reports}");
    assert!((990..=1_000 + 5).contains(&decided), "{decided}");
}

#[test]
fn a_leader_waits_for_what_it_has_written() {
    let mut turns = Turns::default();
    assert!(turns.due(at(0.0), PERIOD, 20));
    turns.took(at(0.0), 1, 20);
    turns.hurry();
    assert!(!turns.due(at(0.5), PERIOD, 20));
    turns.written();
    assert!(turns.due(at(0.5), PERIOD, 20));
    turns.took(at(0.5), 1, 20);
    // Nobody answers.
    turns.hurry();
    assert!(!turns.due(at(1.4), PERIOD, 20));
    assert!(turns.due(at(1.5), PERIOD, 20));
    turns.took(at(1.5), 0, 20);
    assert!(!turns.due(at(2.0), PERIOD, 20));
    assert!(turns.due(at(2.4), PERIOD, 20));
}
