//! What became of every frame that a trial lost, found by its number.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::built::Passage;
use crate::hop::HopReport;
use crate::keywords::{instead, keywords};
use crate::loss::LossEntry;
use crate::trial::{Purpose, TrialRecord};

keywords! {
    /// Whether a run finds out what became of every lost frame.
    FateMode {
        /// In trials of their own after the search, where the kernel can tell.
        Auto = "auto",
        /// Never.
        Off = "off",
        /// As `auto`; the run is refused where the kernel cannot tell.
        Drops = "drops",
        /// As `drops`; these trials, and another at the first load whose latency is measured, find out how long frames are where.
        Hops = "hops",
    }
}

// The macro makes the enum, and no default in it.
#[allow(clippy::derivable_impls)]
impl Default for FateMode {
    fn default() -> Self {
        Self::Auto
    }
}

impl FromStr for FateMode {
    type Err = UnknownFateMode;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::of(word).ok_or_else(|| UnknownFateMode {
            word: word.to_owned(),
            fix: instead(word, Self::WORDS),
        })
    }
}

/// An unknown word.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown way to follow lost frames {word:?}; {fix}")]
pub struct UnknownFateMode {
    /// The word as given.
    pub word: String,
    /// What to write instead.
    pub fix: String,
}

/// The trial that a trial of fates repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FateOf {
    /// The lowest search trial above the throughput that lost too much.
    Overload,
    /// The confirm trial.
    Confirm,
    /// The first trial of latency: how long frames are where.
    Latency,
}

/// Why frames were lost. Unless it says otherwise, each of these frames was found by its number.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum FateCause {
    /// The kernel threw them away (its tracepoint `kfree_skb`).
    Dropped {
        /// Interface the frame was at; absent where the kernel does not say.
        device: Option<String>,
        /// Function of the kernel; absent where symbols are hidden.
        function: Option<String>,
        /// The kernel's reason without its prefix, as in `QDISC_DROP`; absent before Linux 5.17.
        reason: Option<String>,
    },
    /// The ring behind the sending port refused XDP frames: no tracepoint sees these, the engine
    /// counts them.
    Refused {
        /// The port.
        device: String,
    },
    /// They reached the receiving port, where the tester's own socket was full.
    TesterSocket {
        /// The port.
        device: String,
    },
    /// No tracepoint tells of XDP frames that a program drops, and this interface of the path carries a
    /// program: it may have dropped all that nothing else explains.
    Program {
        /// The interface.
        device: String,
    },
    /// XDP lost them where no tracepoint shows the frame: they were counted, which they were is not known.
    Xdp {
        /// The interface, or `CPU 3` for the queue of a CPU.
        device: String,
        /// What happened.
        event: XdpEvent,
    },
    /// GRO had merged them with the frame before: their number is known, not which they were.
    Merged,
    /// A cause after the first 254.
    Others,
    /// They had numbers beyond those that are kept.
    Beyond,
    /// Of a trial both ways: their cause was found for frames of either way together. The ledger of the whole trial
    /// names it.
    EitherWay,
}

/// How XDP loses frames without a trace of each.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum XdpEvent {
    /// The transmit to the interface took fewer than were redirected to it (`xdp_devmap_xmit`).
    TransmitRefused,
    /// A program at the interface redirected to where nothing is (`xdp_redirect_err`, `xdp_redirect_map_err`).
    RedirectFailed,
    /// A program at the interface ended wrongly, or its frame could not be sent (`xdp_exception`).
    Exception,
    /// The queue of a CPU was full (`xdp_cpumap_enqueue`).
    CpuFull,
}

impl XdpEvent {
    fn words(self) -> &'static str {
        match self {
            // As the interface's own counter is called.
            Self::TransmitRefused => "tx_dropped",
            Self::RedirectFailed => "XDP redirect",
            Self::Exception => "XDP exception",
            Self::CpuFull => "XDP queue",
        }
    }
}

/// XDP frames that were lost at a place during a trial, of any frames of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct XdpCount {
    /// The interface, or `CPU 3`.
    pub device: String,
    /// What happened.
    pub event: XdpEvent,
    /// Frames.
    pub frames: u64,
}

impl FateCause {
    /// Place of a ledger's line: `d0 veth_xmit`, `a tx_dropped`.
    pub fn place(&self) -> String {
        match self {
            Self::Dropped {
                device,
                function,
                reason,
            } => {
                let at = device.as_deref().unwrap_or("kernel");
                let what = function.as_deref().or(reason.as_deref());
                format!("{at} {}", what.unwrap_or("kfree_skb"))
            }
            // As the interface's own counter is called.
            Self::Refused { device } => format!("{device} tx_dropped"),
            Self::TesterSocket { .. } => "tester receive ring".to_owned(),
            Self::Program { device } => format!("{device} XDP program"),
            Self::Xdp { device, event } => format!("{device} {}", event.words()),
            Self::Merged => "merged frames".to_owned(),
            Self::Others => "other causes".to_owned(),
            Self::Beyond => "numbers not kept".to_owned(),
            Self::EitherWay => "either way".to_owned(),
        }
    }
}

/// What a trial of fates knows beside its loss ledger.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FateReport {
    /// Frames that the kernel threw away, copies and repeated tries included: more than were lost.
    pub events: u64,
    /// Events that the program did not see because it was interrupted by them; of any frames, not only
    /// of lost ones.
    #[serde(default)]
    pub missed: u64,
    /// Lost frames without a cause.
    pub unexplained: u64,
    /// What the interfaces' own counters say, to check the ledger by.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub counters: Vec<LossEntry>,
    /// XDP frames that were lost without a trace of each, by the kernel's own tracepoints: a check too. The tester's
    /// port is among them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub xdp: Vec<XdpCount>,
    /// How long sampled frames were where; absent where that was not looked for, and of trials both ways.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hops: Option<HopReport>,
    /// Of a trial both ways, each of them: A to B, then B to A. Empty in older runs.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub ways: Vec<WayFate>,
}

/// One way of a trial both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// From port A to port B.
    AToB,
    /// From port B to port A.
    BToA,
}

impl Way {
    /// Both, by the number of their stream.
    pub const BOTH: [Self; 2] = [Self::AToB, Self::BToA];

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::AToB => "A to B",
            Self::BToA => "B to A",
        }
    }
}

/// What became of the frames of one way in a trial both ways.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WayFate {
    /// Which way.
    pub way: Way,
    /// Frames sent.
    pub sent: u64,
    /// Frames lost.
    pub lost: u64,
    /// Where and why, as in the trial's ledger.
    pub ledger: Vec<LossEntry>,
    /// How long sampled frames were where; absent where that was not looked for.
    pub hops: Option<HopReport>,
}

/// What became of the lost frames of one trial of a cell.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellFate {
    /// The trial that it repeats.
    pub of: FateOf,
    /// Load, per direction.
    pub load_fps: f64,
    /// Length in seconds.
    pub duration_s: f64,
    /// Frames sent.
    pub sent: u64,
    /// Frames lost.
    pub lost: u64,
    /// Where and why; with the unexplained ones as many as were lost.
    pub ledger: Vec<LossEntry>,
    /// What passed at each place, by its counters; absent in older runs.
    pub passage: Option<Passage>,
    /// How it was found out.
    #[serde(flatten)]
    pub report: FateReport,
}

impl CellFate {
    /// What a trial found out; absent of one that did not look for it.
    pub fn of(record: &TrialRecord) -> Option<Self> {
        let Purpose::Fate { of } = record.purpose else {
            return None;
        };
        Some(Self {
            of,
            load_fps: record.load_fps,
            duration_s: record.duration_s,
            sent: record.frames.sent,
            lost: record.frames.lost,
            ledger: record.loss_ledger.clone(),
            passage: Passage::of(record),
            report: record.fate.clone()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_words() {
        for mode in FateMode::ALL {
            assert_eq!(FateMode::of(mode.word()), Some(mode));
        }
        assert_eq!(FateMode::of("hop"), None);
    }

    #[test]
    fn places_begin_with_their_interface() {
        let dropped = |device: Option<&str>, function: Option<&str>, reason: Option<&str>| {
            let owned = |word: Option<&str>| word.map(str::to_owned);
            FateCause::Dropped {
                device: owned(device),
                function: owned(function),
                reason: owned(reason),
            }
        };
        #[rustfmt::skip]
        let table = [
            (dropped(Some("d0"), Some("veth_xmit"), Some("NOT_SPECIFIED")), "d0 veth_xmit"),
            (dropped(Some("d0"), None, Some("QDISC_DROP")), "d0 QDISC_DROP"),
            (dropped(None, Some("udp_queue"), None), "kernel udp_queue"),
            (dropped(None, None, None), "kernel kfree_skb"),
            (FateCause::Refused { device: "a".to_owned() }, "a tx_dropped"),
        ];
        for (cause, place) in table {
            assert_eq!(cause.place(), place);
        }
    }
}
