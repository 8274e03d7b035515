use super::*;
use crate::cluster::wire::SCHEMA;

fn put(key: &str, value: &[u8], lease: i64) -> Change {
    Change::Put {
        key: key.to_owned(),
        value: value.to_vec(),
        lease,
    }
}

fn gone(key: &str) -> Change {
    Change::Gone {
        key: key.to_owned(),
    }
}

fn view(changes: Vec<Change>) -> View {
    let mut view = View::default();
    view.take(&Changes {
        revision: 4,
        all: true,
        changes,
    });
    view
}

fn report(holds: u64) -> Vec<u8> {
    let report = HostReport {
        schema: SCHEMA,
        holds,
        ..HostReport::default()
    };
    report.encode()
}

fn grant(lease: i64, number: u64) -> Vec<u8> {
    let grant = HostGrant {
        schema: SCHEMA,
        lease,
        number,
        ..HostGrant::default()
    };
    grant.encode()
}

fn member(machine: &str) -> Vec<u8> {
    let member = Member {
        schema: SCHEMA,
        machine: machine.to_owned(),
        hosts: None,
        safe_share: None,
        tenants: BTreeMap::new(),
    };
    member.encode()
}

#[test]
fn a_newer_version_is_told_from_garbage() {
    let view = view(vec![
        put("schema", b"nicety cluster 2", 0),
        put("report/a", br#"{"schema":2}"#, 7),
        // Other fields of a ledger would be lost in the next one, and nothing that compares it would be written.
        put(
            "ledger",
            br#"{"schema":1,"sequence":3,"revision":9,"digest":5,"more":1}"#,
            0,
        ),
    ]);
    let garbage = view.garbage();
    assert_eq!(garbage["schema"], WireError::Newer(2));
    assert_eq!(garbage["report/a"], WireError::Newer(2));
    assert!(matches!(garbage["ledger"], WireError::Garbage(_)));
    assert!(view.ledger().is_err());
    assert!(check_marker(MARKER.as_bytes()).is_ok());
    for other in [
        "nicety cluster",
        "nicety cluster x",
        "web 2",
        "nicety cluster 0",
    ] {
        assert!(matches!(
            check_marker(other.as_bytes()),
            Err(WireError::Garbage(_))
        ));
    }
}

#[test]
fn a_grant_is_acknowledged_by_its_number_under_the_present_lease() {
    let with = |report_lease, grant_lease, holds| {
        view(vec![
            put("member/a", &member("m"), 7),
            put("report/a", &report(holds), report_lease),
            put("grant/a", &grant(grant_lease, 5), 0),
        ])
        .hosts()["a"]
            .acknowledged()
    };
    assert!(with(7, 7, 5));
    assert!(!with(7, 7, 4));
    assert!(!with(6, 7, 5));
    assert!(!with(7, 6, 5));
}

#[test]
fn what_is_not_ours_is_counted_and_named_until_it_is_gone() {
    let mut view = view(vec![
        put("schema", b"somebody else's", 0),
        put("member/a", b"{", 3),
        put("member/a/b", b"{}", 3),
        put("grant/a", br#"{"schema":9}"#, 0),
        put("odd", b"", 0),
        put("ledger", b"17", 0),
    ]);
    let named: Vec<&str> = view.garbage().keys().map(String::as_str).collect();
    let all = [
        "grant/a",
        "ledger",
        "member/a",
        "member/a/b",
        "odd",
        "schema",
    ];
    assert_eq!(named, all);
    assert_eq!(view.garbage()["grant/a"], WireError::Newer(9));
    assert!(view.ledger().is_err());
    // The host is alive although nobody can read what it says.
    assert_eq!(view.hosts()["a"].lease(), Some(3));
    assert_eq!(view.hosts()["a"].grant, Some(None));
    let ledger = Ledger {
        schema: SCHEMA,
        sequence: 1,
        revision: 4,
        digest: 7,
    };
    view.take(&Changes {
        revision: 5,
        all: false,
        changes: vec![
            gone("odd"),
            gone("member/a"),
            put("grant/a", &grant(3, 1), 0),
            put("ledger", &ledger.encode(), 0),
        ],
    });
    let named: Vec<&str> = view.garbage().keys().map(String::as_str).collect();
    assert_eq!(named, ["member/a/b", "schema"]);
    assert_eq!((view.ledger(), view.revision()), (Ok(Some(ledger)), 5));
    view.take(&Changes {
        revision: 6,
        all: false,
        changes: vec![gone("grant/a")],
    });
    assert!(view.hosts().is_empty());
}

#[test]
fn a_name_belongs_to_one_machine() {
    let view = view(vec![put("member/a", &member("m1"), 7)]);
    assert_eq!(view.joining("b", "m1"), Joining::Free);
    assert_eq!(view.joining("a", "m1"), Joining::Own { lease: 7 });
    let machine = "m1".to_owned();
    assert_eq!(view.joining("a", "m2"), Joining::Taken { machine });
}

#[test]
fn a_prefix_is_ours_or_empty() {
    let keys = ["registry/pods/a"];
    assert_eq!(check_prefix(None, [].into_iter()), Ok(()));
    assert_eq!(
        check_prefix(None, keys.into_iter()),
        Err(keys[0].to_owned())
    );
    let marker = MARKER.as_bytes();
    assert_eq!(check_prefix(Some(marker), keys.into_iter()), Ok(()));
    let other = check_prefix(Some(b"x"), keys.into_iter());
    assert_eq!(other, Err("schema".to_owned()));
}
