//! Policies, right and wrong.

use std::time::Duration;

use nicety_model::BitRate;
use nicety_police::policy::GuestChannel;
use nicety_police::{Policy, PortName};

const GOOD: &str = r#"
[link]
capacity = "1gbit"
headroom = 0.05
period = "500ms"

[[tenant]]
name = "blue"
weight = 2
guarantee = "300mbit"
cap = "0.8gbit"
burst = "10ms"
ports = ["tap0", "eth0/vf3"]

[[tenant]]
name = "red"
ports = "veth1"
"#;

#[test]
fn a_policy_is_read() {
    let policy = Policy::parse("p.toml", GOOD).unwrap();
    assert_eq!(policy.capacity, BitRate::from_mbit(1000));
    assert_eq!(policy.shared_bps(), 950e6);
    assert_eq!(policy.period, Duration::from_millis(500));
    let [blue, red] = &policy.tenants[..] else {
        panic!("{policy:?}");
    };
    assert_eq!(
        (blue.weight, blue.guarantee),
        (2.0, BitRate::from_mbit(300))
    );
    assert_eq!(blue.cap, Some(BitRate::from_mbit(800)));
    assert_eq!(blue.burst, Duration::from_millis(10));
    let vf = PortName::Vf {
        pf: "eth0".to_owned(),
        vf: 3,
    };
    assert_eq!(blue.ports[1], vf);
    assert_eq!(
        (red.weight, red.guarantee, red.cap),
        (1.0, BitRate(0), None)
    );
    let all: Vec<String> = policy.ports().map(|(of, p)| format!("{of} {p}")).collect();
    assert_eq!(all, ["0 tap0", "0 eth0/vf3", "1 veth1"]);
}

#[test]
fn a_guest_is_reached_by_a_socket_or_by_the_number_of_its_machine() {
    let guest = |more: &str| {
        let text = GOOD.replace("ports = \"veth1\"", &format!("ports = \"veth1\"\n{more}"));
        Policy::parse("p.toml", &text).unwrap().tenants[1]
            .guest
            .clone()
    };
    assert_eq!(guest(""), None);
    assert_eq!(
        guest("guest = \"vsock:5\""),
        Some(GuestChannel::Vsock { cid: 5 })
    );
    let unix = GuestChannel::Unix {
        path: "/run/a.sock".to_owned(),
        uid: 7,
    };
    assert_eq!(guest("guest = \"/run/a.sock\"\nguest_uid = 7"), Some(unix));
}

#[test]
fn a_cluster_is_read_and_its_host_follows() {
    let cluster = "[cluster]\nendpoints = [\"https://a:2379/\", \"https://b:2379\"]\nhosts = 4\n";
    let total = "total_max = \"4gbit\"\ntotal_guarantee = \"1gbit\"\nname = \"red\"";
    let text = GOOD.replace(
        "[[tenant]]\nname = \"blue\"",
        &format!("{cluster}[[tenant]]\nname = \"blue\""),
    );
    let policy = Policy::parse("p.toml", &text.replace("name = \"red\"", total)).unwrap();
    let found = policy.cluster.as_ref().unwrap();
    assert_eq!(found.endpoints, ["https://a:2379", "https://b:2379"]);
    assert_eq!((found.prefix.as_str(), found.hosts), ("/nicety/", Some(4)));
    assert_eq!(found.lease, Duration::from_secs(10));
    assert_eq!(
        (&found.ca, &found.identity, &found.user),
        (&None, &None, &None)
    );
    let host = policy
        .cluster_host("kvm1".to_owned(), "id".to_owned())
        .unwrap();
    let tenants: Vec<_> = host.tenants.iter().collect();
    let [(name, total)] = tenants[..] else {
        panic!("{tenants:?}");
    };
    assert_eq!(
        (name.as_str(), total.max, total.weight),
        ("red", BitRate::from_mbit(4000), 1)
    );
    let alone = Policy::parse("p.toml", GOOD).unwrap();
    assert_eq!(alone.cluster_host("kvm1".to_owned(), "id".to_owned()), None);
}

#[test]
fn ready_policies_are_policies() {
    for text in [
        include_str!("../../../../policies/two-equal.toml"),
        include_str!("../../../../policies/two-shared.toml"),
        include_str!("../../../../policies/three-equal.toml"),
        include_str!("../../../../policies/three-shared.toml"),
        include_str!("../../../../packaging/examples/policy.toml"),
    ] {
        let policy = Policy::parse("policy.toml", text).unwrap();
        assert!(policy.shared_bps() > 190e6);
    }
}

#[test]
fn bursts_are_a_time_or_a_credit() {
    use nicety_police::credit::Credit;
    let read = |more: &str| {
        let text = GOOD.replace("ports = \"veth1\"", &format!("ports = \"veth1\"\n{more}"));
        Policy::parse("p.toml", &text)
    };
    let red = |more: &str| read(more).unwrap().tenants[1].clone();
    let wanted = Credit {
        lasts: Duration::from_secs(2),
        factor: 2.0,
        refill: 0.1,
    };
    // What was a time stays one, and the bucket of a tenant with a credit is as deep as any.
    assert_eq!(red("burst = \"20ms\"").burst, Duration::from_millis(20));
    assert_eq!(red("burst = \"20ms\"").credit, None);
    let tenant = red("cap = \"100mbit\"\nburst = \"2 s at 2x, refilled at 0.1x\"");
    assert_eq!(
        (tenant.credit, tenant.burst),
        (Some(wanted), Duration::from_millis(4))
    );
    assert_eq!(tenant.received.credit, None);
    let tenant = red("rx_max = \"100mbit\"\nrx_burst = \"2s at 2x, refilled at 0.1x\"");
    assert_eq!(
        (tenant.credit, tenant.received.credit),
        (None, Some(wanted))
    );
    // More of them are in `tests/cases/policies/refused`.
    #[rustfmt::skip]
    let table = [
        ("cap = \"6mbit\"\nburst = \"200ms at 2x, refilled at 0.1x\"",
            "is shorter than the period of 500ms; write a longer time"),
        ("cap = \"6mbit\"\nburst = \"2s at 0.5x, refilled at 0.1x\"",
            "is not 1.01 to 100 times the maximum; write such a factor, as in burst = \"2s at 2x, refilled at 0.1x\""),
        ("cap = \"6mbit\"\nburst = \"2s at 2x, refilled at -1x\"",
            "is not refilled at 0.001 to 1 times the maximum"),
        ("cap = \"6mbit\"\nburst = \"48h at 2x, refilled at 0.1x\"", "does not last for 100ms to 24h"),
        ("burst = 5", "burst = 5 has no unit; write a duration in quotes"),
        ("cap = \"6mbit\"\nrx_burst = \"2s at 2x, refilled at 0.1x\"",
            "rx_burst = \"2s at 2x, refilled at 0.1x\" without rx_max"),
        ("cap = \"6mbit\"\ntotal_max = \"60mbit\"\nburst = \"2s at 2x, refilled at 0.1x\"",
            "of a tenant with total_max = 60mbit; remove one of both"),
    ];
    for (more, wanted) in table {
        let error = read(&format!("{more}\n")).unwrap_err().to_string();
        assert!(error.contains(wanted), "{more}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}
