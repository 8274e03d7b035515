//! Notes on one trial.

notes! {
    /// One trial.
    TrialNote {
        "N070" "clock-stepped" Warning Problem
        ClockStepped
            => ("The wall clock was set during the trial, so latency was not measured."),

        "N071" "starts-apart" Caution Problem
        StartsApart { apart_ms: f64 }
            => ("The two directions started {apart_ms:.1} ms apart, more than 1 % of the trial.")
            + "Measure on a quieter machine.",

        "N072" "stamps-unused" Caution Problem
        StampsUnused { why: String }
            => ("Hardware time stamps were not used: {why}."),

        "N073" "order-by-lane" Caution Condition
        OrderByLane { interface: String, lanes: u64, cpus: bool }
            => ("Frames of one stream arrived at {interface} in {lanes} {}. Their order is checked within each.",
                if *cpus { "CPUs" } else { "receive queues" }),

        "N074" "extent-at-least" Caution Condition
        ExtentAtLeast { interface: String, frames: u64, gaps: u64 }
            => ("At {interface}, {frames} frames were reordered by more than {gaps} gaps. The reordering extent \
                 is at least the one shown."),

        "N075" "fates-unknown" Info Condition
        FatesUnknown { why: String }
            => ("nicety could not trace lost frames: {why}. Counters alone say where frames were lost."),

        "N076" "recovery-unknown" Caution Problem
        RecoveryUnknown { why: String }
            => ("System recovery was not measured: {why}."),

        "N077" "reset-unknown" Caution Problem
        ResetUnknown { why: String }
            => ("The reset time was not measured: {why}."),

        "N078" "guest-unseen" Info Condition
        GuestUnseen { guest: String, why: String }
            => ("nicety could not follow frames in {guest}: {why}."),
    }
}
