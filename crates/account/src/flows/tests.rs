use std::net::Ipv4Addr;

use nicety_model::FateCause;
use nicety_model::flow::End;
use proptest::prelude::*;

use super::*;

fn stations() -> Vec<Station> {
    let of = |name: &str, device: &str, cause: Option<FateCause>, copies| Station {
        name: format!("{name} {device}"),
        device: device.to_owned(),
        cause,
        copies,
        ..Station::default()
    };
    let dropped = |reason: &str| {
        Some(FateCause::Dropped {
            device: Some("d1".to_owned()),
            function: Some("nft_do_chain".to_owned()),
            reason: Some(reason.to_owned()),
        })
    };
    vec![
        of("queued at", "d0", None, false),
        of("sent at", "d0", None, false),
        of("thrown away at", "d1", dropped("NETFILTER_DROP"), false),
        of("thrown away at", "d1", dropped("OTHERHOST"), true),
    ]
}

fn end_of(host: u8, port: u16) -> End {
    End {
        address: Some(Ipv4Addr::new(10, 0, 0, host).to_ipv6_mapped()),
        port: Some(port),
    }
}

fn sight(identity: u64, station: usize, at_ns: u64) -> Sight {
    Sight {
        flow: Flow {
            transport: Transport::Tcp,
            ends: [end_of(1, 40_000), end_of(2, 80)],
        },
        answers: false,
        identity,
        at_ns,
        station,
        cpu: 1,
    }
}

#[test]
fn a_packet_ends_where_it_was_seen_last_or_thrown_away() {
    let mut way = UnderWay::default();
    way.add(&[
        sight(1, 0, 1000),
        sight(2, 0, 1100),
        sight(1, 3, 1200),
        sight(1, 1, 1500),
        sight(2, 2, 1900),
    ]);
    assert_eq!(way.ended(&stations(), 0, 2000), []);
    let ended = way.ended(&stations(), 0, 2000 + QUIET_NS);
    let [first, second] = ended.as_slice() else {
        panic!("{ended:?}");
    };
    assert_eq!(first.from, "10.0.0.1:40000");
    assert_eq!((first.number, first.packet), (1, PacketKind::Syn));
    let told: Vec<(&str, u64)> = first
        .stations
        .iter()
        .map(|of| (of.station.as_str(), of.after_ns))
        .collect();
    // The copy for others is no part of its way.
    assert_eq!(told, [("queued at d0", 0), ("sent at d0", 500)]);
    let last = JourneyEnd::LastSeen {
        station: "sent at d0".to_owned(),
    };
    assert_eq!(first.end, last);
    assert!(
        matches!(&second.end, JourneyEnd::Dropped { cause } if cause.place() == "d1 nft_do_chain")
    );
    assert_eq!(way.ended(&stations(), 0, u64::MAX), []);
}

proptest! {
    /// Whatever was seen of whom: each packet is told once, and no sighting is told twice.
    #[test]
    fn each_packet_is_told_once(
        seen in proptest::collection::vec((0_u64..6, 0_usize..6, 0_u64..3_000_000_000), 0..200),
    ) {
        let mut way = UnderWay::default();
        let mut told = Vec::new();
        for (n, (identity, station, at)) in seen.iter().enumerate() {
            way.add(&[sight(*identity, *station, *at)]);
            if n % 7 == 0 {
                told.extend(way.ended(&stations(), 0, *at));
            }
        }
        told.extend(way.ended(&stations(), 0, u64::MAX));
        let numbers: Vec<u64> = told.iter().map(|of| of.number).collect();
        prop_assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]));
        let sightings: usize = told.iter().map(|of| of.stations.len()).sum();
        prop_assert!(sightings <= seen.len());
        prop_assert!(way.packets.is_empty());
    }
}
