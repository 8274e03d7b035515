//! Notes on a run as a whole, and on its files.

notes! {
    /// A run as a whole, and its files.
    RunNote {
        "N150" "few-flows" Caution
        FewFlows { flows: u32, host_queues: u32 }
            => ("flows = {flows} with host_queues = {host_queues}: all frames of a flow go to one receive queue, as \
                 on a NIC with RSS, so queues stay idle; several times as many flows as queues reach all of them"),

        "N151" "time-box-too-short" Warning
        TimeBoxTooShort { time_box_s: f64, needed_s: f64 }
            => ("the time box of {time_box_s} s is too short for a single cell: with all that comes before it the \
                 first takes about {needed_s} s; write --time-box {needed_s}s or more"),

        "N152" "torn-line" Caution
        TornLine { file: String, bytes: u64 }
            => ("{file}: the last line was torn ({bytes} bytes), as when a run is killed; it is left out"),
    }
}
