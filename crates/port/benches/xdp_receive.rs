//! Cost of one frame in the receive program: `cargo bench -p nicety-port --bench xdp_receive`.
//! Frames lie in memory, every one takes the next number; root only.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use nicety_account::StreamTotals;
use nicety_model::{Direction, FrameSize};
use nicety_netdev::cpu_set;
use nicety_packet::{FlowRange, MacAddr, Side, Stamp, Template, TemplateSpec};
use nicety_port::af_packet::TrafficSpec;
use nicety_port::xdp::receive::{Bench, Receiver};
use rustix::thread::sched_getcpu;

const FRAMES: u32 = 1_000_000;
const ROUNDS: usize = 7;

fn main() {
    // The program numbers the frames by a count of its CPU.
    pin();
    // What the kernel's own loop around the program costs: a foreign frame is seen through at
    // once.
    println!("bytes  ns per frame: median [min, max] of {ROUNDS}, foreign frame");
    for (size, fragments) in [
        (64, false),
        (128, false),
        (512, false),
        (1518, false),
        (3000, false),
        (64, true),
        (9018, true),
    ] {
        let frame_size = FrameSize::new(size).unwrap();
        let traffic = TrafficSpec {
            frame_size,
            direction: Direction::Uni,
            flows: 1,
            stations: 1,
            vlan: None,
            shape: nicety_model::Shape::default(),
            mark: nicety_packet::RunMark::NONE,
        };
        let bench = Bench {
            fragments,
            renumber: true,
            ..Bench::default()
        };
        let mut receiver = match Receiver::unattached(traffic, &[0], bench) {
            Ok(receiver) => receiver,
            Err(error) => return println!("SKIP xdp_receive: {error}"),
        };
        let frame = frame(frame_size);
        let mut foreign = frame.clone();
        foreign[12..14].copy_from_slice(&[0x86, 0xdd]);
        let mut times = Vec::new();
        let mut idle = Vec::new();
        for _ in 0..ROUNDS {
            receiver.reset(1, u64::from(FRAMES)).unwrap();
            let (_, time) = receiver.feed(&frame, FRAMES).unwrap();
            times.push(time.as_nanos());
            idle.push(receiver.feed(&foreign, FRAMES).unwrap().1.as_nanos());
            let totals = StreamTotals {
                stream: 0,
                intended: u64::from(FRAMES),
                sent: u64::from(FRAMES),
            };
            let (counts, _) = receiver.finish(&[totals]).unwrap();
            assert_eq!(counts[0].frames.received, u64::from(FRAMES));
        }
        times.sort_unstable();
        idle.sort_unstable();
        println!(
            "{size:5}{} {} [{}, {}], {}",
            if fragments { "*" } else { " " },
            times[ROUNDS / 2],
            times[0],
            times[ROUNDS - 1],
            idle[ROUNDS / 2]
        );
    }
    println!("* the program for frames in several buffers");
}

/// Keeps this thread on the CPU it is on.
fn pin() {
    cpu_set::pin(None, &[sched_getcpu() as u32]).unwrap();
}

fn frame(frame_size: FrameSize) -> Vec<u8> {
    let template = Template::new(TemplateSpec {
        frame_size,
        source_mac: MacAddr::local(1),
        destination_mac: MacAddr::local(2),
        vlan: None,
        flows: FlowRange::single(Side::A),
        mark: nicety_packet::RunMark::NONE,
    })
    .unwrap();
    let mut frame = vec![0; template.frame_bytes()];
    let stamp = Stamp {
        stream: 0,
        trial: 1,
        sequence: 0,
        tx_ns: nicety_port::clock::monotonic_ns(),
    };
    template.write(&mut frame, &stamp).unwrap();
    frame
}
