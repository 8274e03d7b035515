//! Real frames on a veth pair, counted by the kernel. Needs root.

use std::sync::Arc;
use std::time::Instant;

use nicety_model::FrameSize;
use nicety_netdev::ethtool::Ethtool;
use nicety_netdev::link::{LinkChange, Links};
use nicety_netdev::privilege::{Privilege, privilege};
use nicety_packet::MacAddr;
use nicety_paths::{DirectPath, DirectSpec, Path};

use super::*;
use crate::amid_frames::amid_frames;
use crate::xdp::probe::live_frames;

/// Faster than anything sends.
const FLAT_OUT: Fps = Fps(50e6);

/// A veth pair with a sender at either end.
struct Stage {
    senders: XdpSenders,
    path: DirectPath,
}

impl Stage {
    /// Nothing where the engine cannot run; `test` is said with the reason.
    fn build(test: &str, size: u16, direction: Direction, threads: usize) -> Option<Self> {
        if privilege().unwrap() != Privilege::Privileged {
            println!("SKIP {test}: only root may load BPF programs");
            return None;
        }
        if let Err(why) = live_frames() {
            println!("SKIP {test}: {why}");
            return None;
        }
        let frame_size = FrameSize::new(size).unwrap();
        let last = std::thread::available_parallelism().unwrap().get() as u32 - 1;
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
            direction,
            flows: 3,
            stations: 1,
            vlan: None,
            shape: nicety_model::Shape::default(),
            mark: nicety_packet::RunMark::NONE,
        };
        let mut senders =
            XdpSenders::new(&[spec(0), spec(1)], traffic, vec![Some(0); threads]).unwrap();
        for side in [0, 1] {
            let ns = &path.ports()[side].ns;
            ns.run(|| senders.attach(side)).unwrap().unwrap();
        }
        Some(Self { senders, path })
    }

    /// Frames that arrived at the far end of each side, so far.
    fn arrived(&self) -> [u64; 2] {
        ["b", "a"].map(|name| self.path.counters().unwrap().of(name).unwrap().rx_packets)
    }

    /// Runs a job and returns what was sent and what the kernel says arrived, by side.
    fn run(&mut self, job: &Job, stop: &Stop) -> Vec<(Sending, u64)> {
        let before = self.arrived();
        let (sendings, workers) = self.senders.run(job, stop).unwrap();
        assert!(!workers.is_empty());
        self.drain(before, &sendings)
    }

    /// What arrived since `before`, beside what was sent.
    fn drain(&self, before: [u64; 2], sendings: &[Sending]) -> Vec<(Sending, u64)> {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            // A frame counts as arrived when the receiving thread has taken it from its ring.
            let after = self.arrived();
            let done: Vec<_> = sendings
                .iter()
                .zip(after.iter().zip(before))
                .map(|(sending, (after, before))| (sending.clone(), after - before))
                .collect();
            let all = |(sending, arrived): &(Sending, u64)| {
                arrived + sending.refused_by_path >= sending.sent
            };
            if done.iter().all(all) || Instant::now() > deadline {
                // One too many would come after the last.
                std::thread::sleep(Duration::from_millis(20));
                assert_eq!(self.arrived()[..done.len()], after[..done.len()]);
                return done;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Frames at a rate, with as much time as a busy machine may take.
fn job(ports: usize, rate: Fps, frames: u64) -> Job {
    Job {
        ports,
        learning: false,
        trial: 1,
        rate,
        frames,
        run_ns: 120_000_000_000,
        rest: None,
        catch_up: false,
    }
}

#[test]
fn a_trial_of_n_frames_sends_n() {
    let name = "a_trial_of_n_frames_sends_n";
    let Some(mut stage) = Stage::build(name, 64, Direction::Uni, 1) else {
        return;
    };
    for (load, frames) in [
        (1000.0, 100),
        (10_000.0, 1000),
        (123_457.0, 20_001),
        (3e6, 50_000),
    ] {
        let (sending, arrived) = stage
            .run(&job(1, Fps(load), frames), &Stop::default())
            .remove(0);
        assert_eq!(sending.sent, frames, "{load}");
        assert_eq!(arrived + sending.refused_by_path, sending.sent, "{load}");
        assert_eq!(sending.pacing.refused, 0);
    }
}

#[test]
fn what_did_not_arrive_was_refused() {
    let name = "what_did_not_arrive_was_refused";
    let Some(mut stage) = Stage::build(name, 64, Direction::Uni, 1) else {
        return;
    };
    let flat_out = Job {
        run_ns: 211_000_000,
        catch_up: true,
        ..job(1, FLAT_OUT, u64::MAX >> 1)
    };
    let (sending, arrived) = stage.run(&flat_out, &Stop::default()).remove(0);
    assert!(sending.refused_by_path > 0, "{sending:?}");
    assert_eq!(arrived + sending.refused_by_path, sending.sent);
}

#[test]
fn both_directions_from_one_thread_and_from_two() {
    let name = "both_directions_from_one_thread_and_from_two";
    for threads in [1, 2] {
        let Some(mut stage) = Stage::build(name, 128, Direction::Bi, threads) else {
            return;
        };
        let done = stage.run(&job(2, Fps(5000.0), 1000), &Stop::default());
        let starts: Vec<_> = done.iter().map(|(sending, _)| sending.first_ns).collect();
        for (side, (sending, arrived)) in done.into_iter().enumerate() {
            assert_eq!(usize::from(sending.stream), side);
            assert_eq!(sending.sent, 1000);
            assert_eq!(arrived + sending.refused_by_path, 1000);
        }
        assert!(starts.iter().all(|start| *start > 0), "{starts:?}");
    }
}

#[test]
fn interruptions_lose_and_double_nothing() {
    let name = "interruptions_lose_and_double_nothing";
    let Some(mut stage) = Stage::build(name, 64, Direction::Uni, 1) else {
        return;
    };
    for (load, frames) in [(20_000.0, 5000), (1e6, 300_000), (FLAT_OUT.0, 1_000_000)] {
        let before = stage.arrived();
        let job = job(1, Fps(load), frames);
        let stream = stage.senders.stream(&job, 0, job.rate);
        let transmitter = &mut stage.senders.transmitters[0];
        transmitter.prepare(&[stream]).unwrap();
        transmitter.maps.open_gate().unwrap();
        let transmitter = &*transmitter;
        let done = AtomicBool::new(false);
        let rounds = std::thread::scope(|scope| {
            let interrupter = scope.spawn(|| {
                wake_in_time();
                let (mut rounds, mut made) = (0, 0);
                // Only a run that has sent something is cut: it takes the kernel milliseconds
                // to begin the next one.
                while !done.load(Ordering::Acquire) && rounds < 20 {
                    std::thread::sleep(Duration::from_micros(500));
                    let sent = transmitter.maps.sent(0).unwrap();
                    if sent.made > made {
                        made = sent.made;
                        transmitter.interrupt();
                        rounds += 1;
                    }
                }
                while !done.load(Ordering::Acquire) {
                    std::thread::sleep(Duration::from_millis(1));
                    if transmitter.ended(1).unwrap() {
                        transmitter.interrupt();
                    }
                }
                rounds
            });
            let until = (&Stop::default(), &AtomicBool::new(false));
            let sent = transmitter.send(1, batch(job.rate), Some(0), None, until);
            done.store(true, Ordering::Release);
            sent.unwrap();
            interrupter.join().unwrap()
        });
        assert!(rounds > 2, "{rounds}");
        let sending = stage.senders.account(0).unwrap();
        let (sending, arrived) = stage.drain(before, &[sending]).remove(0);
        assert_eq!(sending.sent, frames, "{load}");
        assert_eq!(arrived + sending.refused_by_path, frames, "{load}");
    }
}

#[test]
fn every_frame_is_sent_between_rests() {
    let name = "every_frame_is_sent_between_rests";
    let Some(mut stage) = Stage::build(name, 64, Direction::Bi, 1) else {
        return;
    };
    let rest = Rest {
        period: Duration::from_millis(50),
        length: Duration::from_millis(2),
        takes: Duration::from_millis(2),
    };
    let rate = Fps(50_000.0);
    let frames = 25_000;
    let job = Job {
        rest: Some(rest),
        ..job(2, rate, frames)
    };
    for (sending, arrived) in stage.run(&job, &Stop::default()) {
        assert_eq!(sending.sent, frames);
        assert_eq!(arrived + sending.refused_by_path, frames);
        let pacing = sending.pacing;
        // Half a second holds ten; one may fall just before a call of the kernel and be missed.
        assert!((2..=10).contains(&pacing.rests), "{pacing:?}");
        let shortest = f64::from(pacing.rests) * rest.length.as_secs_f64();
        assert!(pacing.rested_s >= shortest, "{pacing:?}");
        assert!(pacing.sending_s > 0.47 + pacing.rested_s, "{pacing:?}");
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
    // An hour: the test's time limit is the assertion.
    let (sending, arrived) = stage
        .run(&job(1, Fps(10_000.0), 36_000_000), &stop)
        .remove(0);
    stopper.join().unwrap();
    assert!(sending.sent < 36_000_000);
    assert_eq!(arrived + sending.refused_by_path, sending.sent);
}

#[test]
fn a_port_that_goes_down_ends_the_trial() {
    let name = "a_port_that_goes_down_ends_the_trial";
    for side in [0, 1] {
        let Some(mut stage) = Stage::build(name, 64, Direction::Uni, 1) else {
            return;
        };
        let port = stage.path.ports()[side].clone();
        let downer = amid_frames(&stage.path, move || {
            let down = LinkChange {
                up: Some(false),
                ..LinkChange::default()
            };
            Links::open(&port.ns)
                .unwrap()
                .change(&port.name, &down)
                .unwrap();
        });
        let result = stage
            .senders
            .run(&job(1, Fps(10_000.0), 36_000_000), &Stop::default());
        downer.join().unwrap();
        let fault = result.as_ref().map_err(|error| &error.fault);
        assert!(matches!(fault, Err(PortFault::Down)), "{result:?}");
    }
}

#[test]
fn a_far_end_without_napi_is_named() {
    let name = "a_far_end_without_napi_is_named";
    let Some(mut stage) = Stage::build(name, 64, Direction::Uni, 1) else {
        return;
    };
    let far = Ethtool::open(&stage.path.ports()[1].ns).unwrap();
    far.set_features("b", &[("rx-gro", false)]).unwrap();
    let error = stage
        .senders
        .run(&job(1, Fps(1000.0), 20), &Stop::default());
    assert_eq!(
        error.unwrap_err().to_string(),
        "a: the driver took none of 20 XDP frames: the far end of the veth pair does not receive \
         in NAPI; turn on GRO there (ethtool -K IFACE gro on)"
    );
}

#[test]
fn batches_grow_with_the_rate() {
    for (rate, frames) in [(1.0, 1), (50_000.0, 32), (500_000.0, 128), (50e6, 256)] {
        assert_eq!(batch(Fps(rate)), frames);
    }
}
