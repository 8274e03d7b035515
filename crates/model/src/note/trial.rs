//! Notes on one trial.

notes! {
    /// One trial.
    TrialNote {
        "N070" "clock-stepped" Warning
        ClockStepped
            => ("the wall clock was stepped during the trial: latency not measured"),

        "N071" "starts-apart" Caution
        StartsApart { apart_ms: f64 }
            => ("the directions started {apart_ms:.1} ms apart, more than 1 % of the trial"),

        "N072" "stamps-unused" Caution
        StampsUnused { why: String }
            => ("hardware time stamps are not used: {why}"),

        "N073" "order-by-lane" Caution
        OrderByLane { interface: String, lanes: u64, cpus: bool }
            => ("{interface}: frames of one stream arrived in {lanes} {}; their order is judged within each",
                if *cpus { "CPUs" } else { "receive queues" }),

        "N074" "extent-at-least" Caution
        ExtentAtLeast { interface: String, frames: u64, gaps: u64 }
            => ("{interface}: {frames} reordered frames were overtaken more than {gaps} gaps ago; the \
                 reordering extent is at least the one given"),
    }
}
