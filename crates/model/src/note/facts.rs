//! Notes on the facts of a host.

notes! {
    /// Facts of a host.
    FactsNote {
        "N140" "record-unreadable" Caution Problem
        RecordUnreadable { file: String, error: String }
            => ("{file} cannot be read ({error}). Only sysfs was used.") + "Record the host again.",

        "N141" "record-missing" Caution Problem
        RecordMissing { file: String }
            => ("{file} is missing in this tree: rings, coalescing, offloads and qdiscs are unknown.")
            + "Record with nicety inspect -o DIR.",

        "N142" "sysfs-only" Caution Problem
        SysfsOnly { error: String }
            => ("Only sysfs was used: {error}."),

        "N143" "no-window-counters" Caution Problem
        NoWindowCounters { error: String }
            => ("The counters of interfaces were not read in the window: {error}."),

        "N144" "window-without-time" Caution Problem
        WindowWithoutTime { file: String }
            => ("{file} has no time, so it was left out.") + "Record again with --window.",

        "N145" "window-unreadable" Caution Problem
        WindowUnreadable { file: String, error: String }
            => ("{file} cannot be read ({error}), so it was left out.") + "Record again with --window.",

        "N146" "other-namespace" Caution Problem
        OtherNamespace
            => ("/sys belongs to another network namespace, so NUMA nodes, interrupts and steering of its \
                 interfaces are unknown.") + "Enter with ip netns exec, or mount sysfs anew.",
    }
}
