//! Time stamps of the lab's emulated NIC, and probes between its ports. These tests run inside the lab,
//! where `stamps.sh` starts them.
#![allow(unsafe_code)] // a register is read through a mapping

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nicety_model::{Direction, Fps, FrameSize, Purpose, TrialRecord};
use nicety_netdev::hwtstamp::{Config, HwTstamp};
use nicety_netdev::link::Links;
use nicety_netdev::netns::NetNs;
use nicety_packet::MacAddr;
use nicety_paths::{ExternalPath, Path};
use nicety_port::Stop;
use nicety_port::af_packet::{AfPacket, PortSockets, PortSpec, Refusal, TrafficSpec};
use nicety_port::probes::{ProbePort, Prober};
use nicety_trial::{TrialSpec, Trials};

use crate::inside;

/// RXSATRH of the 82576 (datasheet 8.16.3).
const RXSATRH: usize = 0xb630;
const LENGTH: usize = 0x2_0000;
/// A driver reads a stamp in much less.
const EVERY: Duration = Duration::from_millis(15);

/// Releases the receive stamps of both ports until `done`. QEMU 10.0 keeps the first one until RXSATRH
/// is read, where the chip waits for RXSTMPH, which is what its driver reads.
fn release(done: &AtomicBool) {
    let registers = ["eth0", "eth1"].map(|port| {
        let file = File::open(format!("/sys/class/net/{port}/device/resource0")).unwrap();
        // SAFETY: a new mapping, which stays until the process ends; the resource is as long.
        let start = unsafe {
            let (read, shared) = (libc::PROT_READ, libc::MAP_SHARED);
            libc::mmap(
                std::ptr::null_mut(),
                LENGTH,
                read,
                shared,
                file.as_raw_fd(),
                0,
            )
        };
        assert_ne!(start, libc::MAP_FAILED);
        start.cast::<u8>() as usize
    });
    while !done.load(Ordering::Relaxed) {
        for start in registers {
            // SAFETY: within the mapping, and aligned.
            unsafe { ((start + RXSATRH) as *const u32).read_volatile() };
        }
        std::thread::sleep(EVERY);
    }
}

fn prober(path: &dyn Path) -> Prober {
    let ports = path.ports().each_ref().map(|port| ProbePort {
        ns: port.ns.clone(),
        interface: port.name.clone(),
        mac: MacAddr(port.mac.0),
    });
    Prober::new(ports, Direction::Bi).unwrap()
}

fn path() -> ExternalPath {
    // The link begins anew when what its NIC stamps is changed.
    let links = Links::open(&NetNs::current().unwrap()).unwrap();
    for port in ["eth0", "eth1"] {
        links.wait_carrier(port, Duration::from_secs(30)).unwrap();
    }
    ExternalPath::open("eth0", "eth1", FrameSize::new(128).unwrap()).unwrap()
}

/// What the ports stamp.
fn stamped() -> [(u32, u32); 2] {
    let nics = HwTstamp::open(&NetNs::current().unwrap()).unwrap();
    ["eth0", "eth1"].map(|port| nics.get(port).map(|config| (config.tx, config.rx)).unwrap())
}

fn latency_trial(path: &ExternalPath, prober: &Prober) -> TrialRecord {
    let frame_size = FrameSize::new(128).unwrap();
    let traffic = TrafficSpec {
        frame_size,
        direction: Direction::Bi,
        flows: 1,
        stations: 1,
        vlan: None,
        shape: nicety_model::Shape::default(),
        mark: nicety_packet::RunMark::NONE,
    };
    let [a, b] = path.ports().each_ref().map(|port| {
        let spec = PortSpec {
            interface: port.name.clone(),
            mac: MacAddr(port.mac.0),
            mtu: port.mtu,
            refusal: Refusal::NotSent,
            promiscuous: true,
        };
        PortSockets::open(&spec, frame_size).unwrap()
    });
    let mut engine = AfPacket::new(a, b, traffic, vec![None]).unwrap();
    let ask = TrialSpec {
        cell: "ports/128/bi".to_owned(),
        repeat: 1,
        control: None,
        index: 1,
        purpose: Purpose::Latency { load_ratio: 0.5 },
        load: Fps(200.0),
        duration: Duration::from_secs(6),
        then: None,
        window: None,
    };
    let trials = Trials::new(&mut engine, path, 1);
    trials
        .probing(Some(prober))
        .run(&ask, &Stop::default())
        .unwrap()
}

/// Probes between the two ports have stamps at both ends, and a latency that the kernel's clock bears
/// out; they are in none of the load's counts.
#[test]
#[ignore = "runs inside the lab"]
fn probes_between_two_ports() {
    if !inside() {
        return;
    }
    let (path, before) = (path(), stamped());
    assert_eq!(before, [(0, 0); 2]);
    let prober = prober(&path);
    assert!(
        prober.name().starts_with("igb, PHC ptp"),
        "{}",
        prober.name()
    );
    let done = AtomicBool::new(false);
    let record = std::thread::scope(|scope| {
        scope.spawn(|| release(&done));
        let record = latency_trial(&path, &prober);
        done.store(true, Ordering::Relaxed);
        record
    });
    println!("{}", serde_json::to_string(&record).unwrap());
    assert_eq!(stamped(), before);
    let hardware = record
        .hardware_latency
        .unwrap_or_else(|| panic!("{:?}", record.notes));
    let (probes, latency) = (hardware.probes, hardware.latency_us.unwrap());
    assert!(probes.sent >= 10, "{probes:?}");
    assert!(probes.stamped >= 3, "{probes:?}");
    assert_eq!(
        probes.sent,
        probes.stamped + probes.lost + probes.not_stamped
    );
    assert_eq!(hardware.clocks.len(), 2);
    // The emulated wire takes a moment; what the kernel sees has interrupts of a busy machine in it.
    let software = record.latency_us.unwrap();
    assert!(
        latency.min > 0.0 && latency.p50 < software.max,
        "{latency:?} {software:?}"
    );
    assert!(hardware.offset_error_ns > 0.0 && hardware.offset_error_ns < 1e7);
    assert_eq!(
        record.frames.sent,
        record.frames.received + record.frames.lost
    );
    assert!(hardware.load_share > 0.0 && hardware.load_share < 0.2);
}

/// A nicety that is killed while NICs stamp for it.
#[test]
#[ignore = "runs inside the lab"]
fn killed_while_nics_stamp() {
    if !inside() {
        return;
    }
    let path = path();
    let prober = prober(&path);
    let _armed = prober.arm().unwrap();
    assert_eq!(stamped(), [(1, 12); 2]);
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
        .unwrap();
}

/// NICs that somebody else has stamp other frames are left alone; those that stamp what is needed are
/// used as they are.
#[test]
#[ignore = "runs inside the lab"]
fn somebody_elses_stamps_stay() {
    if !inside() {
        return;
    }
    let path = path();
    let prober = prober(&path);
    let nics = HwTstamp::open(&NetNs::current().unwrap()).unwrap();
    // ptpv1-l4-sync
    nics.set("eth1", Config::new(1, 4)).unwrap();
    let refused = prober.arm().unwrap_err().to_string();
    assert!(
        refused.starts_with("eth1: another program has its NIC stamp other frames"),
        "{refused}"
    );
    assert_eq!(stamped(), [(0, 0), (1, 4)]);
    nics.set("eth1", Config::new(1, 12)).unwrap();
    drop(prober.arm().unwrap());
    assert_eq!(stamped(), [(0, 0), (1, 12)]);
    nics.set("eth1", Config::new(0, 0)).unwrap();
}
