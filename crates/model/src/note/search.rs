//! Notes on what the search found, and on what its number is worth.

use serde::{Deserialize, Serialize};

use super::words::{joined, there};
use crate::disturbance::Program;
use crate::number::{self, frames_per_s as rate, loss_ratio as loss, plural};
use crate::{Fps, HardwareLatency, LossRatio};

notes! {
    /// What the search found, and what its number is worth.
    SearchNote {
        "N079" "token-bucket" Info Condition
        TokenBucket { rate_fps: Fps, frames: u64 }
            => ("A token bucket: {} or more pass at once, and then {}. The result is that rate.",
                plural(*frames, "frame"), rate(*rate_fps)),

        "N080" "interrupted" Warning Problem
        Interrupted
            => ("The run was interrupted before this result was finished.") + "Continue with --resume.",

        "N081" "broke-twice" Warning Problem
        BrokeTwice { load_fps: Fps, why: String }
            => ("A trial at {} failed twice: {why}.", rate(*load_fps)),

        "N082" "no-load-in-goal" Warning Problem
        NoLoadInGoal
            => ("Every load tried lost more than the loss goal allows.")
            + "See where frames were lost, or allow a higher loss_ratio.",

        "N083" "lowest-load-lost" Warning Problem
        LowestLoadLost { load_fps: Fps }
            => ("Even the lowest load, {}, lost more than the loss goal allows.", rate(*load_fps))
            + "See where frames were lost, or allow a higher loss_ratio.",

        "N084" "lowest-load-unreachable" Warning Problem
        LowestLoadUnreachable { load_fps: Fps }
            => ("The tester cannot send even the lowest load, {}.", rate(*load_fps))
            + "Give the tester a CPU of its own.",

        "N085" "every-load-lost" Warning Problem
        EveryLoadLost { loss_goal: LossRatio, loss_ratio: LossRatio, load_fps: Fps }
            => ("Every load tried lost more than the goal of {}. {} lost {}.",
                loss(*loss_goal), rate(*load_fps), loss(*loss_ratio))
            + "See where frames were lost, or allow a higher loss_ratio.",

        "N086" "out-of-time" Warning Problem
        OutOfTime { limit_s: u64 }
            => ("The search took longer than its limit of {limit_s} s.")
            + "Repeat on a quieter machine, or with --preset robust.",

        "N087" "cpus-taken" Warning Problem
        CpusTaken
            => ("Other programs or the hypervisor had the CPUs at the loads tried.")
            + "Stop those programs, or give the machine more CPUs.",

        "N088" "no-path-threads" Warning Problem
        NoPathThreads
            => ("The path has no threads of its own, so the sender's CPU does its work.")
            + "Run as root on Linux 5.12 or newer; a container needs --pid=host.",

        "N089" "sender-held-up" Warning Problem
        SenderHeldUp { tester_limit_fps: Fps, offered_fps: Fps }
            => ("The path slows the sender down: alone it sends {}, here {} without loss.",
                rate(*tester_limit_fps), rate(*offered_fps)),

        "N090" "no-valid-confirm" Warning Problem
        NoValidConfirm { load_fps: Option<Fps>, why: String }
            => ("The longer trial{} was disturbed twice: {why}.",
                there(*load_fps, |load| format!(" at {}", rate(load)))),

        "N091" "unconfirmed" Caution Problem
        Unconfirmed {
            load_fps: Fps, duration_s: f64, loss_ratio: LossRatio, loss_goal: LossRatio, held: Option<HeldBelow>,
        }
            => ("The search found {}, but {duration_s} s at that load lost {} (goal {}). {}",
                rate(*load_fps), loss(*loss_ratio), loss(*loss_goal), held_below(*held)),

        "N092" "near-tester-limit" Caution Problem
        NearTesterLimit { share: f64, tester_limit_fps: Fps }
            => ("The result is {:.0} % of what the tester can send ({}). The path carries at least this much.",
                share * 100.0, rate(*tester_limit_fps))
            + "Use a faster engine, or more CPUs for the tester.",

        "N093" "tester-at-most" Caution Problem
        TesterAtMost { throughput_fps: Fps }
            => ("The tester cannot send more than about {} here. The path carries at least this much.",
                rate(*throughput_fps))
            + "Use a faster engine, or more CPUs for the tester.",

        "N094" "line-rate" Info Condition
        LineRate
            => ("The path carries the link's line rate."),

        "N095" "disturbed" Caution Problem
        Disturbed { load_fps: Fps, others_cpus: Option<f64>, reached_fps: Option<Fps>, why: String }
            => ("The machine was busy{}. Trials at {} were disturbed twice{}: {why}. The throughput may be higher.",
                there(*others_cpus, |cpus| format!(": other programs used {cpus:.2} CPUs")), rate(*load_fps),
                there(*reached_fps, |fps| format!(", although the tester reached {}", rate(fps))))
            + "Repeat on a quieter machine.",

        "N096" "loads-left-out" Caution Problem
        LoadsLeftOut { load_fps: Fps, why: String }
            => ("The tester could not send {} or more: {why}.", rate(*load_fps)),

        "N097" "no-latency" Caution Problem
        NoLatency { load_fps: Fps, why: String }
            => ("Latency at {} was not measured: {why}.", rate(*load_fps)),

        "N098" "hardware-latency" Info Condition
        HardwareLatency {
            load_ratio: Option<f64>, nics_us: Option<Percentiles>, kernel_us: Option<Percentiles>,
            stamps: HardwareLatency,
        }
            => ("Latency{}: {}; {}. Stamps: {}.",
                there(*load_ratio, |share| format!(" at {:.0} % load", share * 100.0)),
                by("the NICs' clocks", *nics_us), by("the kernel's", *kernel_us), stamps.in_words()),

        "N099" "stolen" Caution Problem
        Stolen { share: f64 }
            => ("The hypervisor took {:.1} % of a CPU.", share * 100.0)
            + "Repeat, or use a host without neighbours.",

        "N100" "set-apart" Caution Problem
        FramesSetApart { confirm: SetApart }
            => ("In the longer trial {}, for {:.1} ms at most. The {:.1} % of frames sent then do not count; {} of \
                 them were lost.", stopped(*confirm), confirm.longest_ms, confirm.share * 100.0, confirm.lost),

        "N101" "bounds-apart" Caution Problem
        BoundsApart { bounds_fps: Option<(Fps, Fps)> }
            => ("The search ran out of time; throughput is {}.", match bounds_fps {
                Some((lower, upper)) => format!("between {} and {}", rate(*lower), rate(*upper)),
                None => "at least the value shown".to_owned(),
            }) + "Repeat on a quieter machine.",

        "N102" "others" Caution Problem
        Others { cpus: f64 }
            => ("Other programs used {cpus:.2} CPUs.") + "Stop those programs, or give the machine more CPUs.",

        "N103" "drift" Caution Problem
        Drifted { drift: f64, limit: f64 }
            => ("The control result changed by {:.1} % during the run (limit {:.1} %).", drift * 100.0, limit * 100.0)
            + "Repeat on a quieter machine with a fixed clock rate.",

        "N104" "loss-while-idle" Info Condition
        LossWhileIdle { idle: f64 }
            => ("Frames were lost with CPUs {:.0} % idle and none full. A queue was too short, or loads came in \
                 bursts.", idle * 100.0),

        "N105" "one-cpu-full" Info Condition
        OneCpuFull { idle: f64, cpu: u32, who: String }
            => ("CPU {cpu} ({who}) was full while all CPUs together were {:.0} % idle.", idle * 100.0),

        "N106" "stand-in" Info Condition
        StandIn
            => ("No repeat of this result has a throughput, so a visit of the control result stands in."),

        "N107" "pauses" Warning Problem
        Pauses { duration_s: f64, load_fps: Fps, loss_ratio: LossRatio }
            => ("{duration_s} s at {} lost {} although no CPU was stopped. Something pauses the path briefly.",
                rate(*load_fps), loss(*loss_ratio))
            + "Use --preset std to find a load without that loss.",

        "N108" "programs" Caution Problem
        Programs { programs: Vec<Program> }
            => ("Other programs used the CPUs: {}.", named(programs))
            + "Stop those programs, or give the machine more CPUs.",

        "N109" "stood-still" Caution Problem
        StoodStill { ms_per_s: f64 }
            => ("The hypervisor or other programs stopped CPUs of tester and path for {ms_per_s:.0} ms per second.")
            + "Use a quieter host, or dedicated CPUs.",

        "N110" "single-visit" Caution Problem
        SingleVisit
            => ("This result was measured once.") + "Use --preset robust, which makes several.",

        "N111" "few-visits" Caution Problem
        FewVisits { visits: u32 }
            => ("Only {} found a number.", plural(*visits, "visit")) + "Allow more time.",

        "N112" "visits-differ" Caution Problem
        VisitsDiffer { visits: usize }
            => ("The {visits} visits found different speeds.") + "Set more repeats to narrow the interval.",

        "N113" "two-speeds" Warning Problem
        TwoSpeeds { slow: SpeedGroup, fast: SpeedGroup }
            => ("The visits contradict each other: {} found {} and {} found {} frames/s.",
                slow.visits, slow.span(), fast.visits, fast.span())
            + "Look for a change of clock rate, CPU placement or neighbours.",

        "N114" "far-apart" Caution Problem
        FarApart { far: usize, visits: usize, far_ns: f64, near_ns: f64, far_fps: Option<f64> }
            => ("In {far} of {visits} visits the hypervisor ran this VM's CPUs far apart: a cache line took \
                 {far_ns:.0} ns instead of {near_ns:.0}. These visits do not count{}.",
                there(*far_fps, |fps| format!("; the path carried {} in them", rate(Fps(fps)))))
            + "Pin the VM's CPUs on its host.",

        "N115" "nothing-arrived" Warning Problem
        NothingArrived { frames: u64 }
            => ("None of {} arrived: the path carries nothing.", plural(*frames, "frame"))
            + "nicety trace shows how far one gets. Look at VLAN, MTU, neighbour entries, and for a bridge port that STP blocks.",

        "N116" "repeated" Warning Problem
        Repeated { share: f64, receiver_fps: Fps }
            => ("{} of the frames arrived again: the receiver had {}.", number::share(*share), rate(*receiver_fps))
            + "Look for a mirror, a hub or a loop; nicety trace shows where a frame goes.",

        "N117" "frames-damaged" Warning Problem
        Damaged { share: LossRatio }
            => ("{} of the frames arrived damaged.", loss(*share))
            + "Look at checksum offload, drivers and cables.",

        "N118" "reordered" Warning Problem
        Reordered { share: LossRatio }
            => ("{} of the frames of a single flow arrived out of order.", loss(*share))
            + "Look for a switch or a bond that spreads frames, not flows.",

        "N119" "taken-away" Caution Problem
        TakenAway { trials: u32, stopped: u32 }
            => ("{stopped} of {} with a little more failed because a CPU was taken away. The path may carry more.",
                plural(*trials, "trial"))
            + "Stop other programs, give a virtual machine CPUs of its own, or repeat at a calmer time.",
    }
}

/// A lower load that held.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeldBelow {
    /// The load.
    pub load_fps: Fps,
    /// What it lost.
    pub loss_ratio: LossRatio,
}

/// Two percentiles of a latency, in µs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// What was left out of a trial because CPUs stood still.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SetApart {
    /// Times that a CPU stood still.
    pub stalls: u64,
    /// Times that another program had one.
    pub programs: u64,
    /// Longest of them in ms.
    pub longest_ms: f64,
    /// Share of the frames.
    pub share: f64,
    /// Of these frames, how many were lost.
    pub lost: u64,
}

/// Visits that found nearly the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SpeedGroup {
    /// How many.
    pub visits: usize,
    /// The lowest.
    pub low_fps: f64,
    /// The highest.
    pub high_fps: f64,
}

impl SpeedGroup {
    fn span(&self) -> String {
        number::interval((self.low_fps, self.high_fps))
    }
}

fn held_below(held: Option<HeldBelow>) -> String {
    held.map_or_else(
        || "No lower load met the goal for as long.".to_owned(),
        |held| {
            let (load, lost) = (rate(held.load_fps), loss(held.loss_ratio));
            format!("{load} met the goal for as long (lost {lost}).")
        },
    )
}

fn by(whose: &str, latency: Option<Percentiles>) -> String {
    match latency {
        Some(l) => format!("p50 {:.1} µs and p99 {:.1} µs by {whose}", l.p50, l.p99),
        None => format!("none by {whose}"),
    }
}

/// `CPUs were stopped 3 times and used by other programs 2 times`
fn stopped(confirm: SetApart) -> String {
    let parts = [
        (confirm.stalls, "stopped"),
        (confirm.programs, "used by other programs"),
    ];
    let told: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, how)| format!("{how} {}", plural(*count, "time")))
        .collect();
    if told.is_empty() {
        "CPUs were stopped".to_owned()
    } else {
        format!("CPUs were {}", joined(&told, " and "))
    }
}

/// `rustc (PID 812, 0.9 CPU)`
fn named(programs: &[Program]) -> String {
    let one = |p: &Program| format!("{} (PID {}, {:.1} CPU)", p.name, p.pid, p.cpus);
    joined(&programs.iter().map(one).collect::<Vec<_>>(), ", ")
}
