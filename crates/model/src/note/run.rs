//! Notes on a run as a whole, and on its files.

notes! {
    /// A run as a whole, and its files.
    RunNote {
        "N150" "few-flows" Caution Problem
        FewFlows { flows: u32, host_queues: u32 }
            => ("The plan has flows = {flows} and host_queues = {host_queues}. A flow always uses one receive \
                 queue, so some queues stay idle.")
            + "Set flows to several times host_queues.",

        "N151" "time-box-too-short" Warning Problem
        TimeBoxTooShort { time_box_s: f64, needed_s: f64 }
            => ("The time box of {time_box_s} s is too short for one result, which needs about {needed_s} s \
                 here. Set --for {needed_s}s or more."),

        "N152" "torn-line" Caution Condition
        TornLine { file: String, bytes: u64 }
            => ("The last line of {file} is incomplete ({bytes} bytes), as when a run is killed. It was left out."),
    }
}
