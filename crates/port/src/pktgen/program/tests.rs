//! What the program makes of pktgen's frames is what the template would have written. Needs root.

use aya::programs::{TestRun, TestRunOptions};
use nicety_model::{Fps, FrameSize};
use nicety_packet::{FlowRange, MacAddr, Side, Stamp, TemplateSpec, VlanTag};

use super::*;
use crate::clock::monotonic_ns;
use crate::pace::Arrears;
use crate::xdp::abi::{Sending, Shape, Stream};

// Of linux/pkt_cls.h.
const TC_ACT_UNSPEC: i32 = -1;
const TC_ACT_SHOT: i32 = 2;

fn template(size: u16, tagged: bool, flows: u32, side: Side) -> Template {
    Template::new(TemplateSpec {
        frame_size: FrameSize::new(size).unwrap(),
        source_mac: MacAddr::local(7),
        destination_mac: MacAddr([0x02, 0xfe, 0xdc, 0xba, 0x98, 0x76]),
        vlan: tagged.then(|| VlanTag::new(1234, 5).unwrap()),
        flows: FlowRange::new(flows, side).unwrap(),
        mark: nicety_packet::RunMark::of(77),
    })
    .unwrap()
}

/// A frame of pktgen's: headers of IPv4 and UDP, its own, zeros.
fn of_pktgen(bytes: usize) -> Vec<u8> {
    let mut frame = vec![0; bytes];
    frame[12] = 0x08;
    frame[14] = 0x45;
    frame[42..46].copy_from_slice(&0xbe9b_e955_u32.to_be_bytes());
    frame
}

/// The program, or nothing where there can be none.
fn loaded(test: &str, template: &Template) -> Option<Stamper> {
    match Stamper::load(template) {
        Ok(stamper) => Some(stamper),
        Err(why @ (Unsupported::NotPermitted | Unsupported::NotBuilt(_))) => {
            println!("SKIP {test}: {why}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn run(stamper: &Stamper, frame: &[u8]) -> (i32, Vec<u8>) {
    let program: &SchedClassifier = stamper.loaded.program(STAMP).unwrap().try_into().unwrap();
    let mut out = vec![0; frame.len()];
    let ran = program.test_run(TestRunOptions {
        data_in: Some(frame),
        data_out: Some(&mut out),
        ..TestRunOptions::new()
    });
    (ran.unwrap().return_value as i32, out)
}

fn stream(template: &Template, frames: u64) -> Stream {
    Sending {
        shape: &Shape::of(template),
        stream: 1,
        trial: 0xa5,
        rate: Fps(1e6),
        arrears: Arrears::of(Fps(1e6), true),
        frames,
        follow: 0,
        run_ns: u64::MAX,
        interface: (0, 0),
    }
    .stream()
}

#[test]
fn frames_are_those_of_the_template() {
    for (size, tagged, flows, side) in [
        (64, false, 1, Side::A),
        (64, true, 1000, Side::B),
        (65, false, 7, Side::B),
        (1518, true, 129, Side::A),
        (3000, false, FlowRange::MAX, Side::A),
    ] {
        let template = template(size, tagged, flows, side);
        let Some(mut stamper) = loaded("frames_are_those_of_the_template", &template) else {
            return;
        };
        let frame = of_pktgen(template.frame_bytes());
        for sequence in [0, 1, 2, 255, 1000, 32_768, 99_999, u32::MAX - 1] {
            let stream = Stream {
                done: u64::from(sequence),
                ..stream(&template, u64::MAX)
            };
            stamper.maps.prepare(&[stream]).unwrap();
            stamper.maps.open_gate().unwrap();
            let before = monotonic_ns();
            let (action, made) = run(&stamper, &frame);
            let after = monotonic_ns();
            assert_eq!(action, TC_ACT_UNSPEC);
            let at = 14 + if tagged { 4 } else { 0 } + 28;
            let stamp = Stamp::read(made[at..].first_chunk().unwrap()).unwrap();
            assert!((before..=after).contains(&stamp.tx_ns), "{stamp:?}");
            assert_eq!((stamp.stream, stamp.sequence), (1, sequence));
            let mut wanted = vec![0; template.frame_bytes()];
            template.write(&mut wanted, &stamp).unwrap();
            assert_eq!(made, wanted, "{size} {tagged} {flows} {sequence}");
        }
    }
}

#[test]
fn others_frames_pass_and_unwanted_ones_do_not() {
    let template = template(64, false, 1, Side::A);
    let Some(mut stamper) = loaded("others_frames_pass_and_unwanted_ones_do_not", &template) else {
        return;
    };
    stamper.maps.prepare(&[stream(&template, 3)]).unwrap();
    let frame = of_pktgen(60);
    let mut other = frame.clone();
    other[43] ^= 1;
    assert_eq!(run(&stamper, &other), (TC_ACT_UNSPEC, other.clone()));
    assert!(!stamper.maps.sent(0).unwrap().ready);
    // Before the gate opens, and after the last frame.
    let act = |stamper: &Stamper| run(stamper, &frame).0;
    assert_eq!(act(&stamper), TC_ACT_SHOT);
    stamper.maps.open_gate().unwrap();
    assert_eq!([(); 3].map(|()| act(&stamper)), [TC_ACT_UNSPEC; 3]);
    assert_eq!(act(&stamper), TC_ACT_SHOT);
    let sent = stamper.maps.sent(0).unwrap();
    assert_eq!((sent.made, sent.unsent), (3, 2));
    assert!(sent.ended && sent.ready);
    assert_eq!(run(&stamper, &other), (TC_ACT_UNSPEC, other));
    // Lateness begins with the first frame, and every frame has one.
    assert_eq!(sent.start_ns, sent.first_ns);
    assert_eq!(stamper.maps.lateness(0).unwrap().iter().sum::<u32>(), 3);
    let marks = stamper.maps.marks(0).unwrap();
    let ends = [sent.first_ns, sent.last_ns];
    let whole = marks.numbers(std::slice::from_ref(&(0..u64::MAX >> 1)), ends, 3);
    let whole: Vec<_> = whole
        .into_iter()
        .flatten()
        .map(|n| (n.start, n.end))
        .collect();
    assert_eq!(whole, [(0, 3)]);
}
