//! Packets that the kernel of this machine drops, counted by the program itself: it counts for the whole machine, so
//! nothing runs beside these tests (group `measures`).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and says what it skips"
)]

use std::net::UdpSocket;
use std::process::Command;
use std::time::{Duration, Instant};

use nicety_fate::{Drops, Read, Refusal};
use nicety_netdev::netns::NetNs;

/// Datagrams to a port on which nobody listens, in each namespace.
const SENT: u64 = 20;

fn open(test: &str, room: u32) -> Option<Drops> {
    match Drops::open(room) {
        Ok(drops) => Some(drops),
        Err(why @ (Refusal::NotBuilt(_) | Refusal::NoTypes | Refusal::NotPermitted)) => {
            println!("SKIP {test}: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    }
}

/// Sends to nobody in so many new namespaces, whose loopbacks are as many places while they are there.
fn send(namespaces: usize) -> Vec<NetNs> {
    let one = |n: usize| {
        let ns = NetNs::create(&format!("drops{n}")).unwrap();
        let sent = ns.run(|| {
            let up = Command::new("ip")
                .args(["link", "set", "lo", "up"])
                .status();
            assert!(up.unwrap().success());
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            for _ in 0..SENT {
                socket.send_to(b"x", "127.0.0.1:9").unwrap();
            }
        });
        sent.unwrap();
        ns
    };
    (0..namespaces).map(one).collect()
}

fn to_nobody(read: &Read) -> impl Iterator<Item = u64> + '_ {
    let nobody = |name: &Option<String>| name.as_deref() == Some("NO_SOCKET");
    let drops = read
        .drops
        .iter()
        .filter(move |drop| nobody(&drop.place.reason));
    drops
        .filter(|drop| drop.place.device.as_deref() == Some("lo"))
        .map(|drop| drop.packets)
}

#[test]
fn every_packet_counts_and_a_full_table_counts_the_rest() {
    let test = "every_packet_counts_and_a_full_table_counts_the_rest";
    let Some(mut drops) = open(test, 1000) else {
        return;
    };
    if !drops.has_reasons() {
        println!("SKIP {test}: this kernel gives no reasons");
        return;
    }
    drops.read(false).unwrap();
    let _eight = send(8);
    let read = drops.read(true).unwrap();
    let counts: Vec<u64> = to_nobody(&read)
        .filter(|packets| *packets == SENT)
        .collect();
    assert!(counts.len() >= 8, "{read:?}");
    assert_eq!(read.uncounted, 0);
    assert!(drops.has_functions());
    // Nothing counts twice.
    assert!(to_nobody(&drops.read(true).unwrap()).all(|packets| packets < SENT));
    drop(drops);

    let mut small = open(test, 4).unwrap();
    let _twelve = send(12);
    let read = small.read(false).unwrap();
    assert!(read.drops.len() <= 4, "{read:?}");
    let counted: u64 = read.drops.iter().map(|drop| drop.packets).sum();
    assert!(read.uncounted > 0, "{read:?}");
    assert!(counted + read.uncounted >= 12 * SENT, "{read:?}");
    // Idle places make room: a later one is counted by name again.
    for _ in 0..3 {
        small.read(false).unwrap();
    }
    let _one = send(1);
    let read = small.read(false).unwrap();
    assert!(to_nobody(&read).any(|packets| packets == SENT), "{read:?}");
}

#[test]
fn the_kernel_keeps_nothing_of_it() {
    let ids = || -> Vec<u32> {
        let loaded = aya::programs::loaded_programs().filter_map(Result::ok);
        let ours = loaded.filter(|of| {
            of.name_as_str()
                .is_some_and(|name| name.starts_with("dropped_"))
        });
        ours.map(|of| of.id()).collect()
    };
    let Some(drops) = open("the_kernel_keeps_nothing_of_it", 16) else {
        return;
    };
    let with = ids();
    assert!(!with.is_empty());
    drop(drops);
    // Nothing is pinned, so that a process that is killed leaves nothing either. The kernel frees it a moment later.
    let end = Instant::now() + Duration::from_secs(10);
    while ids().iter().any(|id| with.contains(id)) {
        assert!(Instant::now() < end, "{:?}", ids());
        std::thread::sleep(Duration::from_millis(20));
    }
}
