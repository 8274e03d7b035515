use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use nicety_model::sock::Family;
use nicety_model::{Mix, Transport};
use proptest::prelude::*;

use super::*;
use crate::{CheckCorruption, Expect, Seen, Side, Template, TemplateSpec};

fn spec(size: u16, shape: Shape) -> MixedSpec {
    MixedSpec {
        frame_size: FrameSize::new(size).unwrap(),
        shape,
        path_tag: None,
        source_mac: MacAddr::local(1),
        destination_mac: MacAddr::local(2),
        flows: FlowRange::new(1000, Side::A).unwrap(),
    }
}

fn stamp(sequence: u32) -> Stamp {
    Stamp {
        stream: 1,
        trial: 7,
        sequence,
        tx_ns: 123_456_789,
    }
}

fn frame(template: &MixedTemplate, stamp: &Stamp) -> Vec<u8> {
    let mut buffer = vec![0xaa; 9100];
    template
        .prepare(template.place(stamp.sequence), &mut buffer)
        .unwrap();
    let bytes = template.stamp(&mut buffer, stamp).unwrap();
    buffer.truncate(bytes);
    buffer
}

fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for family in [None, Some(Family::Ipv6)] {
        for protocol in [None, Some(Transport::Tcp)] {
            for vlan in [None, Some("100"), Some("200.100")] {
                for imix in [None, Some("1:100,2:600,1:1518")] {
                    shapes.push(Shape {
                        imix: imix.map(|mix| mix.parse().unwrap()),
                        family,
                        protocol,
                        dscp: Some(46),
                        vlan: vlan.map(|vlan| vlan.parse().unwrap()),
                        ..Shape::default()
                    });
                }
            }
        }
    }
    shapes
}

#[test]
fn others_read_what_was_written() {
    for shape in shapes() {
        let template = MixedTemplate::new(spec(256, shape)).unwrap();
        for sequence in 0..9 {
            let frame = frame(&template, &stamp(sequence));
            let read = SlicedPacket::from_ethernet(&frame).unwrap();
            let tags = read.link_exts.len();
            assert_eq!(
                tags,
                shape
                    .vlan
                    .map_or(0, |vlan| 1 + usize::from(vlan.inner.is_some()))
            );
            let size = shape.imix.map_or(256, |mix| {
                let place = usize::from(mix.sequence()[sequence as usize % 4]);
                mix.shares().nth(place).unwrap().size.bytes()
            });
            assert_eq!(frame.len() + 4, usize::from(size));
            let flow = FlowRange::new(1000, Side::A).unwrap().flow(sequence);
            let (dscp, checked) =
                match (read.net.as_ref().unwrap(), read.transport.as_ref().unwrap()) {
                    (NetSlice::Ipv4(ip), transport) => {
                        let header = ip.header().to_header();
                        assert_eq!(header.calc_header_checksum(), header.header_checksum);
                        assert_eq!(header.source, flow.source.octets());
                        assert_eq!(usize::from(header.total_len), frame.len() - 14 - 4 * tags);
                        let sum = match transport {
                            TransportSlice::Udp(udp) => {
                                let checksum =
                                    udp.to_header().calc_checksum_ipv4(&header, udp.payload());
                                (checksum.unwrap(), udp.checksum())
                            }
                            TransportSlice::Tcp(tcp) => {
                                let checksum =
                                    tcp.calc_checksum_ipv4(header.source, header.destination);
                                (checksum.unwrap(), tcp.checksum())
                            }
                            other => panic!("{other:?}"),
                        };
                        (header.dscp.value(), sum)
                    }
                    (NetSlice::Ipv6(ip), transport) => {
                        let header = ip.header().to_header();
                        assert_eq!(header.source, v6(flow.source).octets());
                        assert_eq!(
                            usize::from(header.payload_length),
                            frame.len() - 54 - 4 * tags
                        );
                        let sum = match transport {
                            TransportSlice::Udp(udp) => {
                                let checksum =
                                    udp.to_header().calc_checksum_ipv6(&header, udp.payload());
                                (checksum.unwrap(), udp.checksum())
                            }
                            TransportSlice::Tcp(tcp) => {
                                let checksum =
                                    tcp.calc_checksum_ipv6(header.source, header.destination);
                                (checksum.unwrap(), tcp.checksum())
                            }
                            other => panic!("{other:?}"),
                        };
                        (header.traffic_class >> 2, sum)
                    }
                    other => panic!("{other:?}"),
                };
            assert_eq!(dscp, 46, "{shape:?}");
            assert_eq!(checked.0, checked.1, "{shape:?}");
        }
    }
}

#[test]
fn the_receiver_knows_its_frames_and_every_flipped_bit() {
    for shape in shapes() {
        let template = MixedTemplate::new(spec(128, shape)).unwrap();
        let expect = template.expect();
        for sequence in [0, 1, 2, 1_000_003] {
            let stamp = stamp(sequence);
            let sent = frame(&template, &stamp);
            let seen = |bytes: &[u8]| expect.classify(bytes, CheckCorruption::Full);
            assert_eq!(seen(&sent), Seen::Ours(stamp), "{shape:?}");
            // Addresses and tags of the link may change on the way.
            for at in (template.layout.link..sent.len()).step_by(3) {
                let mut broken = sent.clone();
                broken[at] ^= 0x10;
                let seen = seen(&broken);
                // What the path may change: the class of traffic and hops of IPv6, which has no checksum.
                let free =
                    template.layout.ipv6 && [0, 1, 2, 3, 7].contains(&(at - template.layout.link));
                assert!(
                    free || seen == Seen::Corrupt,
                    "byte {at} of {shape:?}: {seen:?}"
                );
            }
            assert_eq!(seen(&sent[..sent.len() - 1]), Seen::Corrupt);
        }
        let learning = frame(&template, &Stamp::learning(7));
        assert_eq!(
            expect.classify(&learning, CheckCorruption::Full),
            Seen::Learning
        );
        assert_eq!(
            expect.classify(&[0; 64], CheckCorruption::Full),
            Seen::Foreign
        );
    }
}

#[test]
fn the_usual_shape_is_the_usual_frame() {
    let spec = spec(64, Shape::default());
    let usual = Template::new(TemplateSpec {
        frame_size: spec.frame_size,
        source_mac: spec.source_mac,
        destination_mac: spec.destination_mac,
        vlan: None,
        flows: spec.flows,
        mark: crate::RunMark::NONE,
    });
    let (usual, mixed) = (usual.unwrap(), MixedTemplate::new(spec).unwrap());
    for sequence in [0, 1, 999, 1000, u32::MAX] {
        let mut buffer = vec![0; 60];
        usual.write(&mut buffer, &stamp(sequence)).unwrap();
        assert_eq!(frame(&mixed, &stamp(sequence)), buffer);
        let seen = Expect::new(spec.frame_size, false).classify(&buffer, CheckCorruption::Full);
        assert_eq!(
            seen,
            mixed.expect().classify(&buffer, CheckCorruption::Full)
        );
    }
}

#[test]
fn frames_too_small_for_their_headers_are_refused() {
    for shape in shapes() {
        let smallest = shape.smallest();
        let shape = shape.with_mix(None);
        MixedTemplate::new(spec(smallest, shape)).unwrap();
        if smallest > 64 {
            let error = MixedTemplate::new(spec(smallest - 1, shape)).unwrap_err();
            let size = FrameSize::new(smallest - 1).unwrap();
            assert_eq!(
                error,
                PacketError::FrameTooSmall {
                    size,
                    needed: smallest
                }
            );
        }
    }
}

proptest! {
    #[test]
    fn a_mix_is_told_apart_frame_by_frame(first: u32, flows in 1..2000_u32) {
        let mix: Mix = "7:64,4:594,1:1518".parse().unwrap();
        let spec = MixedSpec {
            flows: FlowRange::new(flows, Side::B).unwrap(),
            ..spec(1518, Shape::default().with_mix(Some(mix)))
        };
        let template = MixedTemplate::new(spec).unwrap();
        let expect = template.expect();
        for n in 0..24 {
            let stamp = stamp(first.wrapping_add(n));
            let sent = frame(&template, &stamp);
            prop_assert_eq!(expect.classify(&sent, CheckCorruption::Full), Seen::Ours(stamp));
        }
    }
}

#[test]
fn a_frame_has_the_flow_that_it_is_given() {
    let given = Flow {
        source: std::net::Ipv4Addr::new(198, 18, 255, 1),
        destination: std::net::Ipv4Addr::new(198, 19, 1, 1),
        source_port: 1024,
        destination_port: 10_007,
    };
    for shape in shapes() {
        let template = MixedTemplate::new(spec(512, shape)).unwrap();
        let stamp = stamp(3);
        let mut buffer = vec![0; 9100];
        let place = template.place(stamp.sequence);
        template.prepare(place, &mut buffer).unwrap();
        let bytes = template.stamp_flow(&mut buffer, &stamp, given).unwrap();
        buffer.truncate(bytes);
        let expect = template.expect();
        assert_eq!(expect.flow_of(&buffer), Some(given), "{shape:?}");
        assert_eq!(
            expect.classify(&buffer, CheckCorruption::Full),
            Seen::Ours(stamp),
            "{shape:?}"
        );
        // Of other headers it is none.
        let other = Shape {
            family: match shape.family {
                None => Some(Family::Ipv6),
                Some(_) => None,
            },
            ..shape
        };
        let other = MixedTemplate::new(spec(512, other)).unwrap().expect();
        assert_eq!(other.flow_of(&buffer), None, "{shape:?}");
    }
}

#[test]
fn addresses_of_ipv6_stand_for_one_of_ipv4() {
    for address in [[198, 18, 0, 1], [198, 18, 255, 254], [198, 19, 1, 1]] {
        let address = std::net::Ipv4Addr::from(address);
        assert_eq!(crate::flow::v4(v6(address)), Some(address));
    }
    for other in ["2001:2:0:c::1", "2001:2:1:a::1", "2001:2:0:a::1:0:1", "::1"] {
        assert_eq!(crate::flow::v4(other.parse().unwrap()), None, "{other}");
    }
}
