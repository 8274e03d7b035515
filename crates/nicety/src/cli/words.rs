//! Options that take a word: each word with a line of help, and the type's own error for any other.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};
use nicety_model::compare::Metric;
use nicety_model::finding::{Goal, Risk};
use nicety_model::fleet::GroupBy;
use nicety_model::path::VmAccel;
use nicety_model::plan::Preset;
use nicety_model::sock::SockTest;
use nicety_model::stateful::TableStage;
use nicety_model::{EngineChoice, FateMode, Verdict};
use nicety_port::probes::Stamps;

use super::load::LoadFailure;
use super::trace::Only;
use crate::sock::args::Tests;

/// A word and what it means.
type Word = (&'static str, &'static str);

/// Reads a word.
#[derive(Clone)]
pub struct Words<T: 'static> {
    known: &'static [Word],
    read: fn(&str) -> Result<T, String>,
}

impl<T: Clone + Send + Sync> TypedValueParser for Words<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        self.read.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |(word, help): &Word| PossibleValue::new(*word).help(*help);
        Some(Box::new(self.known.iter().map(value)))
    }
}

fn own<T: std::str::FromStr<Err: ToString>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// `--engine`.
pub const ENGINE: Words<EngineChoice> = Words {
    known: &[
        ("auto", "The fastest engine that proves itself on the ports"),
        ("xdp", "BPF programs at the interfaces; fastest, needs root"),
        (
            "af_xdp",
            "AF_XDP sockets, where a driver lacks XDP frames; needs root",
        ),
        (
            "pktgen",
            "The kernel's packet generator, where its module is loaded; needs root",
        ),
        ("af_packet", "Packet sockets; works for ordinary users"),
    ],
    read: own,
};

/// `--only` of `nicety trace`.
pub const ONLY: Words<Only> = Words {
    known: &[("all", "All frames"), ("lost", "Frames that do not arrive")],
    read: |text| match text {
        "all" => Ok(Only::All),
        "lost" => Ok(Only::Lost),
        other => Err(format!(
            "unknown kind of frames {other:?}; write all or lost"
        )),
    },
};

/// `--stamps`.
pub const STAMPS: Words<Stamps> = Words {
    known: &[
        (
            "auto",
            "Kernel time stamps, and those of the NICs where both ports have them",
        ),
        ("hardware", "The same, but fail where a NIC has none"),
        ("software", "Kernel time stamps only"),
    ],
    read: own,
};

/// `--fate`.
pub const FATE: Words<FateMode> = Words {
    known: &[
        ("auto", "Where the kernel can tell, which needs root"),
        ("off", "Never; counters alone say where frames were lost"),
        ("drops", "As auto, but fail where the kernel cannot tell"),
        (
            "hops",
            "As drops; another trial tells where frames spend their time",
        ),
    ],
    read: own,
};

/// `--fate` of `nicety load`.
pub const LOAD_FATE: Words<FateMode> = Words {
    known: &[
        ("auto", "Where the kernel can tell, which needs root"),
        ("off", "Never; counters alone say where frames were lost"),
        ("drops", "As auto, but fail where the kernel cannot tell"),
    ],
    read: |text| match own::<FateMode>(text) {
        Ok(FateMode::Hops) | Err(_) => Err(format!(
            "{text:?} is not a way to follow frames; write auto, off or drops"
        )),
        known => known,
    },
};

/// `--fail-on` of `nicety load`.
pub const LOAD_FAILURE: Words<LoadFailure> = Words {
    known: &[
        ("loss", "A frame was lost in the path"),
        ("gap", "Nothing is known of some of the time"),
        (
            "invalid",
            "An interval missed its load or was counted badly",
        ),
    ],
    read: |text| match text {
        "loss" => Ok(LoadFailure::Loss),
        "gap" => Ok(LoadFailure::Gap),
        "invalid" => Ok(LoadFailure::Invalid),
        other => Err(format!(
            "{other:?} is nothing that happens; write loss, gap or invalid"
        )),
    },
};

/// `--only` of `nicety stateful`.
pub const TABLE_STAGE: Words<TableStage> = Words {
    known: &[
        ("setup", "The rate at which connections are opened"),
        ("capacity", "How many the table holds"),
        ("teardown", "The rate at which they are removed"),
        ("goodput", "What passes on open connections"),
    ],
    read: |text| {
        TableStage::of(text).ok_or_else(|| {
            let words = TableStage::WORDS.join(", ");
            format!("{text:?} is nothing to measure; write {words}")
        })
    },
};

/// The tests of `nicety sock`.
pub const SOCK_TESTS: Words<Tests> = Words {
    known: &[
        (
            "tcp_rr",
            "Requests and responses on one TCP connection per flow",
        ),
        ("udp_rr", "The same in UDP datagrams; lost ones are counted"),
        ("tcp_crr", "Connect, request, response, close"),
        ("tcp_stream", "Bulk data to the server"),
        ("tcp_maerts", "Bulk data from the server"),
        ("udp_stream", "Datagrams to the server"),
    ],
    read: |text| {
        let tests: Result<Vec<SockTest>, String> = text.split(',').map(own).collect();
        tests.map(Tests)
    },
};

/// `--preset`.
pub const PRESET: Words<Preset> = Words {
    known: &[
        ("quick", "One visit per cell: seconds, wide intervals"),
        (
            "robust",
            "Three visits per cell and more, judged in windows of 50 ms: holds on busy machines",
        ),
        ("binary", "Bisection, as hardware testers do"),
        ("std", "MLRsearch, 1 % wide, eleven one-second trials"),
        (
            "csit",
            "MLRsearch as FD.io CSIT runs it: 0.5 % wide, 21 one-second trials",
        ),
        ("rfc2544", "RFC 2544: trials of 60 seconds"),
    ],
    read: own,
};

/// `--fail-on`.
pub const VERDICT: Words<Verdict> = Words {
    known: &[
        ("ok", "Measured, and confirmed"),
        (
            "tester-limited",
            "The tester could not load the path harder",
        ),
        ("bound", "At least this much: CPUs were taken away"),
        ("wide", "The interval is wider than 5 %"),
        ("late", "The sender missed its schedule"),
        ("unstable", "Measurements contradict each other"),
        ("faulty", "Frames arrived twice, damaged or reordered"),
        ("coupled", "The path ran inside the sender's system calls"),
        ("noisy", "The machine was not quiet"),
        ("failed", "No result"),
    ],
    read: verdict,
};

fn verdict(text: &str) -> Result<Verdict, String> {
    let words = || Verdict::WORDS.join(", ");
    Verdict::of(text).ok_or_else(|| format!("unknown verdict {text:?}; write one of {}", words()))
}

/// `--metric`.
pub const METRIC: Words<Metric> = Words {
    known: &[
        ("throughput", "Frames, transactions or data per second"),
        ("latency-p50", "Median latency"),
        ("latency-p99", "99th percentile of the latency"),
        ("cpu", "CPU time per frame or transaction"),
    ],
    read: metric,
};

fn metric(text: &str) -> Result<Metric, String> {
    Metric::of(text).ok_or_else(|| {
        let words = Metric::ALL.map(Metric::word).join(", ");
        format!("unknown number {text:?}; write one of {words}")
    })
}

/// `--goal`.
pub const GOAL: Words<Goal> = Words {
    known: &[
        ("throughput", "Much data in few connections"),
        ("latency", "Short and even response times"),
        (
            "forwarding",
            "Many frames per second from one interface to another",
        ),
    ],
    read: own,
};

/// `--fix-risk`.
pub const RISK: Words<Risk> = Words {
    known: &[
        ("low", "At worst it does not help"),
        ("medium", "A short interruption, or less for other programs"),
        ("high", "Connections may break, or protection weakens"),
    ],
    read: own,
};

/// `--group-by`; `none` is no trait.
pub const GROUP_BY: Words<Option<GroupBy>> = Words {
    known: &[
        ("cpu", "CPU model and number of sockets"),
        ("nic", "Drivers of the physical ports, and ports of each"),
        ("role", "What the host is for: its guests and services"),
        ("name", "What stands before the number in the name"),
        ("none", "All hosts are siblings"),
    ],
    read: group_by,
};

fn group_by(text: &str) -> Result<Option<GroupBy>, String> {
    match GroupBy::of(text) {
        None if text != "none" => Err(format!(
            "{text:?} is nothing that siblings share; write {} or none",
            GroupBy::WORDS.join(", ")
        )),
        trait_or_none => Ok(trait_or_none),
    }
}

/// `--accel`.
pub const ACCEL: Words<VmAccel> = Words {
    known: &[
        ("auto", "KVM where a kernel boots on it, else TCG"),
        ("kvm", "Hardware virtualisation"),
        ("tcg", "Emulation: works everywhere, slow"),
    ],
    read: accel,
};

fn accel(text: &str) -> Result<VmAccel, String> {
    super::parsed(text, "is not an accelerator; write auto, kvm or tcg")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Help names the words there are, each of which is read.
    fn known<T>(of: &Words<T>, words: &[&str]) {
        let helped: Vec<&str> = of.known.iter().map(|(word, _)| *word).collect();
        assert_eq!(helped, words);
        for word in helped {
            assert!((of.read)(word).is_ok(), "{word}");
        }
    }

    #[test]
    fn every_word_has_help() {
        let engines: Vec<&str> = std::iter::once("auto")
            .chain(nicety_model::EngineName::WORDS.iter().copied())
            .collect();
        known(&ENGINE, &engines);
        known(&STAMPS, &["auto", "hardware", "software"]);
        known(&FATE, FateMode::WORDS);
        known(&SOCK_TESTS, SockTest::WORDS);
        known(&PRESET, Preset::WORDS);
        known(&TABLE_STAGE, TableStage::WORDS);
        known(&VERDICT, Verdict::WORDS);
        known(&METRIC, Metric::WORDS);
        known(&GOAL, Goal::WORDS);
        known(&RISK, Risk::WORDS);
        known(&ACCEL, VmAccel::WORDS);
        known(&GROUP_BY, &["cpu", "nic", "role", "name", "none"]);
    }
}
