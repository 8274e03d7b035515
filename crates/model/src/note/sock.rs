//! Notes on socket tests.

use super::Note;
use crate::number::plural;

notes! {
    /// Socket tests.
    SockNote {
        "N120" "end" Info Condition
        At { end: End, note: Box<Note> }
            => ("{}: {note}", end),

        "N121" "fault" Warning Problem
        Fault { end: End, what: String }
            => ("{}: {what}.", end),

        "N122" "same-host" Caution Condition
        SameHost
            => ("Both ends run on this host. The CPU figures include both and the path between them."),

        "N123" "whole-frames" Caution Condition
        WholeFrames { by: String }
            => ("{by} carries whole frames, so the endpoints compute checksums and cut segments themselves."),

        "N124" "worker-unpinned" Caution Problem
        WorkerUnpinned { why: String }
            => ("A worker {why}."),

        "N125" "no-udp-segment" Info Condition
        NoUdpSegment
            => ("This interface refuses UDP_SEGMENT, so each call sends one datagram."),

        "N126" "rate-missed-by-sender" Warning Problem
        RateMissedBySender { unsent: u64 }
            => ("The sender is too slow for this rate: {} due before the end {} not sent.",
                plural(*unsent, "datagram"), were(*unsent))
            + "Ask for a lower rate, or use more flows and CPUs.",

        "N127" "rate-missed-by-path" Warning Problem
        RateMissedByPath { unsent: u64 }
            => ("The path is too slow for this rate: {} due before the end {} not sent.",
                plural(*unsent, "request"), were(*unsent))
            + "Ask for a lower rate.",

        "N128" "no-zero-copy" Info Condition
        NoZeroCopy
            => ("This kernel has no MSG_ZEROCOPY, so data is copied."),

        "N129" "zero-copy-copied" Info Condition
        ZeroCopyCopied
            => ("The kernel copied zero-copy sends anyway, as it does within one host. MSG_ZEROCOPY was switched off."),

        "N130" "buffer-full" Caution Problem
        BufferFull { requests: u64 }
            => ("{} {} dropped because the server's socket buffer was full.",
                plural(*requests, "request"), were(*requests))
            + "Give the server CPU time, or raise net.core.rmem_max.",

        "N131" "strangers" Info Condition
        Strangers { connections: u64 }
            => ("{} from other hosts {} closed.", plural(*connections, "connection"), were(*connections)),

        "N132" "other-clients" Warning Problem
        OtherClients
            => ("Other clients used this server at the same time, so the figures include their load.")
            + "Repeat when no other client runs.",

        "N133" "slept-between-requests" Caution Problem
        SleptBetween { p50_us: f64, p90_us: f64 }
            => ("Latency has two modes (p50 {p50_us:.1} µs, p90 {p90_us:.1} µs). The CPU probably slept between requests.")
            + "Try --pin.",

        "N134" "one-pair-slept" Caution Problem
        OnePairSlept { pairs: u32, ratio: f64 }
            => ("{pairs} pairs carry {ratio:.0} times the rate of 1 pair. With a single pair the CPU probably slept between requests.")
            + "Try --pin.",
    }
}

fn were(count: u64) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

crate::keywords::keywords! {
    /// An end of a socket test.
    End {
        /// The one that asks.
        Client = "client",
        /// The one that answers.
        Server = "server",
    }
}
