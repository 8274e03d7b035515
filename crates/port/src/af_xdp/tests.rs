//! Real frames on a veth pair, counted by the kernel as well. Needs root.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use nicety_model::recovery::Then;
use nicety_model::{Direction, Fps, FrameSize};
use nicety_netdev::link::{LinkChange, Links};
use nicety_netdev::privilege::{Privilege, privilege};
use nicety_packet::MacAddr;
use nicety_paths::{DirectPath, DirectSpec, Path};

use super::tx::BATCH;
use super::*;
use crate::amid_frames::amid_frames;
use crate::engine::{Engine, EngineReport};
use crate::xdp::object;

/// Faster than anything sends.
const FLAT_OUT: Fps = Fps(50e6);

/// A veth pair with the engine on it.
struct Stage {
    engine: AfXdp,
    path: DirectPath,
}

fn can_run(test: &str) -> bool {
    let why = match privilege().unwrap() {
        Privilege::Privileged => object::missing().map(|why| why.to_string()),
        _ => Some("only root may load BPF programs".to_owned()),
    };
    if let Some(why) = &why {
        println!("SKIP {test}: {why}");
    }
    why.is_none()
}

/// The last CPU: the sender has the first.
fn last_cpu() -> u32 {
    std::thread::available_parallelism().unwrap().get() as u32 - 1
}

/// A veth pair whose receivers are threads of `cpu`.
fn pair(size: u16, cpu: u32) -> DirectPath {
    DirectPath::build(&DirectSpec {
        path_cpus: vec![cpu],
        largest_frame: FrameSize::new(size).unwrap(),
        queues: 1,
    })
    .unwrap()
}

fn specs(path: &DirectPath) -> [PortSpec; 2] {
    [0, 1].map(|n| PortSpec {
        interface: path.ports()[n].name.clone(),
        mac: MacAddr::local(n as u32),
        mtu: path.ports()[n].mtu,
        refusal: Refusal::LostInPath,
        promiscuous: false,
    })
}

fn traffic(size: u16, direction: Direction) -> TrafficSpec {
    TrafficSpec {
        frame_size: FrameSize::new(size).unwrap(),
        direction,
        flows: 3,
        stations: 1,
        vlan: None,
        shape: nicety_model::Shape::default(),
        mark: nicety_packet::RunMark::NONE,
    }
}

/// The engine, or why not.
fn open(
    path: &DirectPath,
    specs: [PortSpec; 2],
    traffic: TrafficSpec,
    threads: usize,
) -> Result<AfXdp, PortError> {
    let mut opening = Opening::new(specs, traffic, vec![Some(0); threads])?;
    for side in [1, 0] {
        path.ports()[side].ns.run(|| opening.open(side)).unwrap()?;
    }
    Ok(opening.finish())
}

impl Stage {
    /// Nothing where the engine cannot run; `test` is said with the reason.
    fn build(test: &str, size: u16, direction: Direction, threads: usize) -> Option<Self> {
        Self::on(last_cpu(), test, size, direction, threads)
    }

    /// The same with receivers on `cpu`.
    fn on(cpu: u32, test: &str, size: u16, direction: Direction, threads: usize) -> Option<Self> {
        if !can_run(test) {
            return None;
        }
        let path = pair(size, cpu);
        let engine = open(&path, specs(&path), traffic(size, direction), threads).unwrap();
        Some(Self { engine, path })
    }

    /// What the kernel says of the ends: frames that arrived at the other side, and those that
    /// its ring refused.
    fn counters(&self) -> [(u64, u64); 2] {
        let counters = self.path.counters().unwrap();
        let of = |name| *counters.of(name).unwrap();
        [("a", "b"), ("b", "a")].map(|(near, far)| (of(far).rx_packets, of(near).tx_dropped))
    }

    /// Runs a trial and checks every count against the kernel's.
    fn run(&mut self, order: &TrialOrder, stop: &Stop) -> EngineReport {
        let before = self.counters();
        let report = self.engine.trial(order, stop).unwrap();
        let after = self.counters();
        for (n, (sender, stream)) in report.senders.iter().zip(&report.streams).enumerate() {
            let arrived = after[n].0 - before[n].0;
            let refused = after[n].1 - before[n].1;
            assert_eq!(sender.refused_by_path, refused, "{sender:?}");
            assert_eq!(arrived + refused, sender.sent, "{sender:?}");
            assert_eq!(stream.frames.received, arrived, "{stream:?}");
            assert_eq!(stream.frames.lost, refused, "{stream:?}");
            let wrong = stream.frames.corrupt + stream.frames.duplicate + stream.frames.reordered;
            assert_eq!(wrong, 0, "{stream:?}");
            assert_eq!(sender.pacing.refused, 0);
        }
        // The path is empty, so every frame has come back.
        for sender in &mut self.engine.senders.senders {
            assert_eq!(sender.out.socket.under_way(), 0);
        }
        report
    }
}

/// A trial of `frames` frames, which ends early where the machine is busy.
fn order(rate: Fps, frames: u64) -> TrialOrder {
    TrialOrder {
        load: rate,
        duration: Duration::from_secs_f64(frames as f64 / rate.0),
        then: None,
        drain_max: Duration::from_secs(10),
        drain_quiet: Duration::from_millis(300),
        trial: 1,
        rest: None,
        catch_up: true,
        numbers: false,
    }
}

/// The same with all the time that a busy machine may take: behind the step no frame follows.
fn patient(load: f64, frames: u64) -> TrialOrder {
    TrialOrder {
        then: Some(Then {
            load: Fps(1e-6),
            duration: Duration::from_secs(600),
        }),
        ..order(Fps(load), frames)
    }
}

#[test]
fn a_trial_of_n_frames_sends_n() {
    let name = "a_trial_of_n_frames_sends_n";
    for size in [64, 1518, FRAME_SIZE_MAX] {
        let Some(mut stage) = Stage::build(name, size, Direction::Uni, 1) else {
            return;
        };
        stage.engine.learn().unwrap();
        while stage.counters().iter().any(|side| side.0 < LEARNING_FRAMES) {
            std::thread::sleep(Duration::from_millis(1));
        }
        for (load, frames) in [(1000.0, 100), (10_000.0, 5000)] {
            let report = stage.run(&patient(load, frames), &Stop::default());
            assert_eq!(report.senders[0].sent, frames);
            assert_eq!(
                report.latency.unwrap().samples,
                report.streams[0].frames.received
            );
        }
    }
}

#[test]
fn what_did_not_arrive_was_refused() {
    let name = "what_did_not_arrive_was_refused";
    // The receiver's thread is on the sender's CPU, where a sender of real-time priority, which threads inherit,
    // does not let it run: the ring of 256 runs full.
    let Some(mut stage) = Stage::on(0, name, 64, Direction::Uni, 1) else {
        return;
    };
    if let Err(why) = nicety_netdev::schedule::before_programs(None) {
        println!("SKIP {name}: no real-time priority here: {why}");
        return;
    }
    let flat_out = TrialOrder {
        duration: Duration::from_millis(300),
        ..order(FLAT_OUT, 1)
    };
    let report = stage.run(&flat_out, &Stop::default());
    assert!(report.senders[0].refused_by_path > 0, "{report:?}");
}

#[test]
fn both_directions_from_one_thread_and_from_two() {
    let name = "both_directions_from_one_thread_and_from_two";
    for threads in [1, 2] {
        let Some(mut stage) = Stage::build(name, 128, Direction::Bi, threads) else {
            return;
        };
        let report = stage.run(&patient(5000.0, 1000), &Stop::default());
        assert_eq!(report.senders.len(), 2);
        assert_eq!(report.workers.len(), threads);
        for (n, sender) in report.senders.iter().enumerate() {
            assert_eq!(usize::from(sender.stream), n);
            assert_eq!(sender.sent, 1000, "{sender:?}");
        }
    }
}

#[test]
fn a_long_trial_stops_when_asked() {
    let name = "a_long_trial_stops_when_asked";
    let Some(mut stage) = Stage::build(name, 64, Direction::Uni, 1) else {
        return;
    };
    let flag = Arc::new(AtomicBool::new(false));
    let stop = Stop::shared(flag.clone());
    let stopper = amid_frames(&stage.path, move || flag.store(true, Ordering::Relaxed));
    // Minutes: the test's time limit is the assertion.
    let report = stage.run(&order(Fps(10_000.0), 8_000_000), &stop);
    stopper.join().unwrap();
    assert!(report.interrupted && report.senders[0].sent < 8_000_000);
}

#[test]
fn a_port_that_goes_ends_the_trial() {
    let name = "a_port_that_goes_ends_the_trial";
    for (side, removed) in [(0, false), (1, false), (0, true)] {
        let Some(mut stage) = Stage::build(name, 64, Direction::Uni, 1) else {
            return;
        };
        let port = stage.path.ports()[side].clone();
        let ender = amid_frames(&stage.path, move || {
            let links = Links::open(&port.ns).unwrap();
            if removed {
                links.delete(&port.name).unwrap();
            } else {
                let down = LinkChange {
                    up: Some(false),
                    ..LinkChange::default()
                };
                links.change(&port.name, &down).unwrap();
            }
        });
        let order = order(Fps(10_000.0), 8_000_000);
        let result = stage.engine.trial(&order, &Stop::default());
        ender.join().unwrap();
        let fault = result.as_ref().map_err(|error| &error.fault);
        assert!(matches!(fault, Err(PortFault::Down)), "{result:?}");
    }
}

#[test]
fn frames_that_wait_in_the_ring_are_sent_once() {
    let name = "frames_that_wait_in_the_ring_are_sent_once";
    let Some(mut stage) = Stage::build(name, 64, Direction::Uni, 1) else {
        return;
    };
    let before = stage.counters()[0].0;
    let sender = &mut stage.engine.senders.senders[0].out;
    for n in 0..3 {
        assert_eq!(sender.socket.room(), BATCH - n);
        sender.socket.hand_over(1);
        assert_eq!(sender.socket.waiting(), n as u32 + 1);
    }
    assert_eq!(sender.socket.send().unwrap(), 0);
    assert_eq!(sender.socket.waiting(), 0);
    assert_eq!(sender.socket.take_invalid().unwrap(), 0);
    let deadline = Instant::now() + Duration::from_secs(10);
    while stage.engine.senders.senders[0].out.socket.under_way() > 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(stage.counters()[0].0 - before, 3);
}

#[test]
fn bad_ports_are_refused_in_one_line() {
    let name = "bad_ports_are_refused_in_one_line";
    if !can_run(name) {
        return;
    }
    let path = pair(9018, last_cpu());
    let refused = |specs, size| {
        let opened = open(&path, specs, traffic(size, Direction::Uni), 1);
        opened.unwrap_err().to_string()
    };
    assert_eq!(
        refused(specs(&path), 9018),
        "a: cannot send by AF_XDP: it sends frames of up to 3844 bytes, not of 9018: use the \
         engine xdp or af_packet"
    );
    let [a, b] = specs(&path);
    let narrow = PortSpec { mtu: 1000, ..a };
    assert_eq!(
        refused([narrow, b], 1518),
        "a: MTU 1000 is too small for frames of 1518 bytes; it needs 1500"
    );
    let _first = open(&path, specs(&path), traffic(64, Direction::Uni), 1).unwrap();
    let opened = path.ports()[0]
        .ns
        .run(|| TxSocket::open(&Socket::open("a").unwrap(), 60))
        .unwrap();
    assert!(
        opened
            .unwrap_err()
            .to_string()
            .starts_with("a: cannot send by AF_XDP: queue 0 has an AF_XDP socket"),
    );
}
