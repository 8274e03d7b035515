//! What anybody who may write below the prefix can say: no words of theirs stop a leader or a host.

use std::collections::BTreeMap;
use std::time::Duration;

use nicety_model::BitRate;
use nicety_model::bill::{Traffic, Usage, UsageRow};
use nicety_police::bill::{Grouped, statement};
use nicety_police::cluster::status::ClusterState;
use nicety_police::cluster::{
    Change, Changes, Host, HostSettings, Leader, Lease, Margin, Total, View,
};
use proptest::prelude::*;

/// Numbers at the ends of what readers take, and what is none.
fn number() -> impl Strategy<Value = String> {
    let ends = [
        "0",
        "1",
        "-1",
        "7",
        "1000000000",
        "9007199254740991",
        "9007199254740992",
        "9007199254740993",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "4294967295",
        "0.5",
        "1e308",
        "-1e308",
        "null",
        "\"x\"",
    ];
    prop_oneof![
        5 => proptest::sample::select(ends.to_vec()).prop_map(str::to_owned),
        1 => any::<u64>().prop_map(|number| number.to_string()),
    ]
}

/// Keys with the values of our own programs, in which every `#` is any number.
const VALUES: [(&str, &str); 6] = [
    (
        "ledger",
        r##"{"schema":1,"sequence":#,"revision":#,"digest":#}"##,
    ),
    (
        "grant/h1",
        r##"{"schema":1,"lease":7,"number":#,"tenants":{"a":{"max_bps":#,"guarantee_bps":#,"safe_bps":#,"ceiling_bps":#,"safe_ceiling_bps":#}}}"##,
    ),
    (
        "grant/h2",
        r##"{"schema":1,"lease":#,"number":#,"tenants":{"a":{"max_bps":#},"b":{"max_bps":#}}}"##,
    ),
    (
        "member/h1",
        r##"{"schema":1,"machine":"m","hosts":#,"safe_share":#,"tenants":{"a":{"max_bps":#,"guarantee_bps":#,"weight":#}}}"##,
    ),
    (
        "member/h2",
        r##"{"schema":1,"machine":"n","tenants":{"a":{"max_bps":#,"weight":1},"b":{"max_bps":#,"weight":#}}}"##,
    ),
    (
        "report/h1",
        r##"{"schema":1,"holds":#,"tenants":{"a":{"use_bps":#,"demand_bps":#}}}"##,
    ),
];

fn values() -> impl Strategy<Value = Vec<(String, Vec<u8>)>> {
    let own =
        (0..VALUES.len(), proptest::collection::vec(number(), 9)).prop_map(|(at, numbers)| {
            let (key, value) = VALUES[at];
            let mut numbers = numbers.iter();
            let filled = value
                .split_inclusive('#')
                .map(|part| match part.strip_suffix('#') {
                    Some(before) => format!("{before}{}", numbers.next().unwrap()),
                    None => part.to_owned(),
                });
            (key.to_owned(), filled.collect::<String>().into_bytes())
        });
    let keys = [
        "ledger",
        "schema",
        "grant/h1",
        "member/h2",
        "report/h1",
        "leader/1",
        "x",
        "",
    ];
    let any_bytes = (proptest::sample::select(keys.to_vec()), any::<Vec<u8>>());
    let other = any_bytes.prop_map(|(key, value)| (key.to_owned(), value));
    proptest::collection::vec(prop_oneof![8 => own, 1 => other], 1..12)
}

fn settings() -> HostSettings {
    let total = Total {
        max: BitRate(1_000_000_000),
        guarantee: BitRate(1_000_000),
        weight: 1,
    };
    HostSettings {
        name: "h1".to_owned(),
        machine: "m".to_owned(),
        margin: Margin::default(),
        hosts: Some(2),
        safe_share: None,
        period: Duration::from_secs(1),
        tenants: BTreeMap::from([("a".to_owned(), total)]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_below_the_prefix_stop_nobody(values in values()) {
        let (mut view, mut leader) = (View::default(), Leader::default());
        let mut host = Host::new(settings(), None);
        let now = Duration::from_secs(5);
        host.take_lease(Lease::Renewed { lease: 7, sent_at: now, ttl: Duration::from_secs(10) });
        for (at, (key, value)) in values.into_iter().enumerate() {
            view.take(&Changes {
                revision: at as i64,
                all: at == 0,
                changes: vec![Change::Put { key, value, lease: 7 }],
            });
            let (batches, _) = leader.step(&view);
            for batch in &batches {
                batch.ledger();
            }
            for holding in ClusterState::of(&view).tenants.iter().flat_map(|tenant| &tenant.hosts) {
                holding.to_string();
            }
            host.take(view.hosts().get("h1"));
            host.orders(now);
            host.report(&BTreeMap::new());
        }
    }

    #[test]
    fn any_rows_of_a_store_are_billed(rows in proptest::collection::vec((any::<i64>(), any::<[u64; 4]>()), 1..20)) {
        let rows: Vec<UsageRow> = rows.into_iter().map(|(start, [bytes, unseen, limited_ms, watched_ms])| {
            let traffic = Traffic { bytes, unseen, frames: bytes, least: unseen, most: bytes };
            let usage = Usage { sent: traffic, received: traffic, limited_ms, watched_ms };
            UsageRow { host: "h".to_owned(), tenant: "a".to_owned(), start, usage }
        }).collect();
        for time in [i64::MIN..i64::MAX, 0..i64::MAX, 0..1] {
            for now in [i64::MIN, 0, i64::MAX] {
                statement(&rows, time.clone(), now, Grouped::ByTenant);
            }
        }
    }
}
