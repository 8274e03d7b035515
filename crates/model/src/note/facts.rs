//! Notes on the facts of a host.

notes! {
    /// Facts of a host.
    FactsNote {
        "N140" "record-unreadable" Caution
        RecordUnreadable { file: String, error: String }
            => ("{file} is not understood ({error}); sysfs only"),

        "N141" "record-missing" Caution
        RecordMissing { file: String }
            => ("{file} is not in this tree: no rings, coalescing, offloads and qdiscs")
            + "record with nicety inspect --record",

        "N142" "sysfs-only" Caution
        SysfsOnly { error: String }
            => ("{error}; sysfs only"),

        "N143" "no-window-counters" Caution
        NoWindowCounters { error: String }
            => ("{error}; no counters of interfaces in the window"),

        "N144" "window-without-time" Caution
        WindowWithoutTime { file: String }
            => ("{file} tells of no time; left out"),

        "N145" "window-unreadable" Caution
        WindowUnreadable { file: String, error: String }
            => ("{file} is not understood ({error}); left out"),

        "N146" "other-namespace" Caution
        OtherNamespace
            => ("/sys belongs to another network namespace: nodes, interrupts and steering of its interfaces \
                 are left out") + "enter it with ip netns exec or mount sysfs anew",
    }
}
