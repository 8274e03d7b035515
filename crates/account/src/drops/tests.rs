use nicety_model::drops::DropOwnerKind;
use proptest::prelude::*;

use super::*;

const HERE: u64 = 0xf000_0001;
const POD: u64 = 0xf000_0002;

fn owner(kind: DropOwnerKind, name: &str, interface: Option<&str>) -> DropOwner {
    DropOwner {
        kind,
        name: name.to_owned(),
        interface: interface.map(str::to_owned),
    }
}

fn owners() -> Owners {
    let web = owner(DropOwnerKind::Guest, "web01", Some("tap0"));
    let db = owner(DropOwnerKind::Guest, "db", Some("tap1"));
    let pod = owner(DropOwnerKind::Container, "docker 3f2a", None);
    let names = [(2, "eth0"), (3, "tap0"), (4, "tap1"), (5, "br0")];
    Owners {
        here: HERE,
        names: names.map(|(index, name)| (index, name.to_owned())).into(),
        interfaces: [
            ((HERE, "tap0".to_owned()), web),
            ((HERE, "tap1".to_owned()), db),
        ]
        .into(),
        namespaces: [(POD, pod)].into(),
    }
}

fn dropped(device: (u64, u32, &str), received_at: u32, reason: &str, packets: u64) -> Dropped {
    let (netns, index, name) = device;
    Dropped {
        place: Place {
            netns,
            index,
            device: (!name.is_empty()).then(|| name.to_owned()),
            received_at,
            function: Some("f".to_owned()),
            reason: Some(reason.to_owned()),
        },
        events: packets,
        packets,
        turns: 0,
    }
}

/// Owner, direction and packets of every line.
fn said(report: &DropsReport) -> Vec<String> {
    let lines = report.owners.iter().flat_map(|of| {
        of.places.iter().map(|place| {
            let towards = place.towards.map_or("-", Towards::word);
            let from = place.received_at.as_deref().unwrap_or("-");
            format!("{} {towards} {from} {}", of.owner.name, place.packets)
        })
    });
    lines.collect()
}

#[test]
fn a_packet_is_of_who_owns_its_interface_or_else_of_who_sent_it() {
    let drops = [
        // The queue of tap0 was full for packets from outside and from the other guest.
        dropped((HERE, 3, "tap0"), 2, "FULL_RING", 10),
        dropped((HERE, 3, "tap0"), 4, "FULL_RING", 8),
        // A filter where the guest's packets come in.
        dropped((HERE, 3, "tap0"), 3, "TC_INGRESS", 7),
        // Sent by the other guest, lost at the uplink.
        dropped((HERE, 2, "eth0"), 4, "QDISC_DROP", 6),
        // Of the host itself.
        dropped((HERE, 2, "eth0"), 0, "QDISC_DROP", 5),
        dropped((0, 0, ""), 0, "SOCKET_RCVBUFF", 4),
        // In a container, whose numbers of interfaces mean others than those of the host.
        dropped((POD, 2, "eth0"), 3, "NO_SOCKET", 3),
        // In a namespace of which nobody knows.
        dropped((77, 3, "tap0"), 3, "NO_SOCKET", 1),
    ];
    let report = report(&drops, &owners(), Watched::default(), None);
    assert_eq!(
        said(&report),
        [
            "web01 to eth0 10",
            "web01 to tap1 8",
            "web01 from tap0 7",
            "host - - 5",
            "host - - 4",
            "host - - 1",
            "db from tap1 6",
            "docker 3f2a - - 3",
        ]
    );
    assert_eq!((report.packets, report.events), (44, 44));
}

#[test]
fn places_of_one_function_are_one_line_and_copies_stand_apart() {
    let same = dropped((HERE, 3, "tap0"), 2, "FULL_RING", 10);
    let copy = Dropped {
        turns: 50,
        ..dropped((HERE, 2, "eth0"), 2, "OTHERHOST", 100)
    };
    let none = dropped((HERE, 2, "eth0"), 2, "NO_SOCKET", 0);
    let merged = Dropped {
        events: 1,
        ..same.clone()
    };
    let report = report(
        &[same, copy, none, merged],
        &owners(),
        Watched::default(),
        None,
    );
    assert_eq!(said(&report), ["web01 to eth0 20"]);
    assert_eq!(
        (report.packets, report.events, report.copies),
        (20, 11, 100)
    );
}

#[test]
fn frames_that_all_go_to_one_other_host_are_missed_by_their_sender() {
    let to = |events, turns| {
        let drop = Dropped {
            turns,
            ..dropped((HERE, 3, "tap0"), 3, "OTHERHOST", events)
        };
        let report = report(&[drop], &owners(), Watched::default(), None);
        (report.packets, report.copies)
    };
    // A flow to a stale address, with a few frames for others in between.
    assert_eq!(to(150, 0), (150, 0));
    assert_eq!(to(150, 15), (150, 0));
    // Flooded frames for many; a few say nothing.
    assert_eq!(to(150, 16), (0, 150));
    assert_eq!(to(150, 149), (0, 150));
    assert_eq!(to(9, 0), (0, 9));
}

#[test]
fn a_name_that_is_nowhere_is_not_known() {
    for name in ["eth0", "tap1", "db", "docker 3f2a", "host"] {
        assert!(owners().knows(name), "{name}");
    }
    assert!(!owners().knows("tap9"));
}

#[test]
fn one_interface_or_owner_is_picked() {
    let drops = [
        dropped((HERE, 3, "tap0"), 2, "FULL_RING", 10),
        dropped((HERE, 2, "eth0"), 4, "QDISC_DROP", 6),
        dropped((HERE, 2, "eth0"), 0, "QDISC_DROP", 5),
    ];
    for (only, packets) in [("tap0", 10), ("db", 6), ("tap1", 6), ("eth0", 21), ("x", 0)] {
        let report = report(&drops, &owners(), Watched::default(), Some(only));
        assert_eq!(report.packets, packets, "{only}");
    }
}

proptest! {
    #[test]
    fn every_packet_counts_once(
        all in proptest::collection::vec((0_u64..3, 0_u32..6, 0_u32..6, 0_usize..3, 0_u64..1000), 0..40)
    ) {
        let reasons = ["OTHERHOST", "QDISC_DROP", "NO_SOCKET"];
        let drops: Vec<Dropped> = all
            .iter()
            .map(|(ns, index, iif, reason, packets)| {
                let netns = [HERE, POD, 77][*ns as usize];
                dropped((netns, *index, "tap0"), *iif, reasons[*reason], *packets)
            })
            .collect();
        let report = report(&drops, &owners(), Watched::default(), None);
        let sum: u64 = drops.iter().map(|drop| drop.packets).sum();
        prop_assert_eq!(report.packets + report.copies, sum);
        let lines: u64 = report.owners.iter().flat_map(|of| &of.places).map(|of| of.packets).sum();
        prop_assert_eq!(lines, report.packets);
    }
}
