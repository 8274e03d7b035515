use super::*;
use crate::cluster::settings::Margin;
use crate::cluster::wire::{Grant, Total};

const TTL: Duration = Duration::from_secs(10);

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn host(hosts: Option<u32>, remembered: Option<u64>) -> Host {
    let total = Total {
        max: BitRate(100),
        guarantee: BitRate(40),
        weight: 1,
    };
    let settings = HostSettings {
        name: "a".to_owned(),
        machine: "m".to_owned(),
        margin: Margin::default(),
        hosts,
        safe_share: None,
        period: Duration::from_secs(1),
        tenants: BTreeMap::from([("blue".to_owned(), total)]),
    };
    let remembered = remembered.map(|safe| Remembered {
        safe: BTreeMap::from([("blue".to_owned(), BitRate(safe))]),
    });
    Host::new(settings, remembered)
}

fn renewed(lease: i64, sent_at: Duration) -> Lease {
    Lease::Renewed {
        lease,
        sent_at,
        ttl: TTL,
    }
}

fn record(lease: i64, number: u64, max: u64, safe: u64) -> HostView {
    let grant = Grant {
        max: BitRate(max),
        safe: BitRate(safe),
        ..Grant::default()
    };
    HostView {
        grant: Some(Some(HostGrant {
            schema: SCHEMA,
            lease,
            number,
            tenants: BTreeMap::from([("blue".to_owned(), grant)]),
        })),
        ..HostView::default()
    }
}

fn max(host: &Host, now: Duration) -> u64 {
    host.orders(now).limits["blue"].max.0
}

fn apply(host: &mut Host, now: Duration, set: u64) -> Vec<String> {
    let orders = host.orders(now);
    host.applied(
        &orders,
        &BTreeMap::from([("blue".to_owned(), BitRate(set))]),
    )
}

#[test]
fn a_grant_is_held_until_three_quarters_of_the_lease_have_passed() {
    let mut host = host(None, None);
    assert_eq!(max(&host, at(0)), 0);
    host.take_lease(renewed(7, at(0)));
    host.take(Some(&record(7, 3, 60, 20)));
    assert_eq!(
        host.orders(at(1)).deadline,
        Some(Duration::from_millis(7500))
    );
    assert_eq!((max(&host, at(7)), max(&host, at(8))), (60, 20));
    // A renewal that was sent earlier and is answered late changes nothing; a later one does.
    host.take_lease(renewed(7, at(4)));
    host.take_lease(renewed(7, at(2)));
    assert_eq!((max(&host, at(11)), max(&host, at(12))), (60, 20));
    host.take_lease(Lease::Ended { lease: 6 });
    assert_eq!(max(&host, at(5)), 60);
    host.take_lease(Lease::Ended { lease: 7 });
    assert_eq!(max(&host, at(5)), 20);
    assert_eq!(host.remembered().safe["blue"], BitRate(20));
}

#[test]
fn grants_of_another_lease_and_old_ones_are_not_taken() {
    let mut host = host(None, Some(15));
    host.take_lease(renewed(8, at(0)));
    host.take(Some(&record(7, 9, 60, 20)));
    assert_eq!(max(&host, at(1)), 15);
    host.take(Some(&record(8, 5, 60, 20)));
    host.take(Some(&record(8, 4, 90, 20)));
    assert_eq!(max(&host, at(1)), 60);
    // Its record was taken away: nobody counts with it any more.
    host.take(None);
    assert_eq!(max(&host, at(1)), 0);
}

#[test]
fn who_was_never_admitted_sends_nothing_or_a_reserved_share() {
    assert_eq!(max(&host(None, None), at(0)), 0);
    assert_eq!(max(&host(Some(4), None), at(0)), 25);
    assert_eq!(max(&host(Some(4), Some(3)), at(0)), 3);
}

#[test]
fn a_grant_is_acknowledged_when_the_limits_are_no_higher() {
    let mut host = host(None, None);
    host.take_lease(renewed(7, at(0)));
    host.take(Some(&record(7, 3, 60, 20)));
    let holds = |host: &Host| host.report(&BTreeMap::new()).map(|report| report.holds);
    assert_eq!(holds(&host), Some(0));
    assert_eq!(apply(&mut host, at(1), 61), ["blue"]);
    assert_eq!(holds(&host), Some(0));
    assert!(apply(&mut host, at(1), 60).is_empty());
    assert_eq!(holds(&host), Some(3));
    // The next grant is not held yet.
    host.take(Some(&record(7, 4, 50, 20)));
    assert_eq!(holds(&host), Some(3));
    host.take_lease(Lease::Ended { lease: 7 });
    assert_eq!(holds(&host), None);
}

#[test]
fn it_takes_part_once_per_lease_and_only_with_safe_limits() {
    let mut host = host(None, Some(5));
    assert_eq!(host.register(true), None);
    host.take_lease(renewed(7, at(0)));
    assert_eq!(host.register(false), None);
    assert_eq!(host.register(true).map(|of| of.lease), Some(7));
    assert_eq!(host.register(true), None);
    host.take_lease(Lease::Ended { lease: 7 });
    host.take_lease(renewed(8, at(2)));
    assert_eq!(host.register(false), None);
    assert_eq!(host.register(true).map(|of| of.lease), Some(8));
}

fn told(host: &mut Host, now: Duration) -> Option<ClusterEvent> {
    host.state(now).1
}

#[test]
fn one_fall_is_told_once() {
    let mut host = host(None, None);
    let fell = |why| Some(ClusterEvent::FellBack { why });
    host.take_lease(renewed(7, at(0)));
    host.take(Some(&record(7, 3, 60, 20)));
    assert_eq!(told(&mut host, at(1)), None);
    assert_eq!(told(&mut host, at(8)), fell(FellBack::NotRenewed));
    // The end of the lease and of the grant are of the same fall.
    assert_eq!(host.take_lease(Lease::Ended { lease: 7 }), []);
    host.take_lease(renewed(8, at(20)));
    host.take(None);
    host.take_lease(Lease::Ended { lease: 8 });
    host.take_lease(renewed(9, at(30)));
    host.take(Some(&record(9, 5, 60, 20)));
    let number = 5;
    assert_eq!(
        told(&mut host, at(31)),
        Some(ClusterEvent::Granted { number })
    );
    // The next one is news again, whatever is its first sign.
    let ended = host.take_lease(Lease::Ended { lease: 9 });
    assert_eq!(ended.into_iter().next(), fell(FellBack::LeaseEnded));
    assert_eq!(told(&mut host, at(32)), None);
}

#[test]
fn a_lease_that_is_renewed_late_brings_the_grant_back() {
    let mut host = host(None, None);
    host.take_lease(renewed(7, at(0)));
    host.take(Some(&record(7, 3, 60, 20)));
    told(&mut host, at(1));
    assert!(told(&mut host, at(8)).is_some());
    host.take_lease(renewed(7, at(8)));
    let back = ClusterEvent::Granted { number: 3 };
    assert_eq!(told(&mut host, at(9)), Some(back));
    assert_eq!(told(&mut host, at(10)), None);
    let why = FellBack::NotRenewed;
    let again = ClusterEvent::FellBack { why };
    assert_eq!(told(&mut host, at(20)), Some(again));
}
