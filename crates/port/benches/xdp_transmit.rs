//! What the transmit program sends and how well it keeps its schedule, on a bare veth pair whose
//! far end accounts every frame in XDP. Needs root; prints one line per load.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::time::Duration;

use nicety_model::{Direction, Fps, FrameSize};
use nicety_packet::MacAddr;
use nicety_paths::{DirectPath, DirectSpec, Path};
use nicety_port::af_packet::{PortSpec, Refusal, TrafficSpec};
use nicety_port::xdp::Opening;
use nicety_port::{Engine, Stop, TrialOrder, xdp};

/// Frames per second, slowest first; the last is more than anything sends.
const LOADS: [f64; 7] = [1e3, 1e4, 1e5, 5e5, 1e6, 2e6, 50e6];
const ROUNDS: u8 = 5;

fn main() {
    if let Err(why) = xdp::probe::live_frames() {
        println!("SKIP xdp_transmit: {why}");
        return;
    }
    let last = std::thread::available_parallelism().unwrap().get() as u32 - 1;
    let frame_size = FrameSize::new(64).unwrap();
    let path = DirectPath::build(&DirectSpec {
        path_cpus: vec![last],
        largest_frame: frame_size,
        queues: 1,
    })
    .unwrap();
    let spec = |n: usize| PortSpec {
        interface: path.ports()[n].name.clone(),
        mac: MacAddr::local(n as u32),
        mtu: path.ports()[n].mtu,
        refusal: Refusal::LostInPath,
        promiscuous: false,
    };
    let traffic = TrafficSpec {
        frame_size,
        direction: Direction::Uni,
        flows: 1,
        stations: 1,
        vlan: None,
        shape: nicety_model::Shape::default(),
        mark: nicety_packet::RunMark::NONE,
    };
    let mut opening = Opening::new([spec(0), spec(1)], traffic, vec![Some(0)]).unwrap();
    for side in [1, 0] {
        let ns = &path.ports()[side].ns;
        ns.run(|| opening.open(side)).unwrap().unwrap();
    }
    let mut engine = opening.finish();
    println!("{}", engine.name());
    println!(
        "{:>9} {:>9} {:>9} {:>8} {:>9} {:>9} {:>5} {:>6} {:>8} {:>8} {:>8}",
        "asked",
        "offered",
        "received",
        "refused",
        "late p99",
        "late max",
        "slips",
        "row",
        "p50 us",
        "p99 us",
        "p99.9 us"
    );
    for round in 0..ROUNDS {
        for load in LOADS {
            let order = TrialOrder {
                load: Fps(load),
                duration: Duration::from_secs(1),
                then: None,
                drain_max: Duration::from_secs(1),
                drain_quiet: Duration::from_millis(40),
                trial: round,
                rest: None,
                catch_up: false,
                numbers: false,
            };
            let report = engine.trial(&order, &Stop::default()).unwrap();
            let (sender, stream) = (&report.senders[0], &report.streams[0]);
            let pacing = sender.pacing;
            let latency = report.latency.unwrap_or_default();
            println!(
                "{load:>9} {:>9.0} {:>9} {:>8} {:>9.2} {:>9.1} {:>5} {:>6} {:>8.2} {:>8.2} {:>8.2}",
                pacing.offered_fps,
                stream.frames.received,
                sender.refused_by_path,
                pacing.late_p99_us,
                pacing.late_max_us,
                pacing.slips,
                pacing.burst_max,
                latency.p50,
                latency.p99,
                latency.p999
            );
        }
    }
}
