//! What every test needs: an engine opened on a path, trials on it, and the laws that hold for
//! each of them.

use std::time::Duration;

use nicety_host::placement::{Placement, Wants, place};
use nicety_host::roots::Roots;
use nicety_host::topology::Topology;
use nicety_model::plan::Preset;
use nicety_model::{
    CellKey, CellResult, Direction, Fps, FrameSize, PathSpec, Purpose, TrialRecord, Validity,
};
use nicety_netdev::link::Links;
use nicety_netdev::netns::NetNs;
use nicety_netdev::ns_sysfs::NsSysfs;
use nicety_netdev::privilege::{Privilege, privilege};
use nicety_packet::MacAddr;
use nicety_paths::{BridgePath, BridgeSpec, Path};
use nicety_port::af_packet::{AfPacket, PortSockets, PortSpec, Refusal, TrafficSpec};
use nicety_port::xdp::object;
use nicety_port::xdp::unsupported::Unsupported;
use nicety_port::xdp::{Opening, Xdp};
use nicety_port::{Engine, PortError, PortFault, Stop, af_xdp};
use nicety_search::{Cell, CellContext, CellPlan, Settings};
use nicety_testkit::runner::Skip;
use nicety_trial::{TrialSpec, Trials};

/// Loss goal of every preset but `rfc2544`.
pub const GOAL: f64 = nicety_search::preset::DEFAULT_LOSS_RATIO;

/// The engine under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tester {
    AfPacket,
    Xdp,
    AfXdp,
}

impl Tester {
    pub const ALL: [Self; 3] = [Self::AfPacket, Self::Xdp, Self::AfXdp];

    pub fn word(self) -> &'static str {
        match self {
            Self::AfPacket => "af_packet",
            Self::Xdp => "xdp",
            Self::AfXdp => "af_xdp",
        }
    }

    /// Opens the engine on the ports of `path`, with one thread where the path's own threads
    /// are the only ones to need a CPU, and as the application does it otherwise.
    pub fn open(self, path: &dyn Path, traffic: TrafficSpec) -> Result<Box<dyn Engine>, Skip> {
        match self {
            Self::AfPacket => Ok(Box::new(af_packet(path, traffic))),
            Self::Xdp => Ok(Box::new(xdp(path, traffic)?)),
            Self::AfXdp => Ok(Box::new(af_xdp(path, traffic)?)),
        }
    }
}

/// Ports of `path`, as engines want them.
fn specs(path: &dyn Path) -> [PortSpec; 2] {
    let spec = |side: usize, number| {
        let port = &path.ports()[side];
        let links = Links::open(&port.ns).unwrap();
        PortSpec {
            interface: port.name.clone(),
            mac: MacAddr::local(number),
            mtu: port.mtu,
            refusal: if links.get(&port.name).unwrap().kind == "veth" {
                Refusal::LostInPath
            } else {
                Refusal::NotSent
            },
            promiscuous: false,
        }
    };
    [spec(0, 1), spec(1, 2)]
}

/// CPUs of the tester's threads.
fn cpus(path: &dyn Path) -> Vec<Option<u32>> {
    match path.facts().kind {
        // Its thread is one of this process; it needs the other CPU.
        "wire" => vec![None],
        _ => placement().tester.iter().map(|t| Some(t.cpu)).collect(),
    }
}

fn af_packet(path: &dyn Path, traffic: TrafficSpec) -> AfPacket {
    let [a, b] = specs(path);
    let open = |spec: &PortSpec, side: usize| {
        let opened = path.ports()[side]
            .ns
            .run(|| PortSockets::open(spec, traffic.frame_size));
        opened.unwrap().unwrap()
    };
    AfPacket::new(open(&a, 0), open(&b, 1), traffic, cpus(path)).unwrap()
}

/// Skipped where the programs are not built in or the user may not load them; whatever else the
/// kernel says is a failure.
fn xdp(path: &dyn Path, traffic: TrafficSpec) -> Result<Xdp, Skip> {
    let mut opening = match Opening::new(specs(path), traffic, cpus(path)) {
        Err(PortError {
            fault:
                PortFault::Xdp(
                    why @ (Unsupported::NotBuilt(_)
                    | Unsupported::NotPermitted
                    | Unsupported::NoLiveFrames),
                ),
            ..
        }) => return Err(Skip(why.to_string())),
        opened => opened.unwrap(),
    };
    for side in [1, 0] {
        let opened = path.ports()[side].ns.run(|| opening.open(side));
        opened.unwrap().unwrap();
    }
    Ok(opening.finish())
}

/// Skipped where the receive program is not built in or the user may not load it.
fn af_xdp(path: &dyn Path, traffic: TrafficSpec) -> Result<af_xdp::AfXdp, Skip> {
    if let Some(why) = object::missing() {
        return Err(Skip(why.to_owned()));
    }
    if privilege().unwrap() != Privilege::Privileged {
        return Err(Skip("only root may load BPF programs".to_owned()));
    }
    let mut opening = af_xdp::Opening::new(specs(path), traffic, cpus(path)).unwrap();
    for side in [1, 0] {
        let opened = path.ports()[side].ns.run(|| opening.open(side));
        opened.unwrap().unwrap();
    }
    Ok(opening.finish())
}

pub fn placement() -> Placement {
    let roots = Roots::live();
    let topology = Topology::read(&roots.proc, &roots.sys).unwrap();
    let wants = Wants {
        tester: 2,
        path: 2,
        nic_node: None,
    };
    place(&topology, wants)
}

/// CPUs for the threads of a path, none where they have to share with the tester.
pub fn path_cpus() -> Vec<u32> {
    let placement = placement();
    if placement.shared {
        Vec::new()
    } else {
        placement.path
    }
}

/// The default path, for frames of up to 1518 bytes.
pub fn bridge() -> BridgePath {
    let spec = BridgeSpec {
        path_cpus: path_cpus(),
        largest_frame: size(1518),
        queues: 1,
    };
    BridgePath::build(&spec).unwrap()
}

/// The files of a namespace's interfaces; containers close them.
pub fn own_sysfs(ns: &NetNs) -> Result<NsSysfs, Skip> {
    match NsSysfs::mount(ns) {
        Err(error) if error.is_not_permitted() => Err(Skip(format!("{error}: as in a container"))),
        mounted => Ok(mounted.unwrap()),
    }
}

pub fn size(bytes: u16) -> FrameSize {
    FrameSize::new(bytes).unwrap()
}

/// Frames of 64 bytes of one flow.
pub fn traffic(direction: Direction) -> TrafficSpec {
    TrafficSpec {
        frame_size: size(64),
        direction,
        flows: 1,
        stations: 1,
        vlan: None,
        shape: nicety_model::Shape::default(),
        // Tests of other crates may send at the same time.
        mark: nicety_packet::RunMark::of(std::process::id()),
    }
}

/// A trial of `frames` frames per direction.
pub fn spec(load: Fps, frames: u64) -> TrialSpec {
    TrialSpec {
        cell: "truth".to_owned(),
        repeat: 1,
        control: None,
        index: 1,
        purpose: Purpose::Search,
        load,
        duration: Duration::from_secs_f64(frames as f64 / load.0),
        then: None,
        window: None,
    }
}

/// Runs a trial and checks what holds for every trial that the machine let run to its end. Where
/// it is too busy for the load, fewer frames are sent; those that are sent are counted.
pub fn run_checked(trials: &mut Trials<'_>, load: Fps, frames: u64) -> TrialRecord {
    run_checked_as(Purpose::Search, trials, load, frames)
}

/// The same in overload: the sender makes up for what it missed.
pub fn overloaded(trials: &mut Trials<'_>, load: Fps, frames: u64) -> TrialRecord {
    run_checked_as(Purpose::WarmUp, trials, load, frames)
}

fn run_checked_as(
    purpose: Purpose,
    trials: &mut Trials<'_>,
    load: Fps,
    frames: u64,
) -> TrialRecord {
    let spec = TrialSpec {
        purpose,
        ..spec(load, frames)
    };
    let record = trials.run(&spec, &Stop::default()).unwrap();
    assert!(
        matches!(
            record.validity,
            Validity::Valid | Validity::LoadMissed { .. }
        ),
        "{:?}",
        record.validity
    );
    let count = &record.frames;
    assert!(count.sent <= count.intended, "{count:?}");
    for stream in &record.streams {
        let count = &stream.frames;
        assert_eq!(count.received + count.lost, count.sent, "{count:?}");
        let in_bursts = &stream.loss_bursts;
        assert!(in_bursts.bursts <= count.lost && in_bursts.longest <= count.lost);
        assert_eq!(in_bursts.bursts == 0, count.lost == 0, "{stream:?}");
    }
    record
}

/// Learning frames, and a few of a first trial: what comes later starts on a quiet path.
pub fn first(trials: &mut Trials<'_>) -> TrialRecord {
    run_checked(trials, Fps(2_000.0), 100)
}

/// Lets the search of a cell have the trials it asks for; its result. The path is not known to
/// work in the sender's context.
pub fn search_cell(
    trials: &mut Trials<'_>,
    plan: CellPlan,
    tester_limit: Option<Fps>,
    engine: &str,
) -> CellResult {
    let mut cell = Cell::new(plan).unwrap();
    while let Some(step) = cell.next() {
        let spec = TrialSpec {
            index: step.index,
            purpose: step.purpose,
            duration: step.duration,
            then: step.then,
            window: step.window,
            ..spec(step.load, 0)
        };
        cell.observe(&trials.run(&spec, &Stop::default()).unwrap());
    }
    cell.finish(CellContext {
        key: CellKey {
            path: PathSpec::Bridge,
            frame_size_bytes: size(64),
            direction: Direction::Uni,
            flows: 1,
            shape: nicety_model::Shape::default(),
        },
        repeat: 1,
        control: None,
        engine: engine.to_owned(),
        tester_limit,
        line_rate: None,
        in_sender: false,
        drift: None,
        disturbance: None,
        built: None,
    })
}

/// A visit of a cell with preset `robust`, as the application makes those that others follow.
pub fn visit(trials: &mut Trials<'_>, max: Fps, engine: &str) -> CellResult {
    let plan = CellPlan::new(Settings::of(Preset::Robust, GOAL), max);
    search_cell(trials, plan.brief(), None, engine)
}

/// Skips what only root's path can do.
pub fn needs_root() -> Result<(), Skip> {
    match privilege().unwrap() {
        Privilege::Privileged => Ok(()),
        _ => Err(Skip(
            "an ordinary user cannot raise the path's threads".to_owned(),
        )),
    }
}
