//! Paths through a real guest, with real frames on them, under emulation.
//!
//! QEMU and a kernel are shared with the tests of the lab: fetched once into the directory of the
//! build, or looked for where `NICETY_TEST_LAB_CACHE` says.
// A test with its own main function is not known as a test to the lints.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nicety_guests::{Accelerator, Bundle, BundleSpec, Purpose};
use nicety_host::child::tie;
use nicety_model::Note;
use nicety_model::{FrameSize, PathSpec, ResetKind};
use nicety_netdev::link::Mac;
use nicety_netdev::privilege::Privilege;
use nicety_paths::{Coupling, Path, PathError, VmPath, VmSpec, ledger};
use nicety_testkit::runner::{self, Skip, Test};

#[path = "../paths/packet.rs"]
#[allow(dead_code, reason = "shared with the tests of the other paths")]
mod packet;

mod fates;
mod host_queues;
mod virtio;

use packet::PacketSocket;

/// Set for the copy of this program that builds a path and waits to be killed.
const HOLD: &str = "NICETY_TEST_HOLD_PATH";
/// A boot takes seconds; on a machine that is busy elsewhere, minutes.
const BOOT: Duration = Duration::from_secs(600);

/// Nothing moves for so long.
const STILL: Duration = Duration::from_secs(2);

type Outcome = Result<(), Skip>;

fn main() -> ExitCode {
    // The guest starts this very program again.
    if std::env::args().nth(1).as_deref() == Some("guest-init") {
        return guest();
    }
    if std::env::var_os(HOLD).is_some() {
        return hold();
    }
    runner::run([
        Test::new("an_e1000_guest_carries_every_frame_both_ways", e1000),
        Test::new("a_virtio_guest_carries_every_frame_both_ways", plain_virtio).as_any_user(),
        Test::new("a_machine_without_pci_carries_every_frame", |_| {
            virtio::microvm()
        }),
        Test::new("virtio_behind_an_iommu_carries_every_frame", |_| {
            virtio::iommu_and_rss()
        }),
        Test::new("a_macvtap_guest_carries_every_frame_both_ways", macvtap).as_any_user(),
        Test::new(
            "a_guest_on_af_xdp_sockets_carries_every_frame_both_ways",
            af_xdp,
        ),
        Test::new("guests_that_share_a_bridge_carry_their_own_frames", several),
        Test::new("guests_that_share_a_vlan_bridge_carry_tagged_frames", vlan),
        Test::new(
            "guests_that_share_open_vswitch_carry_their_own_frames",
            several_on_ovs,
        ),
        Test::new(
            "guests_at_access_ports_of_open_vswitch_carry_tagged_frames",
            tagged_on_ovs,
        ),
        Test::new(
            "guests_with_bridges_of_their_own_on_open_vswitch_carry_frames",
            bridged_on_ovs,
        ),
        Test::new(
            "guests_that_share_ovs_dpdk_carry_their_own_frames",
            ovs_dpdk,
        ),
        Test::new("a_guest_on_testpmd_carries_frames_both_ways", testpmd),
        Test::new(
            "flows_are_spread_over_the_queues_of_the_host",
            host_queues::spread,
        ),
        Test::new(
            "a_switch_that_polls_reads_all_queues_of_the_host",
            host_queues::polled,
        ),
        Test::new("frames_are_followed_inside_a_guest", fates::followed),
        Test::new("threads_are_where_they_were_asked_to_be", pinned).as_any_user(),
        Test::new("a_cpu_that_is_not_there_is_refused", no_such_cpu),
        Test::new("a_guest_that_says_nothing_is_given_up", silent),
        Test::new("a_guest_nobody_waits_for_is_ended", stopped),
        Test::new("a_guest_that_dies_is_missed", dies),
        Test::new("qemu_ends_with_whoever_started_it", killed).as_any_user(),
    ])
}

#[allow(clippy::print_stderr, reason = "the guest's console")]
fn guest() -> ExitCode {
    let agent = std::cell::RefCell::default();
    let work = |work| fates::work(&agent, work);
    let Err(error) = nicety_guests::init::run(&|_, _| Err("no server here".to_owned()), &work);
    eprintln!("nicety: the guest's first process: {error}");
    nicety_guests::init::power_off();
    ExitCode::FAILURE
}

fn bundle() -> Result<Bundle, Skip> {
    let cache = std::env::var_os("NICETY_TEST_LAB_CACHE").map_or_else(
        || std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab"),
        Into::into,
    );
    let spec = BundleSpec {
        cache,
        purpose: Purpose::Guests,
    };
    runner::on_the_host(|| Bundle::get(&spec, &mut |_| ())).map_err(|error| Skip(error.to_string()))
}

/// Of the tester, as in `spec`.
fn stations() -> [[Mac; 2]; 2] {
    [0, 1].map(|guest| [0x0a, 0x0b].map(|port| Mac([0x02, 0x4e, 0, 0, guest, port])))
}

fn spec(words: &[(&str, &str)]) -> VmSpec {
    let words = words.iter().copied().chain([("kind", "vm")]);
    let words = words.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    VmSpec {
        ask: PathSpec::try_from(&words).unwrap().vm().unwrap().config(),
        largest_frame: FrameSize::new(1518).unwrap(),
        path_cpus: vec![0],
        switch_cpus: vec![1],
        stations: stations().to_vec(),
        neighbours: 0,
        tester_cpus: Vec::new(),
        boot_limit: BOOT,
    }
}

fn try_build(spec: &VmSpec) -> Result<Result<VmPath, PathError>, Skip> {
    match VmPath::build(spec, &bundle()?, &Accelerator::Tcg(None), &|| false) {
        Err(error @ PathError::NoDevice { .. }) => Err(Skip(error.to_string())),
        built => Ok(built),
    }
}

fn build(words: &[(&str, &str)]) -> Result<VmPath, Skip> {
    let path = try_build(&spec(words))?.unwrap_or_else(|error| panic!("{error}"));
    let words: Vec<_> = words.iter().copied().chain([("kind", "vm")]).collect();
    packet::on_the_picture(&path, &words);
    Ok(path)
}

/// Sends frames of IPv4 and IPv6 by turns, each after the one before has arrived.
fn ping(path: &dyn Path, from: usize, count: usize, bytes: usize) {
    let ports = path.ports();
    let [source, destination] = [from, 1 - from].map(|port| ports[port].mac.0);
    let sender = PacketSocket::open(&ports[from]);
    let receiver = PacketSocket::open(&ports[1 - from]);
    for number in 0..count {
        let frame = packet::by_turns(number, source, destination, bytes);
        assert_eq!(sender.send(&frame), Ok(()), "frame {number}");
        assert_eq!(receiver.receive().as_ref(), Some(&frame), "frame {number}");
    }
}

fn carries(path: &dyn Path) {
    carries_by(path, ["t0", "t1"]);
}

/// Frames both ways, counted at every place; the host's ends of the guest's NICs are `ends`, nameless where there are
/// none.
fn carries_by(path: &dyn Path, ends: [&str; 2]) {
    assert_eq!(path.facts().kind, "vm");
    assert_eq!(path.facts().coupling, Coupling::Decoupled);
    // The bridges learn where both stations are.
    ping(path, 0, 1, 60);
    ping(path, 1, 1, 60);
    let before = path.counters().unwrap();
    ping(path, 0, 50, 60);
    ping(path, 1, 50, 1514);
    let after = path.counters().unwrap();
    let [near, far] = ends;
    let places = ["a", "d0", near, "guest eth0", "guest eth1", far, "d1", "b"];
    let places: Vec<&str> = places.into_iter().filter(|name| !name.is_empty()).collect();
    let mut order: Vec<&str> = after
        .interfaces
        .iter()
        .map(|p| p.interface.as_str())
        .collect();
    order.retain(|place| !place.starts_with("br"));
    assert_eq!(order, places);
    for place in places {
        let moved = |counter: &str| {
            let value = |counters: &nicety_paths::PathCounters| {
                let name = format!("{place} {counter}");
                counters.named().find(|(n, _)| *n == name).unwrap().1
            };
            value(&after) - value(&before)
        };
        let seen = (moved("rx_packets"), moved("tx_packets"));
        assert_eq!(seen, (50, 50), "{place}");
    }
    assert_eq!(ledger(&before, &after, 0), []);
    // The guest's own view of its CPU.
    let guests = after.guests;
    assert_eq!(guests.len(), 1);
    assert_eq!(guests[0].1.cpus.len(), 1);
}

/// Sends more than the guest can carry; what it loses is lost at the interface `full`, and no
/// frame is unexplained.
fn overloads(path: &dyn Path, full: &str) {
    let ports = path.ports();
    let frame = packet::udp_frame(ports[0].mac.0, ports[1].mac.0, 60);
    // Frames count against their sender's buffer until a macvtap's reader has them, so that one
    // sender alone is slowed down and loses nothing.
    let senders: Vec<_> = (0..8).map(|_| PacketSocket::open(&ports[0])).collect();
    let before = path.counters().unwrap();
    let value = |counters: &nicety_paths::PathCounters| {
        let named = counters.named().find(|(name, _)| name == full);
        named.unwrap().1
    };
    let (mut sent, mut accepted) = (0, 0u64);
    // A sender that shares its CPU with the path is slowed down until the other CPU helps out.
    while value(&path.counters().unwrap()) == value(&before) {
        assert!(sent < 400_000, "nothing is lost at {full}");
        for sender in senders.iter().cycle().take(20_000) {
            match sender.send(&frame) {
                Ok(()) => accepted += 1,
                Err(error) => assert_eq!(error, libc::ENOBUFS),
            }
        }
        sent += 20_000;
    }
    let (mut last, mut moved, mut pushes) = ((0, 0), Instant::now(), 0);
    let lines = loop {
        let now = path.counters().unwrap();
        let at = |counters: &nicety_paths::PathCounters| counters.of("b").unwrap().rx_packets;
        let received = at(&now) - at(&before);
        // A frame that the sender's interface refuses was never sent: it is counted there where its ring was full, and
        // nowhere where its queue stood still (net/core/dev.c, __dev_direct_xmit).
        let mut lines = ledger(&before, &now, 0);
        lines.retain(|line| line.place != "a tx_dropped");
        let named: u64 = lines.iter().map(|line| line.frames).sum();
        // Until then frames are on their way.
        if named + received == accepted && received > 0 {
            break lines;
        }
        if last != (named, received) {
            (last, moved) = ((named, received), Instant::now());
        } else if moved.elapsed() > STILL {
            // The last frame may wait in a ring until another comes.
            accepted += u64::from(senders[0].send(&frame).is_ok());
            (pushes, moved) = (pushes + 1, Instant::now());
        }
        assert!(
            pushes < 20,
            "{accepted} accepted, {received} received, {lines:?}, {}",
            steps(&before, &now)
        );
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(lines.iter().any(|line| line.place == full), "{lines:?}");
}

/// Frames that came and went at every place between two readings, to see where one is missing.
fn steps(before: &nicety_paths::PathCounters, now: &nicety_paths::PathCounters) -> String {
    let moved = now.interfaces.iter().filter_map(|place| {
        let old = before.of(&place.interface)?;
        let new = &place.counters;
        let [rx, tx] = [
            new.rx_packets - old.rx_packets,
            new.tx_packets - old.tx_packets,
        ];
        Some(format!("{} rx {rx} tx {tx}", place.interface))
    });
    moved.collect::<Vec<_>>().join(", ")
}

fn e1000(_: Privilege) -> Outcome {
    let path = build(&[("nic", "e1000"), ("ring", "512")])?;
    let nic = &path.hellos()[0].nics[1];
    assert_eq!(
        (nic.driver.as_str(), nic.rings),
        ("e1000", Some((512, 512)))
    );
    carries(&path);
    overloads(&path, "t0 tx_dropped");
    Ok(())
}

fn plain_virtio(_: Privilege) -> Outcome {
    let path = build(&[("nic", "virtio-net"), ("ring", "512")])?;
    let nic = &path.hellos()[0].nics[0];
    assert_eq!(nic.driver, "virtio_net");
    // QEMU before 10 keeps the transmit ring of a tap at 256 (virtio_net_max_tx_queue_size).
    assert!(
        matches!(nic.rings, Some((512, 256 | 512))),
        "{:?}",
        nic.rings
    );
    carries(&path);
    boots_again(&path);
    Ok(())
}

/// A guest that is reset carries nothing until it has booted, and then frames both ways as before.
fn boots_again(path: &VmPath) {
    let ports = path.ports();
    let [sender, receiver] = [0, 1].map(|port| PacketSocket::open(&ports[port]));
    let frame = packet::udp_frame(ports[0].mac.0, ports[1].mac.0, 60);
    let passes = || {
        // What a full ring answers is a frame lost.
        let _ = sender.send(&frame);
        std::thread::sleep(Duration::from_millis(50));
        std::iter::from_fn(|| receiver.waiting()).any(|got| got == frame)
    };
    while !passes() {}
    let resettable = path.resettable().unwrap();
    assert_eq!(resettable.by(), ResetKind::GuestReset);
    resettable.reset().unwrap();
    let end = Instant::now() + resettable.limit();
    let mut lost = 0;
    loop {
        if !passes() {
            lost += 1;
        } else if lost >= 10 {
            // No kernel boots in half a second.
            break;
        } else {
            lost = 0;
        }
        assert!(Instant::now() < end, "{lost} frames in a row are lost");
    }
    drop((sender, receiver));
    for from in [0, 1] {
        ping(path, from, 3, 60);
    }
}

fn macvtap(privilege: Privilege) -> Outcome {
    let path = match try_build(&spec(&[("nic", "macvtap")]))? {
        Ok(path) => path,
        Err(PathError::Guest { why, .. }) if privilege != Privilege::Privileged => {
            return Err(Skip(why));
        }
        Err(error) => panic!("{error}"),
    };
    carries_by(&path, ["m0", "m1"]);
    overloads(&path, "m0 rx_dropped");
    drop(path);
    let path = build(&[("nic", "macvtap"), ("vms", "2")])?;
    own_frames(&path);
    assert_eq!(
        order(&path),
        "m0, guest0 eth0, guest0 eth1, m1, m2, guest1 eth0, guest1 eth1, m3"
    );
    Ok(())
}

/// On sockets of QEMU: one that was built for them has to be in PATH.
fn af_xdp(_: Privilege) -> Outcome {
    let path = match try_build(&spec(&[("nic", "af-xdp")]))? {
        Ok(path) => path,
        Err(PathError::Guest { why, .. }) => return Err(Skip(why)),
        Err(error) => panic!("{error}"),
    };
    carries_by(&path, ["", ""]);
    Ok(())
}

/// Frames of both IP versions between the stations of every guest pass through it and no other.
fn own_frames(path: &dyn Path) {
    let ports = path.ports();
    let sockets = [0, 1].map(|port| PacketSocket::open(&ports[port]));
    let tag = path
        .facts()
        .vlan
        .map(|id| [[0x81, 0], id.to_be_bytes()].concat());
    let tagged = |frame: &[u8]| {
        let tag = tag.clone().unwrap_or_default();
        [&frame[..12], &tag, &frame[12..]].concat()
    };
    let before = path.counters().unwrap();
    let guests = path.facts().stations as usize;
    let mut carried = vec![0; guests];
    for (guest, stations) in stations().into_iter().take(guests).enumerate() {
        for number in 0..10 * (guest + 1) {
            for from in [0, 1] {
                let (source, destination) = (stations[from].0, stations[1 - from].0);
                let frame = packet::by_turns(number, source, destination, [60, 1400][from]);
                assert_eq!(sockets[from].send(&tagged(&frame)), Ok(()));
                // The kernel takes a tag off before it hands the frame to a socket.
                assert_eq!(sockets[1 - from].receive().as_ref(), Some(&frame));
                carried[guest] += 1;
            }
        }
    }
    if guests > 1 {
        // What nobody knows goes round nowhere.
        let stranger = packet::udp_frame([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2], 60);
        assert_eq!(sockets[0].send(&tagged(&stranger)), Ok(()));
    }
    let after = path.counters().unwrap();
    assert_eq!(ledger(&before, &after, 0), []);
    let names: Vec<String> = path
        .counters()
        .unwrap()
        .guests
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    for (name, carried) in names.iter().zip(carried) {
        for nic in ["eth0", "eth1"] {
            let seen = |counters: &nicety_paths::PathCounters| {
                let counters = counters.of(&format!("{name} {nic}")).unwrap();
                counters.rx_packets + counters.tx_packets
            };
            // A switch that floods what it does not know brings the stranger, too.
            let moved = seen(&after) - seen(&before);
            assert!((carried..carried + 4).contains(&moved), "{name}: {moved}");
        }
    }
    let expected: &[&str] = match guests {
        1 => &["guest"],
        _ => &["guest0", "guest1"],
    };
    assert_eq!(names, expected);
}

/// Places of the path without the tester's ends.
fn order(path: &dyn Path) -> String {
    let places = path.counters().unwrap().interfaces;
    let names: Vec<&str> = places.iter().map(|p| p.interface.as_str()).collect();
    let all = names.join(", ");
    let inner = all.strip_prefix("a, d0, ").unwrap();
    inner.strip_suffix(", d1, b").unwrap().to_owned()
}

fn several(_: Privilege) -> Outcome {
    let path = build(&[("vms", "2"), ("pin", "0+1")])?;
    own_frames(&path);
    assert_eq!(
        order(&path),
        "br0, t0, guest0 eth0, guest0 eth1, t1, t2, guest1 eth0, guest1 eth1, t3, br1"
    );
    for (name, cpu) in [("guest0/vcpu0", 0), ("guest1/vcpu0", 1)] {
        let threads = &path.facts().threads;
        let thread = threads.iter().find(|t| t.thread.name == name).unwrap();
        assert_eq!(thread.cpus, [cpu], "{name}");
    }
    // Guests that stand still answer nobody, and go on as if nothing had been.
    assert!(path.pausable().unwrap().pause());
    let cpu = |path: &VmPath| -> u64 {
        let vcpus = path.facts().threads.iter();
        let vcpus = vcpus.filter(|thread| thread.thread.name.contains("/vcpu"));
        vcpus.map(|thread| packet::cpu_ns(thread.thread.pid)).sum()
    };
    let before = cpu(&path);
    std::thread::sleep(Duration::from_millis(200));
    // What was under way when they were stopped may end: 5 % of the time, not all of it.
    assert!(cpu(&path) - before < 10_000_000);
    assert!(path.pausable().unwrap().resume());
    own_frames(&path);
    Ok(())
}

/// What takes long and is the same for everybody is seen as root.
fn as_root(privilege: Privilege) -> Outcome {
    match privilege {
        Privilege::Privileged => Ok(()),
        _ => Err(Skip("run as root".to_owned())),
    }
}

fn vlan(privilege: Privilege) -> Outcome {
    as_root(privilege)?;
    let words = [
        ("switch", "vlan-bridge"),
        ("tagging", "filtering"),
        ("vms", "2"),
    ];
    match try_build(&spec(&words))? {
        Ok(path) => own_frames(&path),
        Err(error @ PathError::NoKernelSupport { .. }) => return Err(Skip(error.to_string())),
        Err(error) => panic!("{error}"),
    }
    Ok(())
}

/// A path on a switch that may not be installed; `said` begins the note about it.
fn on_program(words: &[(&str, &str)], said: &str) -> Result<VmPath, Skip> {
    let path = match try_build(&spec(words))? {
        Ok(path) => path,
        Err(error @ PathError::NotInstalled { .. }) => return Err(Skip(error.to_string())),
        Err(error) => panic!("{error}"),
    };
    let said = path
        .facts()
        .notes
        .iter()
        .any(|note| note.to_string().starts_with(said));
    assert!(said, "{:?}", &path.facts().notes);
    Ok(path)
}

fn several_on_ovs(_: Privilege) -> Outcome {
    let words = [("switch", "ovs"), ("vms", "2")];
    let path = on_program(&words, "The guest's switch is Open vSwitch ")?;
    let seen = || path.counters().unwrap().of("ovs").unwrap().rx_packets;
    let before = seen();
    own_frames(&path);
    // Once on either side of the guest.
    assert!(seen() - before >= 120);
    assert_eq!(
        order(&path),
        "ovs, t0, guest0 eth0, guest0 eth1, t1, t2, guest1 eth0, guest1 eth1, t3"
    );
    Ok(())
}

fn tagged_on_ovs(_: Privilege) -> Outcome {
    for guests in ["1", "2"] {
        let words = [("switch", "ovs"), ("tagging", "filtering"), ("vms", guests)];
        let path = on_program(&words, "The guest's switch is Open vSwitch ")?;
        assert_eq!(path.facts().vlan, Some(100));
        own_frames(&path);
        // Beyond the switch nobody takes what has no tag.
        let ports = path.ports();
        let [source, destination] = stations()[0].map(|station| station.0);
        let plain = packet::udp_frame(source, destination, 60);
        let seen = || {
            let counters = path.counters().unwrap();
            let all = counters
                .interfaces
                .iter()
                .filter(|p| p.interface.starts_with("guest"));
            all.map(|p| p.counters.rx_packets).sum::<u64>()
        };
        let before = seen();
        assert_eq!(PacketSocket::open(&ports[0]).send(&plain), Ok(()));
        let tagged = [&plain[..12], &[0x81, 0, 0, 100], &plain[12..]].concat();
        let receiver = PacketSocket::open(&ports[1]);
        assert_eq!(PacketSocket::open(&ports[0]).send(&tagged), Ok(()));
        assert_eq!(receiver.receive().as_ref(), Some(&plain));
        assert_eq!(seen() - before, 1);
    }
    Ok(())
}

fn bridged_on_ovs(_: Privilege) -> Outcome {
    let words = [
        ("switch", "ovs-bridge"),
        ("tagging", "filtering"),
        ("vms", "2"),
    ];
    let path = on_program(&words, "The guest's switch is Open vSwitch ")?;
    own_frames(&path);
    assert_eq!(
        order(&path),
        "ovs, qvo0, qvb0, qbr0, t0, guest0 eth0, guest0 eth1, t1, qbr1, qvb1, qvo1, \
         qvo2, qvb2, qbr2, t2, guest1 eth0, guest1 eth1, t3, qbr3, qvb3, qvo3"
    );
    drop(path);
    let path = on_program(&words[..1], "The guest's switch is Open vSwitch ")?;
    own_frames(&path);
    // A frame lost between two ends of a pair is counted once.
    let userspace = |note: &Note| note.to_string().contains("userspace datapath");
    overloads(
        &path,
        if path.facts().notes.iter().any(userspace) {
            "ovs rx_missed_errors"
        } else {
            "t0 tx_dropped"
        },
    );
    Ok(())
}

fn ovs_dpdk(privilege: Privilege) -> Outcome {
    as_root(privilege)?;
    let words = [("switch", "ovs-dpdk"), ("vms", "2"), ("ring", "512")];
    let path = on_program(&words, "The guest's switch is Open vSwitch ")?;
    let nic = &path.hellos()[1].nics[1];
    assert_eq!(nic.driver, "virtio_net");
    // QEMU 10 gives a port of vhost-user 1024 whatever is asked for; the facts say what there is.
    assert!(
        matches!(nic.rings, Some((512, 512) | (1024, 1024))),
        "{:?}",
        nic.rings
    );
    own_frames(&path);
    assert_eq!(
        order(&path),
        "ovs p0, ovs, ovs t0, guest0 eth0, guest0 eth1, ovs t1, ovs t2, guest1 eth0, guest1 eth1, ovs t3, ovs p1"
    );
    Ok(())
}

fn testpmd(privilege: Privilege) -> Outcome {
    as_root(privilege)?;
    let words = [("switch", "testpmd")];
    let path = on_program(&words, "The guest's switch is testpmd with ")?;
    own_frames(&path);
    assert_eq!(
        order(&path),
        "testpmd port 0, testpmd port 1, guest eth0, guest eth1, testpmd port 2, testpmd port 3"
    );
    Ok(())
}

fn pinned(_: Privilege) -> Outcome {
    let mut spec = spec(&[("vcpus", "2"), ("pin", "0"), ("queues", "2")]);
    spec.largest_frame = FrameSize::new(9018).unwrap();
    let path = try_build(&spec)?.unwrap();
    let hello = path.hellos()[0];
    assert_eq!((hello.cpus, hello.nics[0].queues), (2, 2));
    let threads: BTreeMap<_, _> = path
        .facts()
        .threads
        .iter()
        .filter(|thread| thread.interface == "guest")
        .map(|thread| (thread.thread.name.as_str(), thread))
        .collect();
    let names: Vec<_> = threads.keys().copied().collect();
    assert_eq!(names, ["guest/qemu", "guest/vcpu0", "guest/vcpu1"]);
    for vcpu in ["guest/vcpu0", "guest/vcpu1"] {
        let thread = threads[vcpu];
        assert_eq!(thread.cpus, [0], "{vcpu}");
        // What the kernel itself says, and that it belongs to this QEMU.
        let status = format!(
            "/proc/{}/task/{}/status",
            path.processes()[0],
            thread.thread.pid
        );
        let status = fs::read_to_string(status).unwrap();
        assert!(status.contains("\nCpus_allowed_list:\t0\n"), "{status}");
    }
    assert!(
        path.facts().notes.iter().any(|note| note
            .to_string()
            .contains("vcpu0 pinned to CPU 0; vcpu1 pinned to CPU 0; qemu free on CPU")),
        "{:?}",
        &path.facts().notes
    );
    ping(&path, 0, 3, 9014);
    ping(&path, 1, 3, 9014);
    Ok(())
}

fn no_such_cpu(_: Privilege) -> Outcome {
    let error = try_build(&spec(&[("pin", "8000")]))?.unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("pin names CPU 8000, this process may use CPU"),
        "{text}"
    );
    Ok(())
}

fn silent(_: Privilege) -> Outcome {
    let mut spec = spec(&[]);
    spec.boot_limit = Duration::from_millis(1);
    let text = try_build(&spec)?.unwrap_err().to_string();
    assert!(
        text.starts_with("the guest did not reach its hello in 0 s, its console ends with: "),
        "{text}"
    );
    Ok(())
}

fn stopped(_: Privilege) -> Outcome {
    let bundle = bundle()?;
    let built = VmPath::build(&spec(&[]), &bundle, &Accelerator::Tcg(None), &|| true);
    if let Err(error @ PathError::NoDevice { .. }) = &built {
        return Err(Skip(error.to_string()));
    }
    assert!(matches!(built, Err(PathError::Stopped)), "{built:?}");
    Ok(())
}

fn dies(_: Privilege) -> Outcome {
    let path = build(&[])?;
    let id = rustix::process::Pid::from_raw(path.processes()[0] as i32).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
    let text = path.counters().unwrap_err().to_string();
    assert!(
        text.starts_with("the guest: it has ended; last on its console: "),
        "{text}"
    );
    Ok(())
}

/// The program that is killed: builds a path, prints QEMU's process number, waits.
fn hold() -> ExitCode {
    match build(&[]) {
        Ok(path) => println!("{}", path.processes()[0]),
        Err(Skip(why)) => println!("SKIP {why}"),
    }
    loop {
        std::thread::park();
    }
}

fn killed(_: Privilege) -> Outcome {
    let mut holder = Command::new("/proc/self/exe");
    holder.env(HOLD, "1").stdout(Stdio::piped());
    let mut child = tie(&mut holder).spawn().unwrap();
    let mut line = String::new();
    let stdout = child.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    if let Some(why) = line.strip_prefix("SKIP ") {
        return Err(Skip(why.trim().to_owned()));
    }
    let qemu = line.trim();
    let alive = || {
        fs::read_to_string(format!("/proc/{qemu}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while alive() {
        assert!(Instant::now() < deadline, "QEMU {qemu} lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
