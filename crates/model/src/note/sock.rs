//! Notes on socket tests.

use super::Note;

notes! {
    /// Socket tests.
    SockNote {
        "N120" "end" Info
        At { end: End, note: Box<Note> }
            => ("{}: {note}", end),

        "N121" "fault" Warning
        Fault { end: End, what: String }
            => ("{}: {what}", end),

        "N122" "same-host" Caution
        SameHost
            => ("both ends share this host: the CPU figures are those of both and of the path between"),

        "N123" "whole-frames" Caution
        WholeFrames { by: String }
            => ("{by}: a program carries whole frames, so the endpoints compute checksums and cut segments \
                 themselves"),

        "N124" "worker-unpinned" Caution
        WorkerUnpinned { why: String }
            => ("a worker {why}"),

        "N125" "no-udp-segment" Info
        NoUdpSegment
            => ("this interface refuses UDP_SEGMENT; one datagram per send"),

        "N126" "rate-missed-by-sender" Warning
        RateMissedBySender { unsent: u64 }
            => ("{unsent} datagrams were due before the end and not sent: the sender does not keep the rate"),

        "N127" "rate-missed-by-path" Warning
        RateMissedByPath { unsent: u64 }
            => ("{unsent} requests were due before the end and not sent: the path does not keep the rate"),

        "N128" "no-zero-copy" Info
        NoZeroCopy
            => ("this kernel has no MSG_ZEROCOPY; data is copied"),

        "N129" "zero-copy-copied" Info
        ZeroCopyCopied
            => ("the kernel copied zero-copy sends after all, as paths within a host do; MSG_ZEROCOPY was \
                 switched off"),

        "N130" "buffer-full" Caution
        BufferFull { requests: u64 }
            => ("{requests} requests were dropped because the socket's buffer was full"),

        "N131" "strangers" Info
        Strangers { connections: u64 }
            => ("{connections} connections from other hosts were closed"),

        "N132" "other-clients" Warning
        OtherClients
            => ("tests of other clients ran on this server at the same time: the figures are theirs too"),

        "N133" "slept-between-requests" Caution
        SleptBetween { p50_us: f64, p90_us: f64 }
            => ("latency has two modes (p50 {p50_us:.1} µs, p90 {p90_us:.1} µs): the CPU probably slept between \
                 requests; try --pin"),

        "N134" "one-pair-slept" Caution
        OnePairSlept { pairs: u32, ratio: f64 }
            => ("{pairs} pairs carry {ratio:.0} times the rate of 1 pair: the CPU probably slept between the \
                 requests of a single pair; try --pin"),
    }
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
