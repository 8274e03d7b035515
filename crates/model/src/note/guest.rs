//! Notes on guests.

use serde::{Deserialize, Serialize};

use super::words::{each_cpu, joined, there};

notes! {
    /// Guests on the path.
    GuestNote {
        "N050" "qemu" Info
        Qemu { version: String, kernel: String, cache: String }
            => ("guests: QEMU {version} and Linux {kernel} from {cache}"),

        "N051" "booted-again" Caution
        BootedAgain { guest: String, last: String }
            => ("{guest} ended while it booted, and was booted again: {last}"),

        "N052" "guests-share" Caution
        GuestsShare { guests: u32, shared: Shared }
            => ("{guests} guests share {}: frames take turns through them, and the throughput is that of all \
                 together; frames that overtake each other in different guests count as reordered",
                shared.words()),

        "N053" "guest" Info
        Guest { guest: String, nic: String, kernel: String, qemu: String, accelerator: String, nics: Vec<GuestNic> }
            => ("{guest} with {nic}: Linux {kernel}, QEMU {qemu}, {accelerator}; {}",
                joined(&nics.iter().map(GuestNic::words).collect::<Vec<_>>(), "; ")),

        "N054" "guest-threads" Info
        GuestThreads { guest: String, threads: Vec<ThreadPlace> }
            => ("{guest}'s threads, read back: {}",
                joined(&threads.iter().map(ThreadPlace::words).collect::<Vec<_>>(), "; ")),

        "N055" "guest-on-tester-cpu" Warning
        GuestOnTesterCpu { thread: String, cpus: Vec<u32> }
            => ("{thread} shares {} with the tester, which polls there: results are lower than the guest's own",
                each_cpu(cpus)),

        "N056" "guest-in-namespace" Info
        GuestInNamespace { guest: String, nic: String, serves: bool, driver: String }
            => ("{guest} in a namespace with {nic}: {} {driver}", match serves {
                true => "sockets end at an interface of driver",
                false => "kernel bridge between two interfaces of driver",
            }),

        "N057" "guest-ipv6-stays" Caution
        GuestIpv6Stays { error: String }
            => ("IPv6 stays on in the guest: {error}"),

        "N058" "guest-not-serving" Warning
        GuestNotServing { address: String, why: String }
            => ("the guest does not serve at {address}: {why}"),

        "N059" "guest-checksums" Caution
        GuestChecksums { nic: String, error: String }
            => ("the guest's {nic} leaves checksums to the host: {error}"),

        "N060" "guest-nic-refused" Caution
        GuestNicRefused { nic: String, error: String }
            => ("the guest's {nic}: {error}"),
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
}

impl GuestNic {
    fn words(&self) -> String {
        let rings = there(self.rings, |(rx, tx)| {
            format!(", rings of {rx} (receive) and {tx} (transmit)")
        });
        format!("{} {} x{}{rings}", self.name, self.driver, self.queues)
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
