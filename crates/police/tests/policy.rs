//! Policies, right and wrong.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

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

/// `GOOD` with one piece replaced.
fn with(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old), "{old}");
    let text = GOOD.replacen(old, new, 1);
    Policy::parse("p.toml", &text).unwrap_err().to_string()
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_a_remedy() {
    for (old, new, expected) in [
        (
            "weight = 2",
            "weight = -1",
            "p.toml:9: weight = -1 is not above 0; write a number above 0, as in weight = 2",
        ),
        (
            "ports = \"veth1\"",
            "ports = \"veth1\"\nguest = \"vsock:2\"",
            "p.toml:18: guest = \"vsock:2\" names no virtual machine; write the number that QEMU gives it, as in guest = \"vsock:5\"",
        ),
        (
            "ports = \"veth1\"",
            "ports = \"veth1\"\nguest = \"vsock:7\"\nguest_uid = 5",
            "p.toml:19: guest_uid with a vsock; remove it: the machine's root may connect, and nobody else",
        ),
        (
            "ports = \"veth1\"",
            "ports = [\"veth1\",\n\"tap0\"]",
            "p.toml:18: port tap0 belongs to another tenant already; remove one of them",
        ),
        (
            "\"500ms\"",
            "5",
            "p.toml:5: period = 5 has no unit; write a duration in quotes, as in period = \"5s\"",
        ),
        (
            "ports = \"veth1\"",
            "ports = \"veth1\"\nguest = \"/run/a.sock\"\nguest_uid = -1",
            "p.toml:19: guest_uid = -1 is outside 0 to 4294967294; write the number of a user, as in guest_uid = 64055",
        ),
        (
            "weight = 2",
            "weight = 0",
            "p.toml:9: weight = 0 is not above 0; write a number above 0, as in weight = 2",
        ),
        (
            "weight = 2",
            "weight = nan",
            "p.toml:9: weight = nan is a fraction; write a number above 0, as in weight = 2",
        ),
        (
            "weight = 2",
            "weight = \"2\"",
            "p.toml:9: weight = \"2\" is a string; write a number above 0, as in weight = 2",
        ),
        (
            "weight = 2",
            "wieght = 2",
            "p.toml:9: unknown key wieght in [[tenant]]; did you mean \"weight\"?",
        ),
        (
            "\"300mbit\"",
            "\"960mbit\"",
            "p.toml:11: cap = 800mbit is below the guarantee of 960mbit; raise the cap or lower the guarantee",
        ),
        (
            "\"300mbit\"\ncap = \"0.8gbit\"",
            "\"960mbit\"",
            "p.toml:10: guarantees up to here are 960mbit, more than the 950mbit of the link without its head-room; lower a guarantee",
        ),
        (
            "\"300mbit\"",
            "300",
            "p.toml:10: guarantee = 300 has no unit; write a rate in quotes, as in \"300mbit\"",
        ),
        (
            "\"300mbit\"",
            "\"300\"",
            "p.toml:10: guarantee = \"300\" has no unit; write \"300mbit\" for megabits per second (kbit, mbit or gbit)",
        ),
        (
            "\"300mbit\"",
            "\"-3mbit\"",
            "p.toml:10: guarantee = \"-3mbit\" is no rate; write a number and kbit, mbit or gbit, as in \"500mbit\"",
        ),
        (
            "\"0.8gbit\"",
            "\"2gbit\"",
            "p.toml:11: cap = 2gbit is above the link's 1gbit; lower it, or remove the line for no cap",
        ),
        (
            "\"0.8gbit\"",
            "\"0mbit\"",
            "p.toml:11: cap = \"0mbit\" lets nothing through; write a rate above 0",
        ),
        (
            "\"300mbit\"\ncap = \"0.8gbit\"",
            "\"1kbit\"\ncap = \"10kbit\"",
            "p.toml:11: cap = 10kbit is below the lowest limit of any port; write at least 64kbit",
        ),
        (
            "capacity = \"1gbit\"",
            "capacity = \"63kbit\"",
            "p.toml:3: capacity = 63kbit is below the lowest limit of any port; write at least 64kbit",
        ),
        (
            "\"veth1\"",
            "\"tap0\"",
            "p.toml:17: port tap0 belongs to another tenant already; remove one of them",
        ),
        (
            "\"veth1\"",
            "[]",
            "p.toml:17: tenant \"red\" has no ports; name one, as in ports = [\"tap0\"], or remove the tenant",
        ),
        (
            "\"veth1\"",
            "\"../../x\"",
            "p.toml:17: \"../../x\" is no port; write an interface of at most 15 bytes, or eth0/vf3",
        ),
        (
            "\"veth1\"",
            "\"eth0/vfx\"",
            "p.toml:17: \"eth0/vfx\" is no port; write an interface of at most 15 bytes, or eth0/vf3",
        ),
        (
            "ports = \"veth1\"",
            "",
            "p.toml:15: tenant \"red\" has no ports; add ports = [\"tap0\"]",
        ),
        (
            "name = \"red\"",
            "",
            "p.toml:15: a tenant has no name; add a line such as name = \"blue\"",
        ),
        (
            "\"red\"",
            "\"blue\"",
            "p.toml:16: tenant \"blue\" is in the policy twice; give one of them another name",
        ),
        (
            "\"red\"",
            "\"\"",
            "p.toml:16: name = \"\" is no name; write 1 to 64 printable characters",
        ),
        (
            "0.05",
            "0.7",
            "p.toml:4: headroom = 0.7 is not between 0 and 0.5; write the share of the link left free, 0.03 for 3 %",
        ),
        (
            "\"500ms\"",
            "\"1ms\"",
            "p.toml:5: period = \"1ms\" is outside 100ms to 60s; write a duration such as \"1s\"",
        ),
        (
            "\"500ms\"",
            "\"5\"",
            "p.toml:5: period = \"5\" has no unit; write \"5s\" for seconds (ms, s, m or h)",
        ),
        (
            "capacity = \"1gbit\"",
            "",
            "p.toml:2: [link] has no capacity; add [link] and below it capacity = \"10gbit\", the rate of the shared link",
        ),
        (
            "[link]",
            "[lnik]",
            "p.toml:2: unknown key lnik in the policy; did you mean \"link\"?",
        ),
        (
            "[link]",
            "[link",
            "p.toml:2: unclosed table, expected `]`; correct the TOML syntax on this line",
        ),
    ] {
        assert_eq!(with(old, new), expected);
    }
    let empty = Policy::parse("p.toml", "").unwrap_err().to_string();
    assert_eq!(
        empty,
        "p.toml:1: the policy has no [link]; add [link] and below it capacity = \"10gbit\", the rate of the shared link"
    );
    let none = Policy::parse("p.toml", "[link]\ncapacity = \"1gbit\"\n").unwrap_err();
    assert!(none.to_string().contains("has no tenant"), "{none}");
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
fn ready_policies_are_policies() {
    for text in [
        include_str!("../../../policies/two-equal.toml"),
        include_str!("../../../policies/two-shared.toml"),
        include_str!("../../../policies/three-equal.toml"),
        include_str!("../../../policies/three-shared.toml"),
        include_str!("../../../packaging/examples/policy.toml"),
    ] {
        let policy = Policy::parse("policy.toml", text).unwrap();
        assert!(policy.shared_bps() > 190e6);
    }
}
