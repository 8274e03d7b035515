//! Paths made of real kernel objects, with real frames on them.
// A test with its own main function is not known as a test to the lints.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nicety_host::child::tie;
use nicety_model::Note;
use nicety_model::path::{GuestKind, VmParams};
use nicety_model::{FrameSize, LossEntry};
use nicety_netdev::ethtool::Ethtool;
use nicety_netdev::link::Mac;
use nicety_netdev::netns::NetNs;
use nicety_netdev::privilege::Privilege;
use nicety_paths::{
    BridgePath, BridgeSpec, Coupling, DirectPath, DirectSpec, ExternalPath, NetnsPath, NetnsSpec,
    Path, PathError, ledger,
};
use nicety_testkit::runner::{Test, run};

#[allow(dead_code, reason = "shared with the tests of guests and switches")]
mod packet;

use packet::PacketSocket;

/// Set for the copy of this program that builds a path and waits to be killed.
const HOLD: &str = "NICETY_TEST_HOLD_PATH";

fn main() -> ExitCode {
    if std::env::var_os(HOLD).is_some() {
        return hold();
    }
    run([
        Test::new("the_bridge_path_carries_every_frame_both_ways", carries).as_any_user(),
        Test::new("the_bridge_path_says_where_it_runs", says_where).as_any_user(),
        Test::new("overload_is_lost_in_the_path", overload),
        Test::new("without_the_switches_the_sender_pays", coupled),
        Test::new("merging_switches_are_off", never_merged),
        Test::new("large_frames_get_a_large_mtu", jumbo),
        Test::new("the_direct_path_carries_frames_both_ways", direct),
        Test::new(
            "a_guest_in_a_namespace_carries_frames_both_ways",
            namespace_guest,
        )
        .as_any_user(),
        Test::new(
            "guests_in_namespaces_carry_their_own_stations_frames",
            namespace_guests,
        ),
        Test::new("existing_ports_are_taken_as_they_are", external),
        Test::new("two_paths_live_side_by_side", two_at_once),
        Test::new("nothing_is_left_after_kill", killed).as_any_user(),
    ])
}

/// The CPU for the path: the machine's last, on which tests are least likely to run.
fn path_cpu() -> u32 {
    std::thread::available_parallelism().unwrap().get() as u32 - 1
}

fn build() -> BridgePath {
    BridgePath::build(&BridgeSpec {
        path_cpus: vec![path_cpu()],
        largest_frame: FrameSize::new(1518).unwrap(),
        queues: 1,
    })
    .unwrap()
}

fn namespace_guest(_: Privilege) {
    let guest = VmParams {
        guest: Some(GuestKind::Netns),
        ..VmParams::default()
    };
    let path = NetnsPath::build(&NetnsSpec {
        ask: guest.config(),
        largest_frame: FrameSize::new(9018).unwrap(),
        stations: Vec::new(),
        path_cpus: vec![path_cpu()],
        serves: false,
        neighbours: 0,
    })
    .unwrap();
    assert_eq!(
        (path.facts().kind, path.facts().own_stations),
        ("vm", false)
    );
    ping(&path, 0, 1, 60);
    ping(&path, 1, 1, 60);
    let before = path.counters().unwrap();
    ping(&path, 0, 50, 60);
    ping(&path, 1, 50, 9014);
    let after = path.counters().unwrap();
    let order: Vec<&str> = after
        .interfaces
        .iter()
        .map(|p| p.interface.as_str())
        .collect();
    assert_eq!(order, ["a", "d0", "guest g0", "guest g1", "d1", "b"]);
    packet::on_the_picture(&path, &[("kind", "vm"), ("guest", "netns")]);
    for place in order {
        for counter in ["rx_packets", "tx_packets"] {
            let name = format!("{place} {counter}");
            assert_eq!(moved(&path, &before, &name), 50, "{name}");
        }
    }
    assert_eq!(ledger(&before, &after, 0), []);
    let said = path.facts().notes.iter().any(|note| {
        note.to_string().starts_with(
            "guest is a network namespace with macvlan: a kernel bridge joins two interfaces",
        )
    });
    assert!(said, "{:?}", &path.facts().notes);
}

fn namespace_guests(_: Privilege) {
    let guest = VmParams {
        guest: Some(GuestKind::Netns),
        vms: Some(3),
        ..VmParams::default()
    };
    let stations =
        [0, 1, 2].map(|guest| [0x0a, 0x0b].map(|port| Mac([0x02, 0x4e, 0, 0, guest, port])));
    let path = NetnsPath::build(&NetnsSpec {
        ask: guest.config(),
        largest_frame: FrameSize::new(1518).unwrap(),
        stations: stations.to_vec(),
        path_cpus: vec![path_cpu()],
        serves: false,
        neighbours: 0,
    })
    .unwrap();
    assert_eq!(
        (path.facts().stations, path.facts().own_stations),
        (3, false)
    );
    let sockets = [0, 1].map(|port| socket(&path, port));
    let before = path.counters().unwrap();
    for (guest, stations) in stations.into_iter().enumerate() {
        for from in [0, 1] {
            let (source, destination) = (stations[from].0, stations[1 - from].0);
            for number in 0..10 * (guest + 1) {
                let frame = packet::by_turns(number, source, destination, [60, 1400][from]);
                assert_eq!(sockets[from].send(&frame), Ok(()));
                assert_eq!(sockets[1 - from].receive().as_ref(), Some(&frame));
            }
        }
    }
    // Everybody forwards what is for all, and nobody what is for nobody he knows.
    let (all, nobody) = ([0xff; 6], [2, 0, 0, 0, 0, 2]);
    let frames = [nobody, all].map(|to| packet::udp_frame([2, 0, 0, 0, 0, 1], to, 60));
    for frame in &frames {
        assert_eq!(sockets[0].send(frame), Ok(()));
    }
    for _ in stations {
        assert_eq!(sockets[1].receive().as_ref(), Some(&frames[1]));
    }
    let after = path.counters().unwrap();
    let order: Vec<&str> = after
        .interfaces
        .iter()
        .map(|p| p.interface.as_str())
        .collect();
    assert_eq!(
        order.join(", "),
        "a, d0, guest0 g0, guest0 g1, guest1 g0, guest1 g1, guest2 g0, guest2 g1, d1, b"
    );
    for (guest, own) in [(0, 10), (1, 20), (2, 30)] {
        for (nic, way) in [("g0", "rx"), ("g1", "tx")] {
            let name = format!("guest{guest} {nic} {way}_packets");
            assert_eq!(moved(&path, &before, &name), own + 1, "{name}");
        }
        for (nic, way) in [("g1", "rx"), ("g0", "tx")] {
            let name = format!("guest{guest} {nic} {way}_packets");
            assert_eq!(moved(&path, &before, &name), own, "{name}");
        }
    }
    assert_eq!(ledger(&before, &after, 0), []);
    let said = |words: &str| {
        path.facts()
            .notes
            .iter()
            .any(|note| note.to_string().starts_with(words))
    };
    assert!(said("3 guests share the tester's interfaces; "));
    assert!(said("guest2 is a network namespace with macvlan: "));
}

/// A socket on port 0 (A) or 1 (B).
fn socket(path: &dyn Path, port: usize) -> PacketSocket {
    PacketSocket::open(&path.ports()[port])
}

/// A frame from one port to the other.
fn frame(path: &dyn Path, from: usize, bytes: usize) -> Vec<u8> {
    let [source, destination] = [from, 1 - from].map(|port| path.ports()[port].mac.0);
    packet::udp_frame(source, destination, bytes)
}

/// Sends `count` frames of IPv4 and IPv6 by turns, each after the one before has arrived.
fn ping(path: &dyn Path, from: usize, count: usize, bytes: usize) {
    let (sender, receiver) = (socket(path, from), socket(path, 1 - from));
    let [source, destination] = [from, 1 - from].map(|port| path.ports()[port].mac.0);
    for number in 0..count {
        let frame = packet::by_turns(number, source, destination, bytes);
        assert_eq!(sender.send(&frame), Ok(()), "frame {number}");
        assert_eq!(receiver.receive().as_ref(), Some(&frame), "frame {number}");
    }
}

/// How often the path's thread for `interface` has gone to sleep or been put to sleep: moves
/// whenever it worked.
fn switches(path: &dyn Path, interface: &str) -> u64 {
    let threads = path
        .facts()
        .threads
        .iter()
        .filter(|t| t.interface == interface);
    threads
        .map(|t| packet::context_switches(t.thread.pid))
        .sum()
}

/// CPU time of the path's threads for `interface` in ns.
fn cpu_ns(path: &dyn Path, interface: &str) -> u64 {
    let threads = path
        .facts()
        .threads
        .iter()
        .filter(|t| t.interface == interface);
    threads.map(|t| packet::cpu_ns(t.thread.pid)).sum()
}

fn moved(path: &dyn Path, before: &nicety_paths::PathCounters, name: &str) -> u64 {
    let value = |counters: &nicety_paths::PathCounters| {
        counters.named().find(|(n, _)| n == name).unwrap().1
    };
    value(&path.counters().unwrap()) - value(before)
}

fn carries(_: Privilege) {
    let path = build();
    assert_eq!(path.facts().kind, "bridge");
    packet::on_the_picture(&path, &[("kind", "bridge")]);
    for (from, near, far) in [(0, "a", "b"), (1, "b", "a")] {
        let before = path.counters().unwrap();
        ping(&path, from, 100, 60);
        for counter in [
            format!("{near} tx_packets"),
            format!("{far} rx_packets"),
            "d0 rx_packets".to_owned(),
            "d1 tx_packets".to_owned(),
        ] {
            let counter = if from == 1 {
                counter.replace("d0 rx", "d0 tx").replace("d1 tx", "d1 rx")
            } else {
                counter
            };
            assert_eq!(moved(&path, &before, &counter), 100, "{counter}");
        }
        assert_eq!(ledger(&before, &path.counters().unwrap(), 0), []);
    }
    // Nothing else talks on the path: no IPv6, no spanning tree.
    let counters = path.counters().unwrap();
    for port in ["a", "b"] {
        assert_eq!(counters.of(port).unwrap().rx_packets, 100, "{port}");
    }
}

fn says_where(privilege: Privilege) {
    let path = build();
    assert_eq!(path.facts().coupling, Coupling::Decoupled);
    let interfaces: Vec<_> = path
        .facts()
        .threads
        .iter()
        .map(|t| t.interface.as_str())
        .collect();
    assert_eq!(interfaces, ["d0", "d1"]);
    let (netfilter, notes): (Vec<_>, Vec<_>) = path
        .facts()
        .notes
        .iter()
        .map(Note::to_string)
        .partition(|note| note.starts_with("The module br_netfilter is loaded"));
    let loaded = std::path::Path::new("/proc/sys/net/bridge").exists();
    assert_eq!(netfilter.len(), usize::from(loaded), "{netfilter:?}");
    if privilege == Privilege::Privileged {
        assert!(
            path.facts()
                .threads
                .iter()
                .all(|t| t.cpus == [path_cpu()] && t.unpinned.is_none() && t.preferred)
        );
        assert_eq!(notes, [""; 0]);
    } else {
        assert!(path.facts().threads.iter().all(|t| t.unpinned.is_some()));
        assert_eq!(
            notes,
            [
                "The receive threads of d0 and d1 are not pinned: only root may pin kernel threads.",
                "The receive threads of d0 and d1 run at ordinary priority. Any program that wakes on their CPU stops them, and frames are lost. Run nicety as root."
            ]
        );
    }
    let before = (cpu_ns(&path, "d0"), switches(&path, "d1"));
    ping(&path, 0, 200, 60);
    assert!(
        cpu_ns(&path, "d0") > before.0,
        "the thread of d0 did the work"
    );
    // A thread just made may still be on its way to its first sleep; 200 frames one by one
    // would wake it 200 times.
    let woken = switches(&path, "d1") - before.1;
    assert!(
        woken <= 5,
        "frames from A do not come in at d1: woken {woken} times"
    );
}

/// Sends as fast as it can until enough frames were refused; sent and refused.
fn flood(path: &dyn Path, enough: u64, most: u64) -> (u64, u64) {
    let sender = socket(path, 0);
    let frame = frame(path, 0, 60);
    let (mut sent, mut refused) = (0, 0);
    while refused < enough && sent + refused < most {
        match sender.send(&frame) {
            Ok(()) => sent += 1,
            // What a full ring answers; anything else is a failure.
            Err(error) => {
                assert_eq!(error, libc::ENOBUFS);
                refused += 1;
            }
        }
    }
    (sent, refused)
}

/// Waits until frames on their way have arrived: the path is drained when as many have left it
/// as entered.
fn drain(path: &dyn Path, before: &nicety_paths::PathCounters, sent: u64) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while moved(path, before, "b rx_packets") < sent {
        assert!(Instant::now() < deadline, "{:?}", path.counters());
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn overload(_: Privilege) {
    let path = build();
    let before = path.counters().unwrap();
    let (sent, refused) = flood(&path, 100, 20_000_000);
    assert!(
        refused >= 100,
        "the sender was slowed down instead: {sent} sent, {refused} refused"
    );
    drain(&path, &before, sent);
    assert_eq!(moved(&path, &before, "a tx_packets"), sent);
    assert_eq!(
        ledger(&before, &path.counters().unwrap(), refused),
        [LossEntry::counted("a tx_dropped", refused)]
    );
}

fn coupled(_: Privilege) {
    let path = build();
    let tester = Ethtool::open(&path.ports()[0].ns).unwrap();
    tester
        .set_features("a", &[("tx-tcp-segmentation", true)])
        .unwrap();
    let before = (path.counters().unwrap(), switches(&path, "d0"));
    let (sent, refused) = flood(&path, 1, 100_000);
    assert_eq!((sent, refused), (100_000, 0));
    drain(&path, &before.0, sent);
    assert_eq!(switches(&path, "d0"), before.1, "the thread never ran");
}

fn never_merged(_: Privilege) {
    let path = build();
    let inner = Ethtool::open(path.dut()).unwrap();
    for interface in ["d0", "d1"] {
        let features = inner.features(interface).unwrap();
        assert!(features["rx-gro"].active);
        for merging in ["rx-udp-gro-forwarding", "rx-gro-list"] {
            assert!(!features[merging].active, "{interface} {merging}");
        }
    }
}

fn jumbo(_: Privilege) {
    let path = BridgePath::build(&BridgeSpec {
        path_cpus: Vec::new(),
        largest_frame: FrameSize::new(9018).unwrap(),
        queues: 2,
    })
    .unwrap();
    assert_eq!(path.ports().each_ref().map(|port| port.mtu), [9000, 9000]);
    assert_eq!(path.facts().threads.len(), 4);
    ping(&path, 0, 3, 9014);
    ping(&path, 1, 3, 9014);
}

fn direct(_: Privilege) {
    let path = DirectPath::build(&DirectSpec {
        path_cpus: vec![path_cpu()],
        largest_frame: FrameSize::new(1518).unwrap(),
        queues: 1,
    })
    .unwrap();
    assert_eq!(path.facts().coupling, Coupling::Decoupled);
    for (from, receiver) in [(0, "b"), (1, "a")] {
        let before = cpu_ns(&path, receiver);
        ping(&path, from, 100, 1514);
        assert!(cpu_ns(&path, receiver) > before, "{receiver}");
    }
    assert_eq!(path.counters().unwrap().of("b").unwrap().rx_packets, 100);
}

fn external(_: Privilege) {
    // The bridge's own ports, seen from inside its namespace, are interfaces somebody else made.
    let host = build();
    let open = |a: &'static str, b: &'static str, size| {
        host.dut()
            .run(move || ExternalPath::open(a, b, FrameSize::new(size).unwrap()))
            .unwrap()
    };
    let path = open("d0", "d1", 1518).unwrap();
    assert_eq!(path.facts().coupling, Coupling::Unknown);
    assert_eq!(path.ports()[1].name, "d1");
    assert!(path.ports()[0].ns.is_same(host.dut()));
    assert_eq!(path.facts().notes.len(), 2);
    // A frame put on d0 leaves the bridge's side and arrives at a.
    let (sender, receiver) = (socket(&path, 0), socket(&host, 0));
    let frame = frame(&host, 1, 60);
    sender.send(&frame).unwrap();
    assert_eq!(receiver.receive(), Some(frame));
    assert_eq!(path.counters().unwrap().of("d0").unwrap().tx_packets, 1);

    assert!(matches!(
        open("d0", "d0", 64),
        Err(PathError::SamePort { .. })
    ));
    assert!(matches!(
        open("d0", "d9", 64),
        Err(PathError::NoSuchPort { .. })
    ));
    assert!(matches!(
        open("d0", "lo", 64),
        Err(PathError::Unusable { .. })
    ));
    assert!(matches!(
        open("d0", "br0", 64),
        Err(PathError::Unusable { .. })
    ));
    assert!(matches!(
        open("d0", "d1", 1519),
        Err(PathError::MtuTooSmall { .. })
    ));
    assert!(matches!(
        open("d0", "a-name-too-long-0", 64),
        Err(PathError::Net(_))
    ));
}

fn two_at_once(_: Privilege) {
    let (first, second) = (build(), build());
    ping(&first, 0, 10, 60);
    assert_eq!(first.counters().unwrap().of("b").unwrap().rx_packets, 10);
    assert_eq!(second.counters().unwrap().of("b").unwrap().rx_packets, 0);
    let pids = |path: &BridgePath| -> Vec<u32> {
        path.facts().threads.iter().map(|t| t.thread.pid).collect()
    };
    assert!(pids(&first).iter().all(|pid| !pids(&second).contains(pid)));
}

/// The program that is killed: builds a path, prints the pids of its threads, waits.
fn hold() -> ExitCode {
    let path = build();
    let pids: Vec<_> = path
        .facts()
        .threads
        .iter()
        .map(|t| t.thread.pid.to_string())
        .collect();
    println!("{}", pids.join(" "));
    loop {
        std::thread::park();
    }
}

fn killed(_: Privilege) {
    let mut holder = Command::new(std::env::current_exe().unwrap());
    holder.env(HOLD, "1").stdout(Stdio::piped());
    let mut child = tie(&mut holder).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let pids: Vec<u32> = line
        .split_whitespace()
        .map(|p| p.parse().unwrap())
        .collect();
    assert_eq!(pids.len(), 2);
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    // The threads end when the kernel has taken the interfaces apart, in its own time.
    let deadline = Instant::now() + Duration::from_secs(20);
    while pids.iter().any(|pid| packet::is_napi_thread(*pid)) {
        assert!(Instant::now() < deadline, "{pids:?} live on");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(NetNs::current().is_ok());
}
