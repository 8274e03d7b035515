//! Notes on guests.

use serde::{Deserialize, Serialize};

use super::words::{each_cpu, joined, there};

notes! {
    /// Guests on the path.
    GuestNote {
        "N050" "qemu" Info Condition
        Qemu { version: String, kernel: String, cache: String }
            => ("Guests run on QEMU {version} with Linux {kernel} from {cache}."),

        "N051" "booted-again" Caution Condition
        BootedAgain { guest: String, last: String }
            => ("{guest} ended while it booted, so it was booted again. Its last line: {last}"),

        "N052" "guests-share" Caution Condition
        GuestsShare { guests: u32, shared: Shared }
            => ("{guests} guests share {}; the throughput is their sum. Frames that overtake each other in different \
                 guests count as reordered.", shared.words()),

        "N053" "guest" Info Condition
        Guest { guest: String, nic: String, kernel: String, qemu: String, accelerator: String, nics: Vec<GuestNic> }
            => ("{guest} uses {nic}, Linux {kernel}, QEMU {qemu} and {accelerator}: {}.",
                joined(&nics.iter().map(GuestNic::words).collect::<Vec<_>>(), "; ")),

        "N054" "guest-threads" Info Condition
        GuestThreads { guest: String, threads: Vec<ThreadPlace> }
            => ("{guest} has these threads: {}.",
                joined(&threads.iter().map(ThreadPlace::words).collect::<Vec<_>>(), "; ")),

        "N055" "guest-on-tester-cpu" Warning Problem
        GuestOnTesterCpu { thread: String, cpus: Vec<u32> }
            => ("{thread} shares {} with the tester, which polls there. Results are lower than the guest's own.",
                each_cpu(cpus))
            + "Pin the thread elsewhere, or allow more CPUs.",

        "N056" "guest-in-namespace" Info Condition
        GuestInNamespace { guest: String, nic: String, serves: bool, driver: String }
            => ("{guest} is a network namespace with {nic}: {} {driver}.", if *serves {
                "sockets end at an interface of driver"
            } else {
                "a kernel bridge joins two interfaces of driver"
            }),

        "N057" "guest-ipv6-stays" Caution Condition
        GuestIpv6Stays { error: String }
            => ("IPv6 stays on in the guest, so neighbour discovery adds a few foreign frames: {error}."),

        "N058" "guest-not-serving" Warning Problem
        GuestNotServing { address: String, why: String }
            => ("The guest does not serve at {address}: {why}."),

        "N059" "guest-checksums" Caution Problem
        GuestChecksums { nic: String, error: String }
            => ("The guest's {nic} leaves checksums to the host: {error}.")
            + "Use another NIC for the guest.",

        "N060" "guest-nic-refused" Caution Problem
        GuestNicRefused { nic: String, error: String }
            => ("The guest's {nic} refused its queues or rings: {error}.")
            + "Ask for what the driver has.",
    }
}

/// What several guests have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shared {
    /// The interfaces that the tester sends through.
    TesterInterfaces,
    /// The port of the NIC.
    Port,
    /// The switch.
    Switch,
}

impl Shared {
    fn words(self) -> &'static str {
        match self {
            Self::TesterInterfaces => "the tester's interfaces",
            Self::Port => "the port",
            Self::Switch => "the switch",
        }
    }
}

/// One NIC as the guest sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestNic {
    /// Name there.
    pub name: String,
    /// Driver.
    pub driver: String,
    /// Queues in use.
    pub queues: u32,
    /// Descriptors of a receive and a transmit ring, where the driver tells.
    pub rings: Option<(u32, u32)>,
    /// What of its virtio device is not as QEMU makes it when it is told nothing: `packed on`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub virtio: Vec<String>,
}

impl GuestNic {
    fn words(&self) -> String {
        let rings = there(self.rings, |(rx, tx)| {
            format!(", rings of {rx} (receive) and {tx} (transmit)")
        });
        let virtio: String = self.virtio.iter().map(|word| format!(", {word}")).collect();
        format!(
            "{} {} x{}{rings}{virtio}",
            self.name, self.driver, self.queues
        )
    }
}

/// Where a thread of a guest runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadPlace {
    /// Name of the thread within its guest.
    pub thread: String,
    /// Whether it keeps to these CPUs because it was put there.
    pub pinned: bool,
    /// CPUs it may run on.
    pub cpus: Vec<u32>,
}

impl ThreadPlace {
    fn words(&self) -> String {
        let how = if self.pinned { "pinned to" } else { "free on" };
        format!("{} {how} {}", self.thread, each_cpu(&self.cpus))
    }
}
