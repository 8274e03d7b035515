//! Several receive queues on the host's side of a guest.

use std::collections::BTreeSet;

use nicety_model::Note;
use nicety_netdev::ethtool::Ethtool;
use nicety_netdev::privilege::Privilege;
use nicety_paths::{Path, VmPath};

use crate::{Outcome, packet, try_build};
use packet::PacketSocket;

const QUEUES: u32 = 4;

/// Frames that every receive queue of an interface has handed on.
fn received(path: &VmPath, interface: &str) -> Vec<u64> {
    let middle = path.facts().middle.as_ref().unwrap();
    let all = Ethtool::open(&middle.ns).unwrap();
    let all = all.statistics(interface).unwrap();
    (0..QUEUES)
        .map(|queue| all[&format!("rx_queue_{queue}_xdp_packets")])
        .collect()
}

/// Sends `flows` flows of ten frames each from one port to the other; which of the queues of the
/// interface there have carried more frames than before, and how many frames all of them.
fn carry(path: &VmPath, from: usize, flows: u8) -> (usize, u64) {
    let ports = path.ports();
    let [source, destination] = [from, 1 - from].map(|port| ports[port].mac.0);
    let sender = PacketSocket::open(&ports[from]);
    let receiver = PacketSocket::open(&ports[1 - from]);
    let interface = ["d0", "d1"][from];
    let before = received(path, interface);
    for frame in (0..10).flat_map(|_| 0..flows) {
        let flow = frame;
        let mut frame = packet::udp_frame(source, destination, 60);
        // The low byte of the source port.
        frame[35] = flow;
        assert_eq!(sender.send(&frame), Ok(()));
        assert_eq!(receiver.receive().as_ref(), Some(&frame), "flow {flow}");
    }
    let after = received(path, interface);
    let moved = after
        .iter()
        .zip(&before)
        .map(|(after, before)| after - before);
    let moved: Vec<u64> = moved.collect();
    (
        moved.iter().filter(|frames| **frames > 0).count(),
        moved.iter().sum(),
    )
}

pub fn spread(privilege: Privilege) -> Outcome {
    let queues = QUEUES.to_string();
    let mut spec = crate::spec(&[("nic", "e1000"), ("host_queues", &queues)]);
    spec.path_cpus = vec![0, 1];
    let built = try_build(&spec)?;
    if privilege != Privilege::Privileged {
        assert_eq!(
            built.unwrap_err().to_string(),
            "host_queues = 4: only root may choose a frame's queue by its flow"
        );
        return Ok(());
    }
    let path = built.unwrap();
    // The bridges learn where both stations are.
    carry(&path, 0, 1);
    carry(&path, 1, 1);
    for from in [0, 1] {
        assert_eq!(carry(&path, from, 1), (1, 10));
        // Few enough hashes of 32 fall on one of four queues only.
        let (used, frames) = carry(&path, from, 32);
        assert!(used >= 3, "{used} queues carried frames of port {from}");
        assert_eq!(frames, 320);
    }
    let threads = |interface: &str| {
        let own = path
            .facts()
            .threads
            .iter()
            .filter(|t| t.interface == interface);
        own.collect::<Vec<_>>()
    };
    for (interface, cpu) in [("d0", 0), ("d1", 1)] {
        let own = threads(interface);
        let names: BTreeSet<&str> = own.iter().map(|t| t.thread.name.as_str()).collect();
        assert_eq!(names.len(), QUEUES as usize, "{names:?}");
        let note = format!("{interface} has 4 receive queues, with threads ");
        assert!(
            path.facts()
                .notes
                .iter()
                .any(|n| n.to_string().starts_with(&note)),
            "{:?}",
            &path.facts().notes
        );
        assert!(own.iter().all(|thread| thread.cpus == [cpu]), "{own:?}");
    }
    Ok(())
}

/// A switch that polls reads the queues of the host's interfaces through as many of its own.
pub fn polled(privilege: Privilege) -> Outcome {
    crate::as_root(privilege)?;
    let queues = QUEUES.to_string();
    let words = [("switch", "ovs-dpdk"), ("host_queues", queues.as_str())];
    let path = crate::on_program(&words, "The guest's switch is Open vSwitch ")?;
    carry(&path, 0, 1);
    carry(&path, 1, 1);
    for from in [0, 1] {
        let (used, frames) = carry(&path, from, 32);
        assert!(used >= 3, "{used} queues carried frames of port {from}");
        assert_eq!(frames, 320);
    }
    let told = |note: &Note| note.to_string().contains("4 queues each, read back");
    assert!(
        path.facts().notes.iter().any(told),
        "{:?}",
        &path.facts().notes
    );
    Ok(())
}
