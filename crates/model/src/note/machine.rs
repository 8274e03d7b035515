//! Notes on the machine: CPUs, stalls, rests, engines, time stamps and the tester's limits.

use serde::{Deserialize, Serialize};

use super::words::{capital, cpus, joined, there};
use crate::number::plural;
use crate::{Direction, FrameSize};

notes! {
    /// CPUs, stalls, rests, engines and the tester's limits.
    MachineNote {
        "N001" "cpus" Info Condition
        Cpus { count: usize, transmit: Vec<u32>, receive: Vec<u32>, path: Vec<u32> }
            => ("{}: {}; the path runs on {}.", how_many(*count), tester(transmit, receive), cpus(path)),

        "N002" "cpus-shared" Caution Problem
        CpusShared { count: usize, cpus: Vec<u32> }
            => ("{}: sender, receiver and path share {}, so the rates are those of all three together.",
                how_many(*count), self::cpus(cpus))
            + "Give the machine two CPUs or more.",

        "N003" "siblings" Caution Problem
        Siblings { cores: Vec<Vec<u32>>, across: bool }
            => ("{} are threads of one physical core. {}", each(cores), effect(*across)),

        "N004" "nodes-crossed" Caution Problem
        NodesCrossed { nodes: Vec<u32> }
            => ("Tester and path run on NUMA nodes {}, so frames cross between nodes.",
                crate::cpu_list::format_cpu_list(nodes))
            + "Allow enough CPUs of one node.",

        "N005" "nic-node-unused" Caution Problem
        NicNodeUnused { nic_node: u32, nodes: Vec<u32> }
            => ("The NIC is on NUMA node {nic_node}, but everything runs on node {}: no CPU of the NIC's node \
                 is allowed.", crate::cpu_list::format_cpu_list(nodes))
            + "Start nicety with taskset -c and CPUs of the NIC's node.",

        "N006" "path-cpus-shared" Caution Problem
        PathCpusShared { workers: usize, cpus: Vec<u32> }
            => ("The path's {workers} workers share {}.", self::cpus(cpus))
            + "Allow more CPUs, or ask for fewer queues or vCPUs.",

        "N007" "quota" Warning Problem
        Quota { cpus: f64 }
            => ("The control group may use {cpus:.2} CPUs. Threads are stopped when that is used up, which looks \
                 like loss.") + "Raise its CPU limit for the measurement.",

        "N008" "isolated" Info Condition
        Isolated { cpus: Vec<u32> }
            => ("Isolated CPUs {} are not used: they are outside the affinity of this process.",
                crate::cpu_list::format_cpu_list(cpus))
            + "Start nicety with taskset -c to use them.",

        "N009" "housekeeping" Caution Condition
        Housekeeping { cpu: u32 }
            => ("The run uses CPU {cpu}, where the system also does its housekeeping."),

        "N010" "no-cpu-left" Caution Problem
        NoCpuLeft
            => ("This VM has no spare CPU, so the hypervisor may stop CPUs that are never idle.")
            + "Give it one more CPU.",

        "N011" "user-namespace" Caution Problem
        UserNamespace
            => ("nicety runs as an ordinary user. The path's threads may share CPUs with the tester, and \
                 existing interfaces cannot be used.") + "Run it as root for steady results.",

        "N012" "preset-std" Info Condition
        PresetStd
            => ("Preset std was chosen: this is not a VM and its CPUs were never stopped.")
            + "--preset robust judges loads by short windows.",

        "N013" "preset-robust" Info Condition
        PresetRobust { stalls_ms_per_s: Option<f64> }
            => ("Preset robust was chosen: {}", robust(*stalls_ms_per_s))
            + "--preset std judges whole trials.",

        "N014" "rests" Info Condition
        Rests { rest: Option<RestTimes>, tried: Vec<RestTried> }
            => ("{} {}", rests(*rest), measured(tried)),

        "N015" "stalls-unwatched" Warning Problem
        StallsUnwatched { why: String }
            => ("nicety cannot see when the hypervisor or other programs stop a CPU ({why}). Frames lost then count \
                 as lost by the path."),

        "N016" "engine-slower" Caution Problem
        EngineSlower { engine: String, refused: Vec<Refused> }
            => ("The engine is {engine}. {}", refusals(refused)),

        "N017" "engine-on-path-cpu" Caution Condition
        EngineOnPathCpu { engine: String }
            => ("Engine {engine} counts frames on the CPU that delivers to the receiving port. Between veths that is \
                 the path's own CPU, so the path is slower by up to a quarter.")
            + "Compare runs of one engine only.",

        "N018" "engine-by-queues" Info Condition
        EngineByQueues { engine: String }
            => ("Results with host_queues use the engine {engine}. It is the only one that sends a flow's frames \
                 to the flow's own receive queue."),

        "N019" "tester-lossy" Caution Problem
        TesterLossy { frame_size_bytes: FrameSize, direction: Direction, engine: Option<String> }
            => ("The tester alone{} lost frames at every load tried ({frame_size_bytes} bytes, {direction}). \
                 Its limit is the highest rate that it counted.", with(engine))
            + "Measure on a quieter machine.",

        "N020" "tester-silent" Warning Problem
        TesterSilent { frame_size_bytes: FrameSize, direction: Direction, engine: Option<String> }
            => ("The tester alone{} received no frame ({frame_size_bytes} bytes, {direction}).", with(engine))
            + "Check this host's firewall, or try another engine.",

        "N021" "tester-unmeasured" Warning Problem
        TesterUnmeasured {
            frame_size_bytes: FrameSize, direction: Direction, engine: Option<String>, error: String,
        }
            => ("The tester alone{} was not measured ({frame_size_bytes} bytes, {direction}): {error}.",
                with(engine)),

        "N022" "stamps-hardware" Info Condition
        StampsHardware { nics: String }
            => ("Latency has two sources. The kernel's clock stamps every frame; the NICs ({nics}) stamp probes \
                 beside the load."),

        "N023" "stamps-software" Info Condition
        StampsSoftware { why: String }
            => ("Time stamps are made in software at both ends. Hardware time stamps are not used: {why}."),

        "N024" "engine-by-traffic" Info Condition
        EngineByTraffic { engine: String }
            => ("Mixes of sizes, IPv6, TCP, DSCP, VLAN tags of the plan, and flows by popularity use the engine \
                 {engine}. The other engines do not send such frames."),

        "N025" "engine-by-recovery" Info Condition
        EngineByRecovery { engine: String }
            => ("The engine is {engine}, because it can lower its load within a trial, as system recovery needs it."),

        "N026" "priority" Info Condition
        Priority { session: bool, real_time: bool }
            => ("Tester and path run before other programs: highest weight, slices of 0.1 ms{}.",
                raised(*session, *real_time)),

        "N027" "no-priority" Caution Problem
        NoPriority
            => ("Programs of other control groups have as much of the tester's CPUs as it has.")
            + "Start it with systemd-run --scope --slice=-.slice --property=CPUWeight=10000.",
    }
}

/// What else puts the tester before other programs.
fn raised(session: bool, real_time: bool) -> &'static str {
    if session {
        ", and this session raised until the run ends"
    } else if real_time {
        ", and real-time priority for the tester"
    } else {
        ""
    }
}

/// Rests of the senders.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RestTimes {
    /// Length of one in ms.
    pub length_ms: f64,
    /// Time from one to the next in ms.
    pub period_ms: f64,
}

/// How still the CPUs stood with all of them at work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RestTried {
    /// With these rests, or with none.
    pub rest: Option<RestTimes>,
    /// Time lost by the CPU that lost most, in ms per second.
    pub lost_ms_per_s: f64,
}

/// A faster engine that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The engine.
    pub engine: String,
    /// Why not.
    pub why: String,
}

fn how_many(count: usize) -> String {
    plural(count, "CPU")
}

fn tester(transmit: &[u32], receive: &[u32]) -> String {
    if transmit == receive {
        format!("sender and receiver share {}", cpus(transmit))
    } else {
        format!(
            "the sender runs on {}, the receiver on {}",
            cpus(transmit),
            cpus(receive)
        )
    }
}

fn each(cores: &[Vec<u32>]) -> String {
    let cores: Vec<String> = cores.iter().map(|core| cpus(core)).collect();
    cores.join(", and ")
}

fn effect(across: bool) -> &'static str {
    if across {
        "The tester and the path slow each other."
    } else {
        "They slow each other, but not across tester and path."
    }
}

fn robust(stalls_ms_per_s: Option<f64>) -> String {
    stalls_ms_per_s.map_or_else(
        || "this is a VM, whose hypervisor may stop CPUs.".to_owned(),
        |ms| format!("before the run, CPUs were stopped for {ms:.0} ms per second."),
    )
}

fn times(rest: RestTimes) -> String {
    format!("{} ms in every {} ms", rest.length_ms, rest.period_ms)
}

fn rests(rest: Option<RestTimes>) -> String {
    match rest {
        Some(rest) => format!(
            "This VM has no spare CPU, so the sender pauses {} to avoid being throttled by the hypervisor. \
             Loads are averages.",
            times(rest)
        ),
        None => "This VM has no spare CPU, but the sender needs no pauses.".to_owned(),
    }
}

fn measured(tried: &[RestTried]) -> String {
    let figure = |tried: &RestTried| match tried.rest {
        Some(rest) => format!(
            "{:.1} % with pauses of {}",
            tried.lost_ms_per_s / 10.0,
            times(rest)
        ),
        None => format!("{:.1} % without pauses", tried.lost_ms_per_s / 10.0),
    };
    let figures: Vec<String> = tried.iter().map(figure).collect();
    match figures.as_slice() {
        [] => "What the hypervisor does was not measured.".to_owned(),
        figures => format!(
            "Time that the worst CPU lost before the run: {}.",
            joined(figures, ", ")
        ),
    }
}

fn refusals(refused: &[Refused]) -> String {
    let why = |refused: &Refused| {
        let why = &refused.why;
        format!("The faster {} was refused: {why}.", refused.engine)
    };
    capital(&joined(&refused.iter().map(why).collect::<Vec<_>>(), " "))
}

fn with(engine: &Option<String>) -> String {
    there(engine.as_ref(), |engine| format!(" with {engine}"))
}
