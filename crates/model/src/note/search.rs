//! Notes on what the search found, and on what its number is worth.

use serde::{Deserialize, Serialize};

use super::words::{joined, there};
use crate::disturbance::Program;
use crate::{Fps, HardwareLatency, LossRatio};

notes! {
    /// What the search found, and what its number is worth.
    SearchNote {
        "N080" "interrupted" Warning
        Interrupted
            => ("interrupted before the cell had ended"),

        "N081" "broke-twice" Warning
        BrokeTwice { load_fps: Fps, why: String }
            => ("a trial at {load_fps} broke twice: {why}"),

        "N082" "no-load-in-goal" Warning
        NoLoadInGoal
            => ("the search found no load within the goal"),

        "N083" "lowest-load-lost" Warning
        LowestLoadLost { load_fps: Fps }
            => ("even the lowest load, {load_fps}, lost too much"),

        "N084" "lowest-load-unreachable" Warning
        LowestLoadUnreachable { load_fps: Fps }
            => ("the tester cannot offer even the lowest load, {load_fps}"),

        "N085" "every-load-lost" Warning
        EveryLoadLost { loss_goal: LossRatio, loss_ratio: LossRatio, load_fps: Fps }
            => ("the path loses more than the goal of {loss_goal} at every load tried: {loss_ratio} at {load_fps}"),

        "N086" "out-of-time" Warning
        OutOfTime { limit_s: u64 }
            => ("the search took longer than its {limit_s} s"),

        "N087" "cpus-taken" Warning
        CpusTaken
            => ("other programs had the CPUs at every load tried"),

        "N088" "no-path-threads" Warning
        NoPathThreads
            => ("the path has no threads of its own here and works in the sender's context"),

        "N089" "sender-held-up" Warning
        SenderHeldUp { tester_limit_fps: Fps, offered_fps: Fps }
            => ("the sender alone makes {tester_limit_fps}, on this path {offered_fps} with nothing lost: the path \
                 works in the sender's context"),

        "N090" "no-valid-confirm" Warning
        NoValidConfirm { load_fps: Option<Fps>, why: String }
            => ("no valid confirm trial{}: {why}", there(*load_fps, |load| format!(" at {load}"))),

        "N091" "unconfirmed" Caution
        Unconfirmed {
            load_fps: Fps, duration_s: f64, loss_ratio: LossRatio, loss_goal: LossRatio, held: Option<HeldBelow>,
        }
            => ("the search passed {load_fps}, but {duration_s} s at that load lost {loss_ratio} (goal {loss_goal}); {}",
                held_below(*held)),

        "N092" "near-tester-limit" Caution
        NearTesterLimit { share: f64, tester_limit_fps: Fps }
            => ("{:.0} % of the tester's own {tester_limit_fps}: the path carries at least this much", share * 100.0),

        "N093" "tester-at-most" Caution
        TesterAtMost { throughput_fps: Fps }
            => ("the tester could not offer more than about {throughput_fps} here: the path carries at least this much"),

        "N094" "line-rate" Info
        LineRate
            => ("the path carries the link's line rate"),

        "N095" "disturbed" Caution
        Disturbed { load_fps: Fps, others_cpus: Option<f64>, reached_fps: Option<Fps>, why: String }
            => ("the machine was busy{}: trials at {load_fps} were disturbed twice{}, so the throughput may be \
                 higher: {why}",
                there(*others_cpus, |cpus| format!(", other programs used {cpus:.2} CPUs")),
                there(*reached_fps, |fps| format!(", although the tester reached {fps}"))),

        "N096" "loads-left-out" Caution
        LoadsLeftOut { load_fps: Fps, why: String }
            => ("loads of {load_fps} and above left out: {why}"),

        "N097" "no-latency" Caution
        NoLatency { load_fps: Fps, why: String }
            => ("no latency at {load_fps}: {why}"),

        "N098" "hardware-latency" Info
        HardwareLatency {
            load_ratio: Option<f64>, nics_us: Option<Percentiles>, kernel_us: Option<Percentiles>,
            stamps: HardwareLatency,
        }
            => ("latency{}: {}; {}; {}",
                there(*load_ratio, |share| format!(" at {:.0} %", share * 100.0)),
                by("the NICs' clocks", *nics_us), by("the kernel's", *kernel_us), stamps.in_words()),

        "N099" "stolen" Caution
        Stolen { share: f64 }
            => ("{:.1} % of a CPU was stolen by the hypervisor", share * 100.0),

        "N100" "set-apart" Caution
        FramesSetApart { confirm: SetApart }
            => ("during the confirm trial CPUs stood still {} times and other programs had them {} times, for \
                 {:.1} ms at most; {:.1} % of its frames are left out for that, {} of which were lost",
                confirm.stalls, confirm.programs, confirm.longest_ms, confirm.share * 100.0, confirm.lost),

        "N101" "bounds-apart" Caution
        BoundsApart { bounds_fps: Option<(Fps, Fps)> }
            => ("the search's time was up before {}", match bounds_fps {
                Some((lower, upper)) => format!(
                    "its bounds were near each other: the result lies between {lower} and {upper}"),
                None => "it had an upper bound".to_owned(),
            }),

        "N102" "others" Caution
        Others { cpus: f64 }
            => ("other programs used {cpus:.2} CPUs"),

        "N103" "drift" Caution
        Drifted { drift: f64, limit: f64 }
            => ("the control cell drifted by {:.1} % (limit {:.1} %)", drift * 100.0, limit * 100.0),

        "N104" "loss-while-idle" Info
        LossWhileIdle { idle: f64 }
            => ("loss with {:.0} % idle and no CPU full: not CPU time, but queue lengths or bursts", idle * 100.0)
            + "see the ledger",

        "N105" "one-cpu-full" Info
        OneCpuFull { idle: f64, cpu: u32, who: String }
            => ("loss with {:.0} % idle: CPU {cpu} ({who}) is full", idle * 100.0),

        "N106" "stand-in" Info
        StandIn
            => ("a visit of the control cell, shown because none of the cell's own repeats has a throughput"),

        "N107" "pauses" Warning
        Pauses { duration_s: f64, load_fps: Fps, loss_ratio: LossRatio }
            => ("{duration_s} s at {load_fps} lost {loss_ratio} outside stalls of the CPUs: something pauses the path \
                 for moments") + "--preset std finds a load without that loss",

        "N108" "programs" Caution
        Programs { programs: Vec<Program> }
            => ("other programs used the CPUs: {}", named(programs))
            + "stop them, or give the machine more CPUs",

        "N109" "stood-still" Caution
        StoodStill { ms_per_s: f64 }
            => ("CPUs of tester and path stood still for {ms_per_s:.0} ms per second: the hypervisor or other \
                 programs had them"),

        "N110" "single-visit" Caution
        SingleVisit
            => ("the number comes from a single visit") + "--preset robust makes five",

        "N111" "few-visits" Caution
        FewVisits { visits: u32 }
            => ("only {visits} visits found a number") + "allow more time",

        "N112" "visits-differ" Caution
        VisitsDiffer { visits: usize }
            => ("the speed of path or CPUs differed from visit to visit; more repeats than {visits} narrow the \
                 interval"),

        "N113" "two-speeds" Warning
        TwoSpeeds { slow: SpeedGroup, fast: SpeedGroup }
            => ("the visits contradict each other: {} found {} and {} found {} frames/s",
                slow.visits, slow.span(), fast.visits, fast.span())
            + "path or CPUs have two speeds, so look for a change of clock rate, of placement or of neighbours",

        "N114" "far-apart" Caution
        FarApart { far: usize, visits: usize, far_ns: f64, near_ns: f64, far_fps: Option<f64> }
            => ("the hypervisor had the CPUs of tester and path far apart during {far} of {visits} visits, which are \
                 left out: a cache line took {far_ns:.0} instead of {near_ns:.0} ns{}",
                there(*far_fps, |fps| format!(", and the path carried {:.0} k frames/s", fps / 1e3)))
            + "pin the machine's CPUs on its host",
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
        format!("{:.0}–{:.0} k", self.low_fps / 1e3, self.high_fps / 1e3)
    }
}

fn held_below(held: Option<HeldBelow>) -> String {
    held.map_or_else(
        || "no lower load that was tried held".to_owned(),
        |held| format!("{} held ({} lost)", held.load_fps, held.loss_ratio),
    )
}

fn by(whose: &str, latency: Option<Percentiles>) -> String {
    match latency {
        Some(l) => format!("p50 {:.1}, p99 {:.1} µs by {whose}", l.p50, l.p99),
        None => format!("none by {whose}"),
    }
}

fn named(programs: &[Program]) -> String {
    let one = |p: &Program| format!("{} (PID {}) {:.1}", p.name, p.pid, p.cpus);
    joined(&programs.iter().map(one).collect::<Vec<_>>(), ", ")
}
