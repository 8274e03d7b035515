//! What the program writes is what the template would have written. Needs root.

use nicety_model::{Fps, FrameSize};
use nicety_packet::{FlowRange, MacAddr, Side, Stamp, Template, TemplateSpec, VlanTag};

use super::*;
use crate::clock::monotonic_ns;
use crate::pace::Arrears;
use crate::xdp::abi::{Sending, Shape, Stream};

/// The loopback interface of every namespace.
const LOOPBACK: u32 = 1;

fn template(size: u16, tagged: bool, flows: u32, side: Side) -> Template {
    Template::new(TemplateSpec {
        frame_size: FrameSize::new(size).unwrap(),
        source_mac: MacAddr::local(7),
        destination_mac: MacAddr([0x02, 0xfe, 0xdc, 0xba, 0x98, 0x76]),
        vlan: tagged.then(|| VlanTag::new(1234, 5).unwrap()),
        // Several stations with some sizes, tagged and not.
        flows: FlowRange::new(flows, side)
            .and_then(|flows| flows.between(if size % 2 == 1 { 3 } else { 1 }))
            .unwrap(),
        mark: nicety_packet::RunMark::of(77),
    })
    .unwrap()
}

fn sending(shape: &Shape) -> Sending<'_> {
    Sending {
        shape,
        stream: 9,
        trial: 0xa5,
        rate: Fps(1e9),
        arrears: Arrears::of(Fps(1e9), false),
        frames: u64::MAX,
        follow: 0,
        run_ns: u64::MAX,
        interface: (LOOPBACK, 0),
    }
}

/// A transmitter with one stream, or nothing where there can be none.
fn loaded(test: &str, template: &Template) -> Option<Transmitter> {
    match Transmitter::load(template.bytes()) {
        Ok(mut transmitter) => {
            transmitter.join(0, LOOPBACK).unwrap();
            Some(transmitter)
        }
        Err(
            why
            @ (Unsupported::NotPermitted | Unsupported::NotBuilt(_) | Unsupported::NoLiveFrames),
        ) => {
            println!("SKIP {test}: {why}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn stamp_of(frame: &[u8], at: usize) -> Stamp {
    Stamp::read(frame[at..].first_chunk().unwrap()).unwrap()
}

#[test]
fn frames_are_those_of_the_template() {
    for (size, tagged, flows, side) in [
        (64, false, 1, Side::A),
        (64, true, 1, Side::B),
        (64, false, 1000, Side::A),
        (64, true, FlowRange::MAX, Side::B),
        (65, false, 7, Side::B),
        (65, true, 1, Side::A),
        (1518, true, 129, Side::A),
        (3000, false, 1024, Side::B),
    ] {
        let template = template(size, tagged, flows, side);
        let Some(mut transmitter) = loaded("frames_are_those_of_the_template", &template) else {
            return;
        };
        let shape = Shape::of(&template);
        let stamp_at = 14 + if tagged { 4 } else { 0 } + 28;
        let ordinary = (0..200).chain([1000, 1001, 32_767, 32_768, 99_999]);
        let sequences = ordinary.chain([(1 << 20) - 1, 1 << 20, u32::MAX - 1, u32::MAX]);
        for sequence in sequences {
            let stream = Stream {
                done: u64::from(sequence),
                ..sending(&shape).stream()
            };
            transmitter.prepare(&[stream]).unwrap();
            transmitter.maps.open_gate().unwrap();
            let before = monotonic_ns();
            let frame = transmitter.frame();
            let after = monotonic_ns();
            let stamp = stamp_of(&frame, stamp_at);
            assert!((before..=after).contains(&stamp.tx_ns), "{stamp:?}");
            let expected = Stamp {
                stream: 9,
                trial: 0xa5,
                sequence,
                tx_ns: stamp.tx_ns,
            };
            let mut wanted = vec![0; template.frame_bytes()];
            template.write(&mut wanted, &expected).unwrap();
            // The program writes the head; the rest is as the kernel copied it into the page.
            let head = stamp_at + 14;
            assert_eq!(
                frame[..head],
                wanted[..head],
                "{size} {tagged} {flows} {sequence}"
            );
            assert!(frame[head..].iter().all(|byte| *byte == 0xee));
        }
    }
}

#[test]
fn every_checksum_is_right() {
    // The time differs in every frame: some sums come out as zero.
    let template = template(64, false, 1, Side::A);
    let Some(mut transmitter) = loaded("every_checksum_is_right", &template) else {
        return;
    };
    let shape = Shape::of(&template);
    transmitter.prepare(&[sending(&shape).stream()]).unwrap();
    transmitter.maps.open_gate().unwrap();
    let mut wanted = vec![0; template.frame_bytes()];
    for sequence in 0..20_000 {
        let frame = transmitter.frame();
        let stamp = stamp_of(&frame, 42);
        assert_eq!(stamp.sequence, sequence);
        template.write(&mut wanted, &stamp).unwrap();
        assert_eq!(frame[..56], wanted[..56]);
    }
    assert_eq!(transmitter.maps.sent(0).unwrap().made, 20_000);
}

#[test]
fn a_frame_larger_than_a_page_is_refused() {
    let small = template(64, false, 1, Side::A);
    if loaded("a_frame_larger_than_a_page_is_refused", &small).is_none() {
        return;
    }
    let load = |size| Transmitter::load(template(size, false, 1, Side::A).bytes());
    load(3400).unwrap();
    for size in [4096, 9018] {
        let error = load(size).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("frames of {size} bytes do not fit into one page, which live frames must")
        );
    }
}

#[test]
fn a_sender_that_is_late_owes_what_it_may_and_no_more() {
    const STEP_NS: u64 = 100_000;
    const LATE_NS: u64 = 10_000_000;
    let template = template(64, false, 1, Side::A);
    let name = "a_sender_that_is_late_owes_what_it_may_and_no_more";
    let Some(mut transmitter) = loaded(name, &template) else {
        return;
    };
    let shape = Shape::of(&template);
    let rate = Fps(1e9 / STEP_NS as f64);
    for (catch_up, kept) in [(false, 0), (true, 63)] {
        let mut stream = Sending {
            rate,
            arrears: Arrears::of(rate, catch_up),
            // Frames that would follow are not due any more.
            follow: 15,
            ..sending(&shape)
        }
        .stream();
        stream.begun = monotonic_ns() - LATE_NS;
        stream.due_ns = stream.begun;
        transmitter.prepare(&[stream]).unwrap();
        let before = monotonic_ns();
        transmitter.frame();
        let after = monotonic_ns();
        let sent = transmitter.maps.sent(0).unwrap();
        assert_eq!((sent.made, sent.slips), (1, 1));
        assert!(sent.slip_max_ns >= LATE_NS - kept * STEP_NS, "{sent:?}");
        // The next one is a step after the slot that this one had in the end.
        let next = sent.due_ns + kept * STEP_NS - STEP_NS;
        assert!((before..=after).contains(&next), "{sent:?}");
        let stream = Stream::of(transmitter.maps.streams.get(&0, 0).unwrap());
        assert_eq!(stream.following, if catch_up { 15 } else { 0 });
    }
}
