//! `kind = "vm"`: what one point of the matrix asks of a guest, and what cannot be asked.

use std::collections::BTreeMap;
use std::fmt;

/// How a guest is connected.
pub(super) const NICS: [&str; 8] = [
    "e1000",
    "virtio-net",
    "vhost-net",
    "vhost-user",
    "macvtap",
    "sriov",
    "sriov-macvtap",
    "macvlan",
];
/// What the guest is.
pub(super) const GUESTS: [&str; 2] = ["vm", "netns"];
/// How a guest's instructions run.
pub(super) const ACCELS: [&str; 3] = ["auto", "kvm", "tcg"];

/// Key of [`VmAsk::host_queues`].
const HOST_QUEUES: &str = "host_queues";

/// The guest of one cell. What the plan leaves out has the value in brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VmAsk {
    /// Whether it is a network namespace, as of a container, and no machine \[it is one\].
    pub netns: bool,
    /// How it is connected \[virtio-net; a namespace: macvlan\].
    pub nic: VmNic,
    /// The host's port whose virtual functions are used.
    pub pf: Option<String>,
    /// What joins the interfaces on the host \[bridge\].
    pub switch: VmSwitch,
    /// Polling threads of a switch built on DPDK \[1\].
    pub cores: u32,
    /// How such a switch gets at the host's interfaces: `af_packet` or `af_xdp` \[af_packet\].
    pub vdev: String,
    /// Receive queues of the host's interfaces \[1\].
    pub host_queues: u32,
    /// Virtual CPUs \[1\].
    pub vcpus: u32,
    /// Host CPUs for the virtual ones, of one guest after the other; a short list begins anew.
    /// Empty leaves them to the scheduler, on the CPUs where the tester is not.
    pub pin: Vec<u32>,
    /// Queues of either NIC \[1\].
    pub queues: u32,
    /// Descriptors of the receive ring, and of the transmit ring where that can be set; the
    /// device's own choice when absent.
    pub ring: Option<u32>,
    /// Guests at the same time \[1\]. They share the switch or the port, and the tester's frames
    /// take turns through them.
    pub vms: u32,
    /// `auto`, `kvm` or `tcg` \[auto\].
    pub accel: String,
}

/// What joins the guests' interfaces on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VmSwitch {
    /// The kernel's bridge.
    Bridge,
    /// The kernel's bridge, frames tagged on the tester's side.
    VlanBridge {
        /// The bridge tells VLANs apart itself, instead of VLAN sub-interfaces below it.
        filtering: bool,
    },
    /// Open vSwitch.
    Ovs {
        /// Frames are tagged on the tester's side, the guests' ports are access ports of the VLAN.
        tagged: bool,
        /// A kernel bridge of its own is between each guest's interface and the switch.
        bridged: bool,
    },
    /// Open vSwitch with DPDK's polling threads.
    OvsDpdk,
    /// DPDK's testpmd.
    Testpmd,
}

impl VmSwitch {
    fn of(word: &str, tagging: Option<&str>) -> Self {
        match word {
            "vlan-bridge" => Self::VlanBridge {
                filtering: tagging == Some("filtering"),
            },
            "ovs" | "ovs-bridge" => Self::Ovs {
                tagged: tagging == Some("filtering"),
                bridged: word == "ovs-bridge",
            },
            "ovs-dpdk" => Self::OvsDpdk,
            "testpmd" => Self::Testpmd,
            _ => Self::Bridge,
        }
    }

    /// Whether frames are tagged on the tester's side.
    pub fn tags(self) -> bool {
        matches!(
            self,
            Self::VlanBridge { .. } | Self::Ovs { tagged: true, .. }
        )
    }

    /// Whether it is a program that polls.
    pub fn on_dpdk(self) -> bool {
        matches!(self, Self::OvsDpdk | Self::Testpmd)
    }
}

impl fmt::Display for VmSwitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bridge => "bridge",
            Self::VlanBridge { .. } => "vlan-bridge",
            Self::Ovs { bridged: false, .. } => "ovs",
            Self::Ovs { bridged: true, .. } => "ovs-bridge",
            Self::OvsDpdk => "ovs-dpdk",
            Self::Testpmd => "testpmd",
        })
    }
}

/// A kind of virtual NIC with what carries its frames on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VmNic {
    /// An emulated Intel 82540EM on a tap.
    E1000,
    /// virtio-net on a tap, carried by QEMU's own thread.
    VirtioNet,
    /// virtio-net on a tap, carried by the host kernel's vhost thread.
    VhostNet,
    /// virtio-net, whose rings a switch built on DPDK reads and writes itself.
    VhostUser,
    /// virtio-net on a macvtap, carried by vhost where the host has it.
    Macvtap,
    /// A virtual function of the host's NIC.
    Sriov,
    /// A macvtap on a virtual function.
    SriovMacvtap,
    /// A macvlan, for namespaces.
    Macvlan,
}

impl fmt::Display for VmNic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::E1000 => "e1000",
            Self::VirtioNet => "virtio-net",
            Self::VhostNet => "vhost-net",
            Self::VhostUser => "vhost-user",
            Self::Macvtap => "macvtap",
            Self::Sriov => "sriov",
            Self::SriovMacvtap => "sriov-macvtap",
            Self::Macvlan => "macvlan",
        })
    }
}

impl VmNic {
    fn of(word: &str) -> Self {
        match word {
            "e1000" => Self::E1000,
            "vhost-net" => Self::VhostNet,
            "vhost-user" => Self::VhostUser,
            "macvtap" => Self::Macvtap,
            "sriov" => Self::Sriov,
            "sriov-macvtap" => Self::SriovMacvtap,
            "macvlan" => Self::Macvlan,
            _ => Self::VirtioNet,
        }
    }

    /// Whether it needs virtual functions.
    pub fn on_function(self) -> bool {
        matches!(self, Self::Sriov | Self::SriovMacvtap)
    }
}

impl VmAsk {
    /// Receive queues of the host's interfaces, where a cell's path names them: cells of a list of
    /// them are compared with each other, that with one queue too.
    pub fn named_host_queues(path: &BTreeMap<String, String>) -> Option<u32> {
        path.get(HOST_QUEUES)?.parse().ok()
    }

    /// Reads the words of a cell's path, see [`crate::CellKey::path`].
    pub fn of(path: &BTreeMap<String, String>) -> Self {
        let number = |key: &str| path.get(key).and_then(|word| word.parse().ok());
        let pin = path.get("pin").map_or("", String::as_str);
        let word = |key: &str, otherwise: &str| {
            path.get(key)
                .cloned()
                .unwrap_or_else(|| otherwise.to_owned())
        };
        let netns = path.get("guest").is_some_and(|guest| guest == "netns");
        let switch = VmSwitch::of(
            &word("switch", "bridge"),
            path.get("tagging").map(String::as_str),
        );
        // Nothing else hangs on such a switch.
        let machine = if switch.on_dpdk() {
            "vhost-user"
        } else {
            "virtio-net"
        };
        Self {
            netns,
            nic: VmNic::of(&word("nic", if netns { "macvlan" } else { machine })),
            pf: path.get("pf").cloned(),
            switch,
            cores: number("cores").unwrap_or(1),
            vdev: word("vdev", "af_packet"),
            host_queues: number(HOST_QUEUES).unwrap_or(1),
            vcpus: number("vcpus").unwrap_or(1),
            pin: pin.split('+').filter_map(|cpu| cpu.parse().ok()).collect(),
            queues: number("queues").unwrap_or(1),
            ring: number("ring"),
            vms: number("vms").unwrap_or(1),
            accel: word("accel", "auto"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(words: &[(&str, &str)]) -> VmAsk {
        let pairs = words
            .iter()
            .map(|(key, value)| (key.to_string(), value.to_string()));
        VmAsk::of(&pairs.collect())
    }

    #[test]
    fn what_is_left_out_has_a_value() {
        let plain = ask(&[("kind", "vm")]);
        assert_eq!(plain.nic, VmNic::VirtioNet);
        assert_eq!(
            (plain.vcpus, plain.queues, plain.vms, plain.ring),
            (1, 1, 1, None)
        );
        assert_eq!(
            (plain.switch, plain.accel.as_str()),
            (VmSwitch::Bridge, "auto")
        );
        assert_eq!(ask(&[("switch", "testpmd")]).nic, VmNic::VhostUser);
        let vlan = ask(&[("switch", "vlan-bridge"), ("tagging", "filtering")]);
        assert_eq!(vlan.switch, VmSwitch::VlanBridge { filtering: true });
        let ovs = ask(&[("switch", "ovs"), ("tagging", "filtering")]).switch;
        assert!(vlan.switch.tags() && ovs.tags());
        let bridged = ask(&[("switch", "ovs-bridge")]).switch;
        assert_eq!(
            (bridged.to_string().as_str(), bridged.tags()),
            ("ovs-bridge", false)
        );
        assert!(!plain.switch.tags() && !ask(&[("switch", "ovs")]).switch.tags());
        assert!(plain.pin.is_empty());
        for nic in NICS {
            assert_eq!(ask(&[("nic", nic)]).nic.to_string(), nic);
        }
        assert_eq!(ask(&[("pin", "4+6"), ("vcpus", "2")]).pin, [4, 6]);
        assert_eq!(plain.host_queues, 1);
        assert_eq!(ask(&[("host_queues", "4")]).host_queues, 4);
    }
}
