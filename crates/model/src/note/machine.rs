//! Notes on the machine: CPUs, stalls, rests, engines, time stamps and the tester's limits.

use serde::{Deserialize, Serialize};

use super::words::{cpus, joined, there};
use crate::{Direction, FrameSize};

notes! {
    /// CPUs, stalls, rests, engines and the tester's limits.
    MachineNote {
        "N001" "cpus" Info
        Cpus { count: usize, transmit: Vec<u32>, receive: Vec<u32>, path: Vec<u32> }
            => ("{}: {}; the path has {}", how_many(*count), tester(transmit, receive), cpus(path)),

        "N002" "cpus-shared" Caution
        CpusShared { count: usize, cpus: Vec<u32> }
            => ("{}: transmit, receive and the path share {}; rates are those of all three together",
                how_many(*count), self::cpus(cpus)),

        "N003" "siblings" Caution
        Siblings { cores: Vec<Vec<u32>>, across: bool }
            => ("{} are threads of one physical core: {}", each(cores), effect(*across)),

        "N004" "nodes-crossed" Caution
        NodesCrossed { nodes: Vec<u32> }
            => ("tester and path lie on NUMA nodes {}: frames cross between them", crate::cpu_list::format_cpu_list(nodes)),

        "N005" "nic-node-unused" Caution
        NicNodeUnused { nic_node: u32, nodes: Vec<u32> }
            => ("the NIC is on NUMA node {nic_node}, but no CPU there may be used: everything runs on node {}",
                crate::cpu_list::format_cpu_list(nodes)),

        "N006" "path-cpus-shared" Caution
        PathCpusShared { workers: usize, cpus: Vec<u32> }
            => ("the path's {workers} workers share {}", self::cpus(cpus)),

        "N007" "quota" Warning
        Quota { cpus: f64 }
            => ("the control group may use {cpus:.2} CPUs' worth of time: pinned threads are stopped \
                 when it is used up") + "raise its CPU limit for a steady measurement",

        "N008" "isolated" Info
        Isolated { cpus: Vec<u32> }
            => ("isolated CPUs {} are outside the affinity of this process", crate::cpu_list::format_cpu_list(cpus))
            + "start it with `taskset -c` to let it use them",

        "N009" "housekeeping" Caution
        Housekeeping { cpu: u32 }
            => ("CPU {cpu} is in use here and does the system's housekeeping too"),

        "N010" "no-cpu-left" Caution
        NoCpuLeft
            => ("a virtual machine with no CPU left over: its hypervisor may stop CPUs that are never idle"),

        "N011" "user-namespace" Caution
        UserNamespace
            => ("ordinary user: measured in a user namespace; the path's kernel threads cannot be pinned \
                 apart from the tester, and existing interfaces cannot be used"),

        "N012" "preset-std" Info
        PresetStd
            => ("preset std: this machine is not virtual and its CPUs did not stand still")
            + "--preset robust judges loads by windows",

        "N013" "preset-robust" Info
        PresetRobust { stalls_ms_per_s: Option<f64> }
            => ("preset robust: {}", robust(*stalls_ms_per_s)) + "--preset std judges whole trials",

        "N014" "rests" Info
        Rests { rest: Option<RestTimes>, tried: Vec<RestTried> }
            => ("{}{}", rests(*rest), measured(tried)),

        "N015" "stalls-unwatched" Warning
        StallsUnwatched { why: String }
            => ("what is lost while the hypervisor stops a CPU, or other programs have it, counts as lost by \
                 the path: {why}"),

        "N016" "engine-slower" Caution
        EngineSlower { engine: String, refused: Vec<Refused> }
            => ("engine: {engine}; {}", refusals(refused)),

        "N017" "engine-on-path-cpu" Caution
        EngineOnPathCpu { engine: String }
            => ("engine {engine}: frames are counted by a program on the CPU that delivers to the port, \
                 which is the path's own between veths and where its interrupts go for a NIC; between \
                 veths it also makes the socket buffer of every frame, which af_packet makes on the \
                 tester's CPU. The path's rate has these costs in it: with af_packet, as an ordinary \
                 user has it, it can be up to a quarter higher"),

        "N018" "engine-by-queues" Info
        EngineByQueues { engine: String }
            => ("engine of the cells with host_queues: {engine}, the only one that sends a frame to the \
                 receive queue that its flow has"),

        "N019" "tester-lossy" Caution
        TesterLossy { frame_size_bytes: FrameSize, direction: Direction, engine: Option<String> }
            => ("the tester alone lost frames at every load tried{}, {frame_size_bytes} bytes, {direction}: \
                 its limit is the most that it counted", with(engine)),

        "N020" "tester-silent" Warning
        TesterSilent { frame_size_bytes: FrameSize, direction: Direction, engine: Option<String> }
            => ("the tester alone{} counted nothing with {frame_size_bytes} bytes, {direction}", with(engine)),

        "N021" "tester-unmeasured" Warning
        TesterUnmeasured {
            frame_size_bytes: FrameSize, direction: Direction, engine: Option<String>, error: String,
        }
            => ("the tester alone{} was not measured with {frame_size_bytes} bytes, {direction}: {error}",
                with(engine)),

        "N022" "stamps-hardware" Info
        StampsHardware { nics: String }
            => ("time stamps: of every frame in software, CLOCK_MONOTONIC of this host; of probes beside \
                 the load of latency trials by the NICs ({nics})"),

        "N023" "stamps-software" Info
        StampsSoftware { why: String }
            => ("time stamps: made in software at both ends, CLOCK_MONOTONIC of this host; hardware time \
                 stamps are not used: {why}"),
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
    match count {
        1 => "1 CPU".to_owned(),
        _ => format!("{count} CPUs"),
    }
}

fn tester(transmit: &[u32], receive: &[u32]) -> String {
    match transmit == receive {
        true => format!("transmit and receive share {}", cpus(transmit)),
        false => format!("transmit has {}, receive {}", cpus(transmit), cpus(receive)),
    }
}

fn each(cores: &[Vec<u32>]) -> String {
    let cores: Vec<String> = cores.iter().map(|core| cpus(core)).collect();
    cores.join(", and ")
}

fn effect(across: bool) -> &'static str {
    match across {
        true => "the tester and the path slow each other",
        false => "they slow each other, though not across tester and path",
    }
}

fn robust(stalls_ms_per_s: Option<f64>) -> String {
    stalls_ms_per_s.map_or_else(
        || "this is a virtual machine, whose hypervisor may stop CPUs".to_owned(),
        |ms| {
            format!(
                "CPUs stood still for {ms:.0} ms per second before the run, which whole trials would count as the path's loss"
            )
        },
    )
}

fn times(rest: RestTimes) -> String {
    format!("{} ms in every {} ms", rest.length_ms, rest.period_ms)
}

fn rests(rest: Option<RestTimes>) -> String {
    match rest {
        Some(rest) => format!(
            "senders rest {}, faster in between, except at loads that leave the path's CPUs idle for more than 10 %",
            times(rest)
        ),
        None => "senders take no rests".to_owned(),
    }
}

fn measured(tried: &[RestTried]) -> String {
    let figure = |tried: &RestTried| match tried.rest {
        Some(rest) => format!("{:.1} with rests of {}", tried.lost_ms_per_s, times(rest)),
        None => format!("{:.1} ms per second without rests", tried.lost_ms_per_s),
    };
    let figures: Vec<String> = tried.iter().map(figure).collect();
    match figures.as_slice() {
        [] => "; what the hypervisor does was not measured".to_owned(),
        figures => format!(
            ": with all CPUs at work, the one that stood still most lost {}",
            joined(figures, ", ")
        ),
    }
}

fn refusals(refused: &[Refused]) -> String {
    let why = |refused: &Refused| {
        format!(
            "the faster {} was not taken: {}",
            refused.engine, refused.why
        )
    };
    joined(&refused.iter().map(why).collect::<Vec<_>>(), "; ")
}

fn with(engine: &Option<String>) -> String {
    there(engine.as_ref(), |engine| format!(" with {engine}"))
}
