use super::*;
use crate::Options;

fn owner(kind: DropOwnerKind, name: &str, interface: Option<&str>) -> DropOwner {
    DropOwner {
        kind,
        name: name.to_owned(),
        interface: interface.map(str::to_owned),
    }
}

fn place(
    packets: u64,
    device: &str,
    towards: Option<Towards>,
    function: &str,
    reason: &str,
) -> PlaceDrops {
    PlaceDrops {
        packets,
        events: packets,
        device: Some(device.to_owned()),
        received_at: None,
        towards,
        function: Some(function.to_owned()),
        reason: Some(reason.to_owned()),
    }
}

fn made() -> DropsReport {
    let web = OwnerDrops {
        owner: owner(DropOwnerKind::Guest, "libvirt:web01/net0", Some("tap0")),
        packets: 4200,
        places: vec![
            place(4000, "tap0", Some(Towards::To), "tun_net_xmit", "FULL_RING"),
            place(
                200,
                "tap0",
                Some(Towards::From),
                "tcf_classify",
                "TC_INGRESS",
            ),
        ],
    };
    let host = OwnerDrops {
        owner: DropOwner::host(),
        packets: 11,
        places: vec![place(11, "eth0", None, "udp_queue_rcv", "SOCKET_RCVBUFF")],
    };
    DropsReport {
        schema: 1,
        seconds: 10.0,
        packets: 4211,
        events: 4211,
        owners: vec![web, host],
        copies: 7,
        uncounted: 1,
        unseen: vec![
            Unseen::XdpPrograms {
                interfaces: vec!["eth1".to_owned()],
            },
            Unseen::Missed { events: 3 },
            Unseen::Outside,
        ],
    }
}

#[test]
fn the_answer_comes_first_and_the_rest_is_told() {
    let options = Options {
        width: 160,
        colour: false,
    };
    insta::assert_snapshot!(page(&made(), 2).text(options, true));
    let narrow = Options {
        width: 80,
        ..options
    };
    for line in page(&made(), 9).text(narrow, true).lines().skip(1) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn nothing_dropped_is_an_answer_too() {
    let report = DropsReport {
        packets: 0,
        owners: Vec::new(),
        ..made()
    };
    assert_eq!(answer(&report), "No packet was dropped in 10.0 s.");
}

#[test]
fn owners_are_said_once() {
    #[rustfmt::skip]
    let table = [
        (owner(DropOwnerKind::Guest, "web01", Some("tap0")), "web01 (tap0)"),
        (owner(DropOwnerKind::Port, "tap0", Some("tap0")), "tap0"),
        (owner(DropOwnerKind::Namespace, "blue", None), "namespace blue"),
        (owner(DropOwnerKind::Container, "docker 3f2a", None), "docker 3f2a"),
        (DropOwner::host(), "the host"),
    ];
    for (owner, said) in table {
        assert_eq!(whose(&owner), said);
    }
}

#[test]
fn one_stale_address_is_named_as_the_cause() {
    let said = meaning(&place(150, "tap0", None, "ip_rcv_core", "OTHERHOST"));
    assert_eq!(said.as_deref(), Some(STALE));
}
