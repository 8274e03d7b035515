//! What the engines send and count on this machine, one beside the other. Needs root.
//!
//! `cargo bench -p nicety-port --bench engines`
// A program that prints its result.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::time::Duration;

use nicety_model::{Direction, Fps, FrameSize};
use nicety_netdev::privilege::{Privilege, privilege};
use nicety_packet::MacAddr;
use nicety_paths::{BridgePath, BridgeSpec, DirectPath, DirectSpec, Path};
use nicety_port::af_packet::{AfPacket, PortSockets, PortSpec, Refusal, TrafficSpec};
use nicety_port::{Engine, Stop, TrialOrder, af_xdp, xdp};

const ROUNDS: usize = 5;
const ENGINES: [&str; 3] = ["xdp", "af_xdp", "af_packet"];
const FLAT_OUT: Fps = Fps(50e6);
const TRIAL: Duration = Duration::from_millis(300);

fn main() {
    if privilege().unwrap() != Privilege::Privileged {
        println!("SKIP engines: needs root");
        return;
    }
    println!("thousand frames/s, median of {ROUNDS} [min, max]; ratio to af_packet in its round");
    for size in [64, 1518] {
        let frame_size = FrameSize::new(size).unwrap();
        let last = std::thread::available_parallelism().unwrap().get() as u32 - 1;
        let direct = DirectPath::build(&DirectSpec {
            path_cpus: vec![last],
            largest_frame: frame_size,
            queues: 1,
        });
        measure(&format!("veth {size}"), &direct.unwrap(), frame_size);
        let bridge = BridgePath::build(&BridgeSpec {
            path_cpus: vec![last],
            largest_frame: frame_size,
            queues: 1,
        });
        measure(&format!("bridge {size}"), &bridge.unwrap(), frame_size);
    }
}

/// Offered and received, in thousand frames/s, by engine and round.
fn measure(name: &str, path: &dyn Path, frame_size: FrameSize) {
    let mut rates = [[[0.0; 2]; ROUNDS]; ENGINES.len()];
    for round in 0..ROUNDS {
        for (rates, engine) in rates.iter_mut().zip(ENGINES) {
            rates[round] = flat_out(engine, path, frame_size);
        }
    }
    for (n, what) in ["offered", "received"].into_iter().enumerate() {
        let base = rates[ENGINES.len() - 1].map(|round| round[n]);
        for (rates, engine) in rates.iter().zip(ENGINES) {
            let one = rates.map(|round| round[n]);
            let ratio: Vec<_> = one.iter().zip(base).map(|(one, base)| one / base).collect();
            let (one, ratio) = (spread(&one, 0), spread(&ratio, 2));
            println!("{name:<12} {what:<9} {engine:<10} {one:<22} {ratio}");
        }
    }
}

fn spread(values: &[f64], digits: usize) -> String {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let [min, median, max] = [0, values.len() / 2, values.len() - 1].map(|n| values[n]);
    format!("{median:.digits$} [{min:.digits$}, {max:.digits$}]")
}

/// One trial as fast as the engine can.
fn flat_out(engine: &str, path: &dyn Path, frame_size: FrameSize) -> [f64; 2] {
    let mut engine = open(engine, path, frame_size);
    engine.learn().unwrap();
    let order = TrialOrder {
        load: FLAT_OUT,
        duration: TRIAL,
        then: None,
        drain_max: Duration::from_millis(500),
        drain_quiet: Duration::from_millis(50),
        trial: 1,
        rest: None,
        catch_up: true,
        numbers: false,
    };
    let report = engine.trial(&order, &Stop::default()).unwrap();
    let pacing = &report.senders[0].pacing;
    let received = report.streams[0].frames.received as f64;
    [pacing.offered_fps, received / pacing.sending_s].map(|fps| fps / 1000.0)
}

fn open(engine: &str, path: &dyn Path, frame_size: FrameSize) -> Box<dyn Engine> {
    let specs = [0, 1].map(|n| PortSpec {
        interface: path.ports()[n].name.clone(),
        mac: MacAddr::local(n as u32 + 1),
        mtu: path.ports()[n].mtu,
        refusal: Refusal::LostInPath,
        promiscuous: false,
    });
    let traffic = TrafficSpec {
        frame_size,
        direction: Direction::Uni,
        flows: 1,
        stations: 1,
        vlan: None,
        shape: nicety_model::Shape::default(),
        mark: nicety_packet::RunMark::NONE,
    };
    let cpus = vec![Some(0)];
    let ns = |side: usize| &path.ports()[side].ns;
    match engine {
        "xdp" => {
            let mut opening = xdp::Opening::new(specs, traffic, cpus).unwrap();
            for side in [1, 0] {
                ns(side).run(|| opening.open(side)).unwrap().unwrap();
            }
            Box::new(opening.finish())
        }
        "af_xdp" => {
            let mut opening = af_xdp::Opening::new(specs, traffic, cpus).unwrap();
            for side in [1, 0] {
                ns(side).run(|| opening.open(side)).unwrap().unwrap();
            }
            Box::new(opening.finish())
        }
        _ => {
            let [a, b] = [0, 1].map(|side| {
                let port = || PortSockets::open(&specs[side], frame_size);
                ns(side).run(port).unwrap().unwrap()
            });
            Box::new(AfPacket::new(a, b, traffic, cpus).unwrap())
        }
    }
}
