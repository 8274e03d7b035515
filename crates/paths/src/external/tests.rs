use nicety_netdev::link::{LinkCounters, Mac, OperState};

use super::*;

pub(crate) fn link(index: u32, name: &str) -> Link {
    Link {
        index,
        name: name.to_owned(),
        kind: String::new(),
        mtu: 1500,
        mtu_range: (68, 9216),
        mac: Some(Mac([2, 0, 0, 0, 0, index as u8])),
        up: true,
        carrier: true,
        oper_state: OperState::Up,
        promiscuous: false,
        loopback: name == "lo",
        master: None,
        lower: None,
        lower_elsewhere: false,
        tx_queues: 1,
        rx_queues: 1,
        qdisc: String::new(),
        bridge: None,
        vlan: None,
        mode: None,
        xdp: false,
        counters: LinkCounters::default(),
    }
}

fn verdict(a: &str, b: &str, there: &[Link], frame: u16) -> String {
    match check(a, b, there, FrameSize::new(frame).unwrap()) {
        Ok((a, b)) => format!("{} and {}", a.name, b.name),
        Err(error) => error.to_string(),
    }
}

#[test]
fn two_good_ports_are_taken_in_order() {
    let there = [link(1, "lo"), link(2, "eth0"), link(3, "eth1")];
    assert_eq!(verdict("eth1", "eth0", &there, 1518), "eth1 and eth0");
}

#[test]
fn each_fault_has_its_line() {
    let mut down = link(4, "down");
    down.up = false;
    let mut dark = link(5, "dark");
    dark.carrier = false;
    let mut member = link(6, "member");
    member.master = Some(2);
    let mut narrow = link(7, "narrow");
    narrow.mtu_range = (68, 1500);
    let there = [
        link(1, "lo"),
        link(2, "eth0"),
        link(3, "eth1"),
        down,
        dark,
        member,
        narrow,
    ];
    #[rustfmt::skip]
    let table = [
        ("eth0", "eth0", 64, "port eth0 is named twice: a path needs two different ports"),
        ("eth0", "eth2", 64, "port eth2 does not exist; there is eth0, eth1"),
        ("eth0", "down", 64, "port down is down: set it up first (ip link set down up)"),
        ("dark", "eth0", 64, "port dark has no carrier: check the cable, or that the other end is up"),
        ("lo", "eth0", 64, "port lo cannot be used: it is not an Ethernet interface"),
        ("eth0", "member", 64,
            "port member cannot be used: it is a member of the other port eth0, there is no path between them"),
        ("eth0", "eth1", 9018,
            "port eth0 has MTU 1500, frames of 9018 bytes need 9000: ip link set eth0 mtu 9000, or smaller frames"),
        ("narrow", "eth1", 1519,
            "port narrow has MTU 1500, frames of 1519 bytes need 1501: its driver allows 1500 at most, take smaller frames"),
    ];
    for (a, b, frame, line) in table {
        assert_eq!(verdict(a, b, &there, frame), line);
    }
}

#[test]
fn a_name_unlike_all_others_lists_what_there_is() {
    let there = [link(1, "lo"), link(2, "eth0"), link(3, "br0")];
    assert_eq!(
        verdict("uplink7", "eth0", &there, 64),
        "port uplink7 does not exist; there is br0, eth0"
    );
    assert_eq!(verdict("x", "y", &there[..1], 64), "port x does not exist");
}
