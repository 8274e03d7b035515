//! Paths through switches other than the plain bridge, with real frames on them.
// A test with its own main function is not known as a test to the lints.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nicety_host::child::tie;
use nicety_model::Note;
use nicety_model::path::Acl;
use nicety_model::{FrameSize, Remedy};
use nicety_netdev::link::Mac;
use nicety_netdev::privilege::Privilege;
use nicety_paths::{
    Coupling, Datapath, DpdkSpec, OvnPath, OvnSpec, OvsDpdkPath, OvsPath, OvsSpec, Path, PathError,
    RigSpec, Tagging, TestpmdPath, Vdev, VlanBridgePath, ledger,
};
use nicety_testkit::runner::{Skip, Test, run};

#[allow(dead_code, reason = "shared with the tests of other paths")]
#[path = "../paths/packet.rs"]
mod packet;

use packet::PacketSocket;

type Outcome = Result<(), Skip>;

/// Set for the copy of this program that builds a path and waits to be killed.
const HOLD: &str = "NICETY_TEST_HOLD_SWITCH";

/// Set for the copy of it that only removes what was left.
const SWEEP: &str = "NICETY_TEST_SWEEP";

fn main() -> ExitCode {
    if let Ok(kind) = std::env::var(HOLD) {
        return hold(kind);
    }
    if std::env::var_os(SWEEP).is_some() {
        nicety_paths::sweep();
        return ExitCode::SUCCESS;
    }
    let mut tests = vec![
        Test::new("ovs_userspace_carries_every_frame_both_ways", ovs_userspace).as_any_user(),
        Test::new("ovs_kernel_carries_every_frame_both_ways", ovs_kernel),
        Test::new("ovs_says_which_datapath_it_took", ovs_automatic).as_any_user(),
        Test::new("testpmd_polls_with_two_queues", two_queues),
        Test::new(
            "what_cannot_be_built_is_refused_before_it_is_begun",
            refused,
        )
        .as_any_user(),
    ];
    for (name, tagging) in [
        ("sub_interfaces", Tagging::SubInterface),
        ("a_filtering_bridge", Tagging::Filtering),
    ] {
        let name = format!("{name}_carry_tagged_frames_and_no_others");
        tests.push(Test::new(name, move |privilege| {
            vlan_bridge(tagging, privilege)
        }));
    }
    for (name, datapath) in [
        ("ovs_userspace", Datapath::Userspace),
        ("ovs_kernel", Datapath::Kernel),
    ] {
        let name = format!("{name}_carries_frames_of_a_vlan_and_no_others");
        tests.push(Test::new(name, move |privilege| {
            ovs_tagged(datapath, privilege)
        }));
    }
    for acl in [Acl::None, Acl::AllowStateless, Acl::AllowRelated] {
        let name = format!("ovn_carries_every_frame_both_ways_{acl}");
        tests.push(Test::new(name, move |privilege| ovn(acl, privilege)));
    }
    for vdev in [Vdev::AfPacket, Vdev::AfXdp] {
        let name = |program| format!("{program}_carries_every_frame_both_ways_{}", vdev.word());
        tests.push(Test::new(name("ovs_dpdk"), move |privilege| {
            ovs_dpdk(vdev, privilege)
        }));
        tests.push(Test::new(name("testpmd"), move |privilege| {
            testpmd(vdev, privilege)
        }));
    }
    for (kind, programs) in [("ovs", 2), ("ovs-dpdk", 2), ("testpmd", 1)] {
        let name = format!("nothing_of_{kind}_is_left_after_kill");
        let killed = move |privilege| killed(kind, programs, privilege);
        tests.push(Test::new(name, killed).as_any_user());
    }
    run(tests)
}

/// The CPU for the path: the machine's last, on which tests are least likely to run.
fn path_cpu() -> u32 {
    std::thread::available_parallelism().unwrap().get() as u32 - 1
}

fn rig(queues: u32) -> RigSpec {
    RigSpec {
        path_cpus: vec![path_cpu()],
        largest_frame: FrameSize::new(1518).unwrap(),
        queues,
    }
}

fn ovs(datapath: Option<Datapath>) -> Result<OvsPath, PathError> {
    ovs_with(datapath, false)
}

fn ovs_with(datapath: Option<Datapath>, tagged: bool) -> Result<OvsPath, PathError> {
    OvsPath::build(&OvsSpec {
        rig: rig(1),
        datapath,
        tagged,
        cpus: vec![path_cpu()],
    })
}

fn dpdk(vdev: Vdev, queues: u32) -> DpdkSpec {
    DpdkSpec {
        rig: rig(queues),
        vdev,
        cores: 1,
        cpus: vec![path_cpu()],
    }
}

/// The path; skips where the machine or the user lacks something.
fn had<P>(built: Result<P, PathError>, privilege: Privilege) -> Result<P, Skip> {
    match built {
        Ok(path) => Ok(path),
        Err(error @ (PathError::NotInstalled { .. } | PathError::NoKernelSupport { .. })) => {
            Err(Skip(format!("{error}: {}", error.remedy().unwrap())))
        }
        // A sandboxed user may be refused sockets or memory that the program insists on.
        Err(error @ PathError::Program { .. }) if privilege != Privilege::Privileged => {
            Err(Skip(format!("for an ordinary user: {error}")))
        }
        Err(error) => panic!("{error}"),
    }
}

/// Sends `count` frames of IPv4 and IPv6 by turns, each after the one before has arrived.
fn ping(path: &dyn Path, from: usize, count: usize, bytes: usize) {
    let sender = PacketSocket::open(&path.ports()[from]);
    let receiver = PacketSocket::open(&path.ports()[1 - from]);
    let [source, destination] = [from, 1 - from].map(|port| path.ports()[port].mac.0);
    for number in 0..count {
        let frame = packet::by_turns(number, source, destination, bytes);
        assert_eq!(sender.send(&frame), Ok(()), "frame {number}");
        let end = Instant::now() + Duration::from_secs(10);
        // The switch's own interfaces may have something to say.
        while receiver.receive().as_ref() != Some(&frame) {
            assert!(Instant::now() < end, "frame {number}");
        }
    }
}

/// Frames of every size and IP version both ways, nothing lost, the path's threads known and at work.
fn carries(path: &dyn Path, worker: Option<&str>) {
    for from in [0, 1] {
        ping(path, from, 10, 60);
    }
    packet::on_the_picture(path, &[("kind", path.facts().kind)]);
    let before = path.counters().unwrap();
    let worked = worker.map(|name| cpu_ns(path, name));
    for (from, bytes) in [(0, 60), (1, 60), (0, 1514), (1, 1514)] {
        ping(path, from, 100, bytes);
    }
    let after = path.counters().unwrap();
    assert_eq!(ledger(&before, &after, 0), []);
    for port in ["a", "b"] {
        let moved = |name| {
            let of = |counters: &nicety_paths::PathCounters| counters.of(name).unwrap().rx_packets;
            of(&after) - of(&before)
        };
        assert!(moved(port) >= 200, "{port}");
    }
    if let (Some(name), Some(worked)) = (worker, worked) {
        assert!(cpu_ns(path, name) > worked, "{name} did nothing");
    }
    assert_eq!(path.facts().coupling, Coupling::Decoupled);
}

/// CPU time in ns of the path's threads whose name begins with `name`.
fn cpu_ns(path: &dyn Path, name: &str) -> u64 {
    let threads: Vec<_> = path
        .facts()
        .threads
        .iter()
        .filter(|thread| thread.interface.starts_with(name))
        .collect();
    assert!(
        !threads.is_empty(),
        "no thread {name}: {:?}",
        &path.facts().threads
    );
    for thread in &threads {
        assert_eq!(thread.cpus, [path_cpu()], "{thread:?}");
    }
    threads.iter().map(|t| packet::cpu_ns(t.thread.pid)).sum()
}

fn vlan_bridge(tagging: Tagging, privilege: Privilege) -> Outcome {
    let path = had(VlanBridgePath::build(&rig(1), tagging), privilege)?;
    assert_eq!(path.facts().kind, "vlan-bridge");
    tagged(&path);
    Ok(())
}

/// Frames of both IP versions with the path's tag arrive with it, frames without do not arrive.
fn tagged(path: &dyn Path) {
    const COUNT: u64 = 50;
    /// The least that IPv6 takes.
    const BYTES: usize = 62;
    let id = path.facts().vlan.unwrap().to_be_bytes();
    for from in [0, 1] {
        let sender = PacketSocket::open(&path.ports()[from]);
        let receiver = PacketSocket::open(&path.ports()[1 - from]);
        let [source, destination] = [from, 1 - from].map(|port| path.ports()[port].mac.0);
        let before = path.counters().unwrap();
        for number in 0..COUNT {
            let plain = packet::by_turns(number as usize, source, destination, BYTES);
            let tagged = [&plain[..12], &[0x81, 0], &id, &plain[12..]].concat();
            sender.send(&plain).unwrap();
            sender.send(&tagged).unwrap();
            // The kernel takes the tag off before it hands the frame to a socket.
            assert_eq!(receiver.receive().as_ref(), Some(&plain));
        }
        let after = path.counters().unwrap();
        let port = ["b", "a"][from];
        let [old, new] = [&before, &after].map(|counters| *counters.of(port).unwrap());
        assert_eq!(new.rx_packets - old.rx_packets, COUNT, "{port}");
        let bytes = (BYTES as u64 + 4) * COUNT;
        assert_eq!(new.rx_bytes - old.rx_bytes, bytes, "{port}: no tag");
    }
    assert_eq!(path.facts().coupling, Coupling::Decoupled);
}

fn ovs_userspace(privilege: Privilege) -> Outcome {
    let path = had(ovs(Some(Datapath::Userspace)), privilege)?;
    assert_eq!(path.facts().kind, "ovs");
    carries(&path, Some("ovs-vswitchd"));
    assert!(path.counters().unwrap().of("ovs").unwrap().rx_packets >= 420);
    Ok(())
}

fn ovs_kernel(privilege: Privilege) -> Outcome {
    let path = had(ovs(Some(Datapath::Kernel)), privilege)?;
    carries(&path, None);
    Ok(())
}

fn ovs_tagged(datapath: Datapath, privilege: Privilege) -> Outcome {
    tagged(&had(ovs_with(Some(datapath), true), privilege)?);
    Ok(())
}

fn ovs_automatic(privilege: Privilege) -> Outcome {
    let path = had(ovs(None), privilege)?;
    let notes = Note::texts(&path.facts().notes);
    let said = notes.iter().find(|note| note.starts_with("The switch is "));
    let wanted = match path.datapath() {
        Datapath::Kernel => "kernel datapath",
        Datapath::Userspace => "because the kernel has no openvswitch datapath",
    };
    let said = said.unwrap();
    assert!(
        said.contains("Open vSwitch ") && said.contains(wanted),
        "{said}"
    );
    carries(&path, None);
    Ok(())
}

fn ovn(acl: Acl, privilege: Privilege) -> Outcome {
    let built = OvnPath::build(&OvnSpec {
        rig: rig(1),
        datapath: Some(Datapath::Userspace),
        acl,
        stations: [0x0a, 0x0b].map(|last| Mac([0x02, 0x6e, 0x69, 0, 0, last])),
        cpus: vec![path_cpu()],
    });
    let path = had(built, privilege)?;
    assert_eq!(path.facts().kind, "ovn");
    let notes = Note::texts(&path.facts().notes).join(" ");
    assert!(notes.contains(" with OVN 2"), "{notes}");
    carries(&path, Some("ovs-vswitchd"));
    // A frame that is looked up again for its connection is one.
    let seen = path.counters().unwrap().of("ovs").unwrap().rx_packets;
    assert!((420..500).contains(&seen), "{acl}: {seen}");
    Ok(())
}

fn ovs_dpdk(vdev: Vdev, privilege: Privilege) -> Outcome {
    let path = had(OvsDpdkPath::build(&dpdk(vdev, 1)), privilege)?;
    assert_eq!(path.facts().kind, "ovs-dpdk");
    carries(&path, Some("ovs pmd-c"));
    // It says itself how much of its time it had frames.
    let polling = path.counters().unwrap().polling;
    let known = |who: &str| path.facts().threads.iter().any(|t| t.thread.name == who);
    assert!(
        polling.iter().all(|thread| known(&thread.who)),
        "{polling:?}"
    );
    let cycles = polling.first().and_then(|thread| thread.cycles).unwrap();
    assert!(cycles.busy > 0 && cycles.idle > 0, "{cycles:?}");
    Ok(())
}

fn testpmd(vdev: Vdev, privilege: Privilege) -> Outcome {
    let path = had(TestpmdPath::build(&dpdk(vdev, 1)), privilege)?;
    assert_eq!(path.facts().kind, "testpmd");
    carries(&path, Some("testpmd lcore"));
    assert_eq!(path.counters().unwrap().polling.len(), 1);
    Ok(())
}

fn two_queues(privilege: Privilege) -> Outcome {
    let path = had(TestpmdPath::build(&dpdk(Vdev::AfPacket, 2)), privilege)?;
    carries(&path, Some("testpmd lcore"));
    Ok(())
}

fn refused(_: Privilege) {
    let before = run_dirs();
    let mut greedy = dpdk(Vdev::AfPacket, 1);
    greedy.cores = 2;
    let mut jumbo = dpdk(Vdev::AfPacket, 1);
    jumbo.rig.largest_frame = FrameSize::new(9018).unwrap();
    let split = dpdk(Vdev::AfXdp, 2);
    for (spec, remedy) in [
        (split, "write queues = 1 or vdev = \"af_packet\""),
        (greedy, "write cores = 1 or less"),
        (jumbo, "write frame_sizes of at most 1518"),
    ] {
        for error in [
            TestpmdPath::build(&spec).map(drop).unwrap_err(),
            OvsDpdkPath::build(&spec).map(drop).unwrap_err(),
        ] {
            assert_eq!(error.remedy(), Some(Remedy::plan(remedy)), "{error}");
        }
    }
    assert_eq!(run_dirs(), before);
}

/// Directories of paths in the place where root's are.
fn run_dirs() -> BTreeSet<String> {
    let entries = fs::read_dir("/run/nicety").into_iter().flatten();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("path-"))
        .collect()
}

/// Processes started by process `parent`, by name.
fn children(parent: u32) -> Vec<(u32, String)> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter_map(|pid: u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
            let ppid: u32 = rest.split_ascii_whitespace().nth(1)?.parse().ok()?;
            (ppid == parent).then(|| (pid, name.to_owned()))
        })
        .collect()
}

/// Builds a path of this kind.
fn build(kind: &str) -> Result<Box<dyn Path>, PathError> {
    Ok(match kind {
        "ovs" => Box::new(ovs(Some(Datapath::Userspace))?),
        "ovs-dpdk" => Box::new(OvsDpdkPath::build(&dpdk(Vdev::AfPacket, 1))?),
        _ => Box::new(TestpmdPath::build(&dpdk(Vdev::AfPacket, 1))?),
    })
}

/// The program that is killed: builds a path on a thread that ends, says so, waits.
fn hold(kind: String) -> ExitCode {
    let built = std::thread::spawn(move || build(&kind));
    match built.join().unwrap() {
        Ok(_path) => {
            println!("up");
            loop {
                std::thread::park();
            }
        }
        Err(error) => {
            println!("not built: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A path of this kind, which has so many programs, goes with the process that built it.
fn killed(kind: &str, count: usize, privilege: Privilege) -> Outcome {
    drop(had(build(kind), privilege)?);
    let runtime = tempfile::tempdir().unwrap();
    let mut holder = Command::new(std::env::current_exe().unwrap());
    holder
        .env(HOLD, kind)
        .env("XDG_RUNTIME_DIR", runtime.path())
        .stdout(Stdio::piped());
    let mut child = tie(&mut holder).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "up\n");
    let programs = children(child.id());
    assert_eq!(programs.len(), count, "{programs:?}");
    // Dead, and waited for by nobody yet, has no command line.
    let lives =
        |pid: u32| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty());
    // They go on without the thread that asked for them.
    std::thread::sleep(Duration::from_millis(100));
    assert!(programs.iter().all(|(pid, _)| lives(*pid)), "{programs:?}");
    let base = runtime.path().join("nicety");
    let left = || fs::read_dir(&base).unwrap().count();
    assert_eq!(left(), 1);
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while programs.iter().any(|(pid, _)| lives(*pid)) {
        assert!(Instant::now() < end, "{programs:?} live on");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(left(), 1);
    // The next one removes it.
    let swept = Command::new(std::env::current_exe().unwrap())
        .env(SWEEP, "1")
        .env("XDG_RUNTIME_DIR", runtime.path())
        .status()
        .unwrap();
    assert!(swept.success());
    assert_eq!(left(), 0);
    Ok(())
}
