//! The program on real interfaces.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use nicety_account::StreamTotals;
use nicety_model::{Fps, FrameSize};
use nicety_netdev::link::Links;
use nicety_netdev::privilege::Privilege;
use nicety_packet::MacAddr;
use nicety_paths::{BridgePath, BridgeSpec, DirectPath, DirectSpec, Path};
use nicety_port::af_packet::{AfPacket, PortSockets, PortSpec, Refusal};
use nicety_port::xdp::receive::Receiver;
use nicety_port::{Engine, EngineReport, PortError, PortFault, Stop, TrialOrder};

use crate::packet::{PacketSocket, udp_frame};
use crate::{Outcome, can_run, traffic};

/// Set for the copy of this program that attaches to an interface of its namespace and waits to
/// be killed.
pub const HOLD: &str = "NICETY_TEST_HOLD_XDP";

fn direct(largest: u16) -> DirectPath {
    DirectPath::build(&DirectSpec {
        path_cpus: Vec::new(),
        largest_frame: FrameSize::new(largest).unwrap(),
        queues: 1,
    })
    .unwrap()
}

fn spec(port: &nicety_paths::PathPort, number: u32) -> PortSpec {
    PortSpec {
        interface: port.name.clone(),
        mac: MacAddr::local(number),
        mtu: port.mtu,
        refusal: Refusal::LostInPath,
        promiscuous: false,
    }
}

/// A receiver at the path's far port.
fn receiver(path: &dyn Path, size: u16, flows: u32) -> Result<Receiver, PortError> {
    let port = &path.ports()[1];
    let spec = spec(port, 2);
    port.ns
        .run(|| Receiver::open(&spec, traffic(size, flows), &[0]))
        .unwrap()
}

/// Sends `frames` frames from the path's near port by the af_packet engine.
fn send(path: &dyn Path, size: u16, flows: u32, trial: u8, frames: u32) -> EngineReport {
    let [a, b] = [0, 1].map(|n| {
        let port = &path.ports()[n];
        let spec = spec(port, n as u32 + 1);
        let size = FrameSize::new(size).unwrap();
        port.ns
            .run(|| PortSockets::open(&spec, size))
            .unwrap()
            .unwrap()
    });
    let mut engine = AfPacket::new(a, b, traffic(size, flows), vec![None]).unwrap();
    let order = TrialOrder {
        load: Fps(f64::from(frames) * 4.0),
        duration: Duration::from_millis(250),
        then: None,
        drain_max: Duration::from_secs(2),
        drain_quiet: Duration::from_millis(100),
        trial,
        rest: None,
        catch_up: false,
        numbers: false,
    };
    // A machine that had no time for the sender has nothing to count.
    loop {
        let report = engine.trial(&order, &Stop::default()).unwrap();
        if report.senders[0].sent > 0 {
            return report;
        }
    }
}

/// Sends over `path` and compares both sides' counts.
fn compare(path: &dyn Path, receiver: &mut Receiver, size: u16, flows: u32) {
    for trial in [1, 2] {
        receiver.reset(trial, 30_000).unwrap();
        let report = send(path, size, flows, trial, 20_000);
        let sender = &report.senders[0];
        assert!(sender.sent > sender.refused_by_path, "{sender:?}");
        let totals = StreamTotals {
            stream: 0,
            intended: sender.intended,
            sent: sender.sent,
        };
        let arrived = receiver.received_so_far();
        let (counts, latency) = receiver.finish(&[totals]).unwrap();
        let frames = counts[0].frames;
        assert_eq!(arrived, frames.received);
        assert_eq!(frames.received, sender.sent - sender.refused_by_path);
        assert_eq!(frames.lost, sender.refused_by_path);
        assert_eq!(
            (frames.duplicate, frames.reordered, frames.corrupt),
            (0, 0, 0)
        );
        let latency = latency.summary().unwrap();
        assert_eq!(latency.samples, frames.received);
        assert!(latency.min > 0.0 && latency.p50 <= latency.max);
        // The engine's own receiver, behind the program, saw none of them.
        assert_eq!(report.streams[0].frames.received, 0);
        receiver.check_up().unwrap();
    }
}

pub fn every_frame(privilege: Privilege) -> Outcome {
    can_run(privilege)?;
    let path = direct(1518);
    for (size, flows) in [(64, 1), (1518, 64)] {
        let mut receiver = receiver(&path, size, flows).unwrap();
        assert_eq!(receiver.mode(), "native");
        compare(&path, &mut receiver, size, flows);
        assert!(receiver.notes().is_empty(), "{:?}", receiver.notes());
        // A trial too long for the memory at hand replaces the program in place.
        receiver.reset(3, 50_000_000).unwrap();
        compare(&path, &mut receiver, size, flows);
    }
    Ok(())
}

pub fn large_frames(privilege: Privilege) -> Outcome {
    can_run(privilege)?;
    let path = direct(9018);
    let mut receiver = receiver(&path, 9018, 1).unwrap();
    println!("frames of 9018 bytes: {}", receiver.mode());
    compare(&path, &mut receiver, 9018, 1);
    Ok(())
}

pub fn generic(privilege: Privilege) -> Outcome {
    can_run(privilege)?;
    // A bridge has no native XDP, and sees all frames when promiscuous.
    let path = BridgePath::build(&BridgeSpec {
        path_cpus: Vec::new(),
        largest_frame: FrameSize::new(1518).unwrap(),
        queues: 1,
    })
    .unwrap();
    let spec = PortSpec {
        interface: "br0".to_owned(),
        mac: MacAddr::local(2),
        mtu: 1500,
        refusal: Refusal::LostInPath,
        promiscuous: true,
    };
    let open = || Receiver::open(&spec, traffic(64, 1), &[0]);
    let mut receiver = path.dut().run(open).unwrap().unwrap();
    assert_eq!(receiver.mode(), "generic (the driver has no native XDP)");
    receiver.reset(9, 10_000).unwrap();
    let report = send(&path, 64, 1, 9, 5_000);
    let sender = &report.senders[0];
    let totals = StreamTotals {
        stream: 0,
        intended: sender.intended,
        sent: sender.sent,
    };
    let (counts, _) = receiver.finish(&[totals]).unwrap();
    let frames = counts[0].frames;
    assert_eq!(frames.received, sender.sent - sender.refused_by_path);
    assert_eq!((frames.duplicate, frames.corrupt), (0, 0));
    Ok(())
}

pub fn foreign(privilege: Privilege) -> Outcome {
    can_run(privilege)?;
    let path = direct(1518);
    let mut receiver = receiver(&path, 64, 1).unwrap();
    receiver.reset(1, 10).unwrap();
    let [a, b] = path.ports();
    let (sender, listener) = (PacketSocket::open(a), PacketSocket::open(b));
    let frame = udp_frame(a.mac.0, b.mac.0, 60);
    for _ in 0..20 {
        sender.send(&frame).unwrap();
        assert_eq!(listener.receive().as_ref(), Some(&frame));
    }
    let none = StreamTotals::default();
    let (counts, latency) = receiver.finish(&[none]).unwrap();
    assert_eq!(counts[0].frames.foreign, 20);
    assert_eq!(counts[0].frames.received, 0);
    assert_eq!(latency.summary(), None);
    Ok(())
}

pub fn in_use(privilege: Privilege) -> Outcome {
    can_run(privilege)?;
    let path = direct(1518);
    let first = receiver(&path, 64, 1).unwrap();
    let refused = receiver(&path, 64, 1).unwrap_err();
    let PortFault::XdpBusy { program, id, .. } = &refused.fault else {
        panic!("{refused}");
    };
    assert_eq!(program, "nicety_receive");
    assert!(*id > 0);
    assert!(
        refused.to_string().contains("stop the process"),
        "{refused}"
    );
    drop(first);
    receiver(&path, 64, 1).unwrap();
    Ok(())
}

/// The program that is killed: attaches in the namespace it was started in, says so, waits.
pub fn hold() -> ExitCode {
    let spec = PortSpec {
        interface: "b".to_owned(),
        mac: MacAddr::local(2),
        mtu: 1500,
        refusal: Refusal::LostInPath,
        promiscuous: false,
    };
    let receiver = Receiver::open(&spec, traffic(64, 1), &[0]).unwrap();
    println!("{}", receiver.mode());
    // Until whoever started it ends.
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
    ExitCode::SUCCESS
}

fn start_holder() -> Child {
    Command::new(std::env::current_exe().unwrap())
        .env(HOLD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

pub fn killed(privilege: Privilege) -> Outcome {
    can_run(privilege)?;
    let path = direct(1518);
    let mut child = path.ports()[1].ns.run(start_holder).unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "native\n");
    assert!(matches!(
        receiver(&path, 64, 1).map_err(|error| error.fault),
        Err(PortFault::XdpBusy { .. })
    ));
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    receiver(&path, 64, 1).unwrap();
    Ok(())
}

pub fn refused(privilege: Privilege) -> Outcome {
    can_run(privilege)?;
    let path = direct(1518);
    let port = &path.ports()[1];
    let good = spec(port, 2);
    let open = |spec: PortSpec, size, streams: &'static [u8]| {
        let open = move || Receiver::open(&spec, traffic(size, 1), streams);
        port.ns.run(open).unwrap().unwrap_err().to_string()
    };
    assert_eq!(
        open(good.clone(), 9018, &[0]),
        "b: MTU 1500 is too small for frames of 9018 bytes; it needs 9000"
    );
    assert!(open(good.clone(), 64, &[]).contains("no streams"));
    assert!(open(good.clone(), 64, &[1, 1]).contains("twice"));
    assert!(open(good.clone(), 64, &[255]).contains("learning"));
    let absent = PortSpec {
        interface: "absent0".to_owned(),
        ..good
    };
    assert_eq!(
        open(absent, 64, &[0]),
        "absent0: cannot count frames by XDP: there is no interface of this name"
    );
    // An interface that goes away under the receiver.
    let receiver = receiver(&path, 64, 1).unwrap();
    receiver.check_up().unwrap();
    Links::open(&port.ns).unwrap().delete("b").unwrap();
    let gone = receiver.check_up().unwrap_err();
    assert!(matches!(gone.fault, PortFault::Down), "{gone}");
    Ok(())
}
