//! Notes on the path that was built or found.

use serde::{Deserialize, Serialize};

use super::words::{joined, there};

notes! {
    /// The path that was built or found.
    PathNote {
        "N030" "ipv6-stays" Caution
        Ipv6Stays { namespace: String, error: String }
            => ("IPv6 stays on in namespace {namespace}, its neighbour discovery adds a few foreign frames: {error}"),

        "N031" "sender-context" Warning
        SenderContext { interface: String, error: String }
            => ("{interface} does not receive in a thread of its own, the path runs in the sender's context: {error}"),

        "N032" "receive-queues" Info
        ReceiveQueues { interface: String, queues: u32, cpus: Option<Vec<u32>> }
            => ("{interface}: {queues} receive queues, threads {}; a frame's flow decides its queue",
                places(cpus)),

        "N033" "flows-overtake" Caution
        FlowsOvertake
            => ("frames of different flows that overtake each other in different receive queues of the host \
                 count as reordered"),

        "N034" "threads-unpinned" Caution
        ThreadsUnpinned { interfaces: Vec<String>, why: String }
            => ("the scheduler places the receive threads of {}: {why}", joined(interfaces, " and ")),

        "N035" "threads-ordinary" Caution
        ThreadsOrdinary { interfaces: Vec<String> }
            => ("the receive threads of {} run at ordinary priority: any program that wakes on their CPU \
                 stops them for up to a time slice, and frames are lost", joined(interfaces, " and ")),

        "N036" "functions" Info
        Functions { pf: String }
            => ("virtual functions of {pf}: its own switch carries frames between the tester's and the guests'"),

        "N037" "functions-uncounted" Caution
        FunctionsUncounted { pf: String, why: String }
            => ("frames lost between functions of {pf} are not told apart: {why}"),

        "N038" "port-in-bridge" Warning
        PortInBridge { port: String, bridge: String }
            => ("port {port} belongs to {bridge}, which also sees and may answer the test frames"),

        "N039" "netfilter" Caution
        Netfilter
            => ("bridge netfilter is on in the path's namespace, as it is wherever br_netfilter is loaded: \
                 its hooks are part of what a frame costs"),

        "N040" "ovs" Info
        Ovs { switch: OvsSwitch, by_itself: bool }
            => ("ovs: {}{}", switch.words(),
                if *by_itself { ", because the kernel has no openvswitch datapath" } else { "" }),

        "N041" "ovs-trunks" Info
        OvsTrunks { vlan: u16 }
            => ("ovs: both ports are trunks of VLAN {vlan}"),

        "N042" "ovs-dpdk" Info
        OvsDpdk { version: String, switch: DpdkSwitch }
            => ("ovs-dpdk: {version} with {}", switch.words()),

        "N043" "testpmd" Info
        Testpmd { switch: DpdkSwitch }
            => ("testpmd: {}", switch.words()),

        "N044" "guest-on-ovs" Info
        GuestOnOvs { switch: OvsSwitch, bridged: bool, vlan: Option<u16> }
            => ("guest on ovs: {}, a bridge on either side{}{}", switch.words(),
                if *bridged { ", and one of the kernel before each interface of a guest" } else { "" },
                there(*vlan, |vlan| format!(", frames of VLAN {vlan} on the wire, guests at access ports"))),

        "N045" "guest-on-ovs-dpdk" Info
        GuestOnOvsDpdk { version: String, switch: DpdkSwitch }
            => ("guest on ovs-dpdk: {version} with {}, a bridge on either side, vhost-user", switch.words()),

        "N046" "guest-on-testpmd" Info
        GuestOnTestpmd { switch: DpdkSwitch }
            => ("guest on testpmd: {}, a pair of ports on either side, vhost-user", switch.words()),
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
        let how = match self.userspace {
            true => "userspace datapath in one thread of ovs-vswitchd",
            false => "kernel datapath",
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
        let threads = match self.polling_cpus.len() {
            1 => "1 polling thread".to_owned(),
            count => format!("{count} polling threads"),
        };
        let interfaces = match &self.interfaces {
            DpdkInterfaces::Driver(driver) => format!("interfaces through {driver}"),
            DpdkInterfaces::Nics(nics) => format!("the NICs {} through VFIO", nics.join(" and ")),
        };
        let queues = there(self.queues, |queues| match queues {
            1 => " with 1 queue, read back".to_owned(),
            several => format!(" with {several} queues each, read back"),
        });
        format!(
            "DPDK without huge pages, {threads} on CPU {}, {interfaces}{queues}",
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
