use etherparse::{LinkExtHeader, NetHeaders, PacketHeaders, TransportHeader};
use nicety_model::frame::RFC2544_SIZES;

use super::*;
use crate::flow::Side;

fn spec(size: u16, tagged: bool, flows: u32) -> TemplateSpec {
    TemplateSpec {
        frame_size: FrameSize::new(size).unwrap(),
        source_mac: MacAddr::local(1),
        destination_mac: MacAddr::local(2),
        vlan: tagged.then(|| VlanTag::new(100, 5).unwrap()),
        flows: FlowRange::new(flows, Side::A).unwrap(),
        mark: crate::RunMark::of(77),
    }
}

#[test]
fn stations_take_turns() {
    for tagged in [false, true] {
        let mut spec = spec(64, tagged, 1);
        spec.flows = spec.flows.between(3).unwrap();
        let template = Template::new(spec).unwrap();
        let one = golden(tagged);
        let mut buffer = vec![0xee; 60];
        template.prepare(&mut buffer).unwrap();
        for (sequence, station) in [(0, 0), (1, 1), (5, 2), (3, 0)] {
            let stamp = Stamp {
                sequence,
                ..STAMP_1234
            };
            template.stamp(&mut buffer, &stamp).unwrap();
            assert_eq!(buffer[..6], MacAddr::local(2).station(station).0);
            assert_eq!(buffer[6..12], MacAddr::local(1).station(station).0);
        }
        // All else is as between two stations.
        assert_eq!(buffer, one);
    }
}

const STAMP_1234: Stamp = Stamp {
    stream: 1,
    trial: 2,
    sequence: 3,
    tx_ns: 4,
};

fn golden(tagged: bool) -> Vec<u8> {
    let template = Template::new(spec(64, tagged, 1)).unwrap();
    let mut buffer = vec![0xee; 60];
    assert_eq!(template.write(&mut buffer, &STAMP_1234), Ok(60));
    buffer
}

/// Header sum: 4500 + 002e + 2700 + 4000 + 4011 + c612 + 0001 + c613 + 0001 = 27866, folded 7868,
/// inverted 8797.
///
/// UDP sum: pseudo header c612 + 0001 + c613 + 0001 + 0011 + 001a, header c000 + e000 + 001a,
/// stamp 9e1c + 0102 + 0003 + 0004, pattern 8adb + 95d5: 4ec41, folded ec45, inverted 13ba.
#[test]
fn golden_64_bytes_untagged() {
    #[rustfmt::skip]
    let expected = [
        0x02, 0x4e, 0, 0, 0, 2,  0x02, 0x4e, 0, 0, 0, 1,  0x08, 0x00,
        // 46 bytes, mark 78, do not fragment, TTL 64, UDP; 198.18.0.1 to 198.19.0.1
        0x45, 0x00, 0x00, 0x2e,  0x27, 0x00, 0x40, 0x00,  0x40, 0x11, 0x87, 0x97,
        0xc6, 0x12, 0x00, 0x01,  0xc6, 0x13, 0x00, 0x01,
        // 49152 to 57344, 26 bytes
        0xc0, 0x00, 0xe0, 0x00,  0x00, 0x1a, 0x13, 0xba,
        // magic, stream 1, trial 2, sequence 3, time 4
        0x9e, 0x1c, 1, 2,  0, 0, 0, 3,  0, 0, 0, 0, 0, 4,
        // pattern
        0x8a, 0xdb, 0x95, 0xd5,
    ];
    assert_eq!(golden(false), expected);
}

/// The tag takes the pattern's place, so both lengths are 4 less: header sum 27862, folded 7864,
/// inverted 879b; UDP sum without the pattern and with 0016 twice for 001a: 3cb89, folded cb8c,
/// inverted 3473.
#[test]
fn golden_64_bytes_tagged() {
    #[rustfmt::skip]
    let expected = [
        0x02, 0x4e, 0, 0, 0, 2,  0x02, 0x4e, 0, 0, 0, 1,
        // priority 5 and VLAN 100: a000 + 0064
        0x81, 0x00, 0xa0, 0x64,  0x08, 0x00,
        0x45, 0x00, 0x00, 0x2a,  0x27, 0x00, 0x40, 0x00,  0x40, 0x11, 0x87, 0x9b,
        0xc6, 0x12, 0x00, 0x01,  0xc6, 0x13, 0x00, 0x01,
        0xc0, 0x00, 0xe0, 0x00,  0x00, 0x16, 0x34, 0x73,
        0x9e, 0x1c, 1, 2,  0, 0, 0, 3,  0, 0, 0, 0, 0, 4,
    ];
    assert_eq!(golden(true), expected);
}

/// Everything an independent parser says about a frame must be what was asked for.
fn cross_check(frame: &[u8], spec: &TemplateSpec, sequence: u32) {
    let parsed = PacketHeaders::from_ethernet_slice(frame).unwrap();
    let ethernet = parsed.link.unwrap().ethernet2().unwrap();
    assert_eq!(ethernet.source, spec.source_mac.0);
    assert_eq!(ethernet.destination, spec.destination_mac.0);
    match (parsed.link_exts.first(), spec.vlan) {
        (None, None) => {}
        (Some(LinkExtHeader::Vlan(seen)), Some(tag)) => {
            assert_eq!(seen.vlan_id.value(), tag.id());
            assert_eq!(seen.pcp.value(), tag.priority());
        }
        other => panic!("tag: {other:?}"),
    }
    let Some(NetHeaders::Ipv4(ip, _)) = parsed.net else {
        panic!("not IPv4: {:?}", parsed.net);
    };
    let Some(TransportHeader::Udp(udp)) = parsed.transport else {
        panic!("not UDP: {:?}", parsed.transport);
    };
    let flow = spec.flows.flow(sequence);
    assert_eq!(ip.source, flow.source.octets());
    assert_eq!(ip.destination, flow.destination.octets());
    assert_eq!(ip.header_checksum, ip.calc_header_checksum());
    let ip_bytes = frame.len() - ip_offset(spec.vlan.is_some());
    assert_eq!(usize::from(ip.total_len), ip_bytes);
    assert_eq!(udp.source_port, flow.source_port);
    assert_eq!(udp.destination_port, flow.destination_port);
    assert_eq!(usize::from(udp.length), ip_bytes - 20);
    let payload = parsed.payload.slice();
    assert_eq!(payload.len(), ip_bytes - 28);
    assert_eq!(udp.checksum, udp.calc_checksum_ipv4(&ip, payload).unwrap());
}

#[test]
fn an_independent_parser_agrees_for_all_sizes_and_flows() {
    for size in RFC2544_SIZES.into_iter().chain([65, 1517, 9018]) {
        for tagged in [false, true] {
            for flows in [1, 2, 1024, FlowRange::MAX] {
                let spec = spec(size, tagged, flows);
                let template = Template::new(spec).unwrap();
                cross_check(template.bytes(), &spec, 0);
                let mut buffer = [0_u8; 9100];
                template.prepare(&mut buffer).unwrap();
                for sequence in [0, 1, 2, 1023, 1024, 77_777, u32::MAX] {
                    let stamp = Stamp {
                        stream: 200,
                        trial: 255,
                        sequence,
                        tx_ns: 0xffff_ffff_ffff_0001 ^ u64::from(sequence) << 20,
                    };
                    let bytes = template.stamp(&mut buffer, &stamp).unwrap();
                    assert_eq!(bytes, usize::from(size) - 4);
                    cross_check(&buffer[..bytes], &spec, sequence);
                    let mut fresh = vec![0; bytes];
                    template.write(&mut fresh, &stamp).unwrap();
                    assert_eq!(fresh, buffer[..bytes], "patched and written frames differ");
                    assert!(buffer[bytes..].iter().all(|byte| *byte == 0));
                }
            }
        }
    }
}

#[test]
fn a_checksum_of_zero_goes_out_as_all_ones() {
    // The checksum with time 0 is the sum that is missing to all ones; adding just that as the
    // time makes the sum all ones, and its inverse zero.
    let template = Template::new(spec(128, false, 1)).unwrap();
    let udp_checksum = 14 + UDP_CHECKSUM;
    let missing = u16::from_be_bytes([
        template.bytes()[udp_checksum],
        template.bytes()[udp_checksum + 1],
    ]);
    let mut buffer = template.bytes().to_vec();
    let stamp = Stamp {
        tx_ns: u64::from(missing),
        ..Stamp::default()
    };
    template.stamp(&mut buffer, &stamp).unwrap();
    assert_eq!(buffer[udp_checksum..udp_checksum + 2], [0xff, 0xff]);
    cross_check(&buffer, template.spec(), 0);
}

#[test]
fn short_buffers_and_group_sources_are_refused() {
    let template = Template::new(spec(128, true, 4)).unwrap();
    let error = PacketError::BufferTooShort {
        need: 124,
        have: 123,
    };
    let mut short = [0; 123];
    assert_eq!(template.prepare(&mut short), Err(error.clone()));
    assert_eq!(template.stamp(&mut short, &STAMP_1234), Err(error));
    assert_eq!(short, [0; 123]);
    let mac = MacAddr::BROADCAST;
    let group = TemplateSpec {
        source_mac: mac,
        ..spec(64, false, 1)
    };
    assert_eq!(Template::new(group), Err(PacketError::MacGroup { mac }));
}
