//! Notes on the path that was built or found.

use serde::{Deserialize, Serialize};

use super::words::{joined, there};
use crate::number::plural;
use crate::path::SubMode;

notes! {
    /// The path that was built or found.
    PathNote {
        "N030" "ipv6-stays" Caution Condition
        Ipv6Stays { namespace: String, error: String }
            => ("IPv6 stays on in namespace {namespace}, so neighbour discovery adds a few foreign frames: {error}."),

        "N031" "sender-context" Warning Problem
        SenderContext { interface: String, error: String }
            => ("{interface} has no receive thread of its own, so the sender's CPU does the path's work: {error}."),

        "N032" "receive-queues" Info Condition
        ReceiveQueues { interface: String, queues: u32, cpus: Option<Vec<u32>> }
            => ("{interface} has {queues} receive queues, with threads {}. A frame's flow decides its queue.",
                places(cpus)),

        "N033" "flows-overtake" Caution Condition
        FlowsOvertake
            => ("Frames of different flows use different receive queues. Those that overtake each other count as \
                 reordered."),

        "N034" "threads-unpinned" Caution Problem
        ThreadsUnpinned { interfaces: Vec<String>, why: String }
            => ("The receive threads of {} are not pinned: {why}.", joined(interfaces, " and ")),

        "N035" "threads-ordinary" Caution Problem
        ThreadsOrdinary { interfaces: Vec<String> }
            => ("The receive threads of {} run at ordinary priority. Any program that wakes on their CPU stops \
                 them, and frames are lost.", joined(interfaces, " and "))
            + "Run nicety as root.",

        "N036" "functions" Info Condition
        Functions { pf: String }
            => ("The path uses virtual functions of {pf}, whose own switch carries frames between tester and guests."),

        "N037" "functions-uncounted" Caution Problem
        FunctionsUncounted { pf: String, why: String }
            => ("Frames lost between functions of {pf} are counted together: {why}."),

        "N038" "port-in-bridge" Warning Problem
        PortInBridge { port: String, bridge: String }
            => ("Port {port} belongs to {bridge}, which also sees the test frames and may answer them.")
            + "Take the port out of it for the measurement.",

        "N039" "netfilter" Caution Problem
        Netfilter
            => ("The module br_netfilter is loaded, so netfilter sees every frame of the path's bridge and slows it.")
            + "Unload br_netfilter, unless your own bridges use it.",

        "N040" "ovs" Info Condition
        Ovs { switch: OvsSwitch, by_itself: bool }
            => ("The switch is {}{}.", switch.words(),
                if *by_itself { ", because the kernel has no openvswitch datapath" } else { "" }),

        "N041" "ovs-trunks" Info Condition
        OvsTrunks { vlan: u16 }
            => ("Both ports of the switch are trunks of VLAN {vlan}."),

        "N042" "ovs-dpdk" Info Condition
        OvsDpdk { version: String, switch: DpdkSwitch }
            => ("The switch is {version} with {}.", switch.words()),

        "N043" "testpmd" Info Condition
        Testpmd { switch: DpdkSwitch }
            => ("The switch is testpmd with {}.", switch.words()),

        "N044" "guest-on-ovs" Info Condition
        GuestOnOvs { switch: OvsSwitch, bridged: bool, vlan: Option<u16> }
            => ("The guest's switch is {}. Each side has a bridge{}{}.", switch.words(),
                if *bridged { ", and each interface of a guest a kernel bridge before it" } else { "" },
                there(*vlan, |vlan| format!(". Frames carry VLAN {vlan}; guests are at access ports"))),

        "N045" "guest-on-ovs-dpdk" Info Condition
        GuestOnOvsDpdk { version: String, switch: DpdkSwitch }
            => ("The guest's switch is {version} with {}. Each side has a bridge; guests use vhost-user.",
                switch.words()),

        "N046" "guest-on-testpmd" Info Condition
        GuestOnTestpmd { switch: DpdkSwitch }
            => ("The guest's switch is testpmd with {}. Each side has a pair of ports; guests use vhost-user.",
                switch.words()),

        "N047" "works-on-every-cpu" Caution Condition
        WorksOnEveryCpu { what: String }
            => ("{what} works on every CPU, those of the tester too. Where these are busy, frames come late and count \
                 as lost.")
            + "Give the machine more CPUs.",

        "N048" "one-macvlan" Info Condition
        OneMacvlan { mode: SubMode }
            => ("d0 has one macvlan, and port A is behind d0. Mode {mode} says what passes between macvlans of one \
                 interface, so here the same frames pass as in mode bridge."),
    }
}

/// Open vSwitch as it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OvsSwitch {
    /// What it calls itself.
    pub version: String,
    /// The datapath is the program's, not the kernel's.
    pub userspace: bool,
}

impl OvsSwitch {
    fn words(&self) -> String {
        let how = if self.userspace {
            "userspace datapath in one thread of ovs-vswitchd"
        } else {
            "kernel datapath"
        };
        format!("{}, {how}", self.version)
    }
}

/// What a switch built on DPDK has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DpdkSwitch {
    /// CPUs of its polling threads.
    pub polling_cpus: Vec<u32>,
    /// Its interfaces.
    pub interfaces: DpdkInterfaces,
    /// Queues of an interface, read back; absent where the program does not say.
    pub queues: Option<u64>,
}

/// How a switch built on DPDK reaches its interfaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DpdkInterfaces {
    /// Through this driver of DPDK.
    Driver(String),
    /// NICs through VFIO, as they are called.
    Nics(Vec<String>),
}

impl DpdkSwitch {
    fn words(&self) -> String {
        let threads = plural(self.polling_cpus.len(), "polling thread");
        let interfaces = match &self.interfaces {
            DpdkInterfaces::Driver(driver) => format!("interfaces through {driver}"),
            DpdkInterfaces::Nics(nics) => format!("the NICs {} through VFIO", nics.join(" and ")),
        };
        let queues = there(self.queues, |queues| match queues {
            1 => " with 1 queue, read back".to_owned(),
            several => format!(" with {several} queues each, read back"),
        });
        format!(
            "{threads} on CPU {}. DPDK runs without huge pages, {interfaces}{queues}",
            joined(&self.polling_cpus, ", ")
        )
    }
}

fn places(cpus: &Option<Vec<u32>>) -> String {
    cpus.as_ref().map_or_else(
        || "where the scheduler puts them".to_owned(),
        |cpus| format!("on CPUs {}", joined(cpus, ", ")),
    )
}
