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

/// Ring lengths that QEMU gives a virtio-net device on a tap (hw/net/virtio-net.c:
/// VIRTIO_NET_RX_QUEUE_MIN_SIZE and VIRTQUEUE_MAX_SIZE).
const VIRTIO_RING: std::ops::RangeInclusive<u32> = 256..=1024;
/// Ring lengths of the guest's e1000 driver (drivers/net/ethernet/intel/e1000/e1000.h:
/// E1000_MIN_RXD and E1000_MAX_82544_RXD).
const E1000_RING: std::ops::RangeInclusive<u32> = 80..=4096;

/// Most guests on one switch: each has a pair of stations of the tester.
const MOST_GUESTS: u32 = 256;
/// Most queues of a tap (drivers/net/tun.c: MAX_TAP_QUEUES).
const TAP_QUEUES: u32 = 256;

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
    Ovs,
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
            "ovs" => Self::Ovs,
            "ovs-dpdk" => Self::OvsDpdk,
            "testpmd" => Self::Testpmd,
            _ => Self::Bridge,
        }
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
            Self::Ovs => "ovs",
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

/// Why no machine can build what a cell asks for, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) reason: String,
    pub(super) remedy: String,
}

impl VmAsk {
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
            vcpus: number("vcpus").unwrap_or(1),
            pin: pin.split('+').filter_map(|cpu| cpu.parse().ok()).collect(),
            queues: number("queues").unwrap_or(1),
            ring: number("ring"),
            vms: number("vms").unwrap_or(1),
            accel: word("accel", "auto"),
        }
    }

    /// What the guest is and its NIC do not fit each other.
    fn kind_refusal(&self) -> Option<(String, &'static str)> {
        let nic = self.nic;
        match (self.netns, nic) {
            (true, VmNic::Macvlan | VmNic::Sriov) => {}
            // It has a receiver of its own (drivers/net/macvtap.c, macvtap_newlink), and an
            // interface has one only.
            (true, VmNic::Macvtap | VmNic::SriovMacvtap) => {
                return Some((
                    format!(
                        "guest = \"netns\" with nic = \"{nic}\": a macvtap is no port of a bridge"
                    ),
                    "write nic = \"macvlan\" or nic = \"sriov\"",
                ));
            }
            (true, _) => {
                return Some((
                    format!(
                        "guest = \"netns\" with nic = \"{nic}\": a namespace has no emulated NIC"
                    ),
                    "write nic = \"macvlan\" or nic = \"sriov\"",
                ));
            }
            (false, VmNic::Macvlan) => {
                return Some((
                    "nic = \"macvlan\" is for namespaces".to_owned(),
                    "write nic = \"macvtap\", or guest = \"netns\"",
                ));
            }
            (false, _) => {}
        }
        let machine =
            self.vcpus > 1 || self.queues > 1 || self.ring.is_some() || !self.pin.is_empty();
        if self.netns && machine {
            return Some((
                "a namespace has no virtual CPUs, queues or rings of its own".to_owned(),
                "leave vcpus, pin, queues and ring out beside guest = \"netns\"",
            ));
        }
        if nic.on_function() && self.pf.is_none() {
            return Some((
                format!("nic = \"{nic}\" without pf"),
                "name the port whose virtual functions may be used, as in pf = \"eth0\"; it must carry nothing else",
            ));
        }
        if nic.on_function() && self.queues > 1 {
            return Some((
                format!(
                    "{nic} with {} queues cannot be built by this version",
                    self.queues
                ),
                "write queues = 1",
            ));
        }
        None
    }

    /// The switch does not fit the NIC, or the number of guests.
    fn switch_refusal(&self) -> Option<(String, &'static str)> {
        let Self { nic, switch, .. } = self;
        let on_tap = matches!(nic, VmNic::E1000 | VmNic::VirtioNet | VmNic::VhostNet);
        match (*nic == VmNic::VhostUser, switch.on_dpdk()) {
            (true, false) => {
                return Some((
                    format!(
                        "nic = \"{nic}\" on switch = \"{switch}\": the switch must be built on DPDK"
                    ),
                    "write switch = \"ovs-dpdk\" or switch = \"testpmd\"",
                ));
            }
            (false, true) => {
                return Some((
                    format!(
                        "nic = \"{nic}\" on switch = \"{switch}\" cannot be built by this version"
                    ),
                    "write nic = \"vhost-user\"",
                ));
            }
            (true, true) => {}
            (false, false) if *switch != VmSwitch::Bridge && !on_tap => {
                return Some((
                    format!("nic = \"{nic}\" hangs on no switch of the host"),
                    "leave switch out, or write switch = \"bridge\"",
                ));
            }
            (false, false) => {}
        }
        if !switch.on_dpdk() && (self.cores > 1 || self.vdev != "af_packet") {
            return Some((
                format!("switch = \"{switch}\" has no polling threads"),
                "leave cores and vdev out, or write switch = \"ovs-dpdk\" or \"testpmd\"",
            ));
        }
        if self.vms == 1 {
            return None;
        }
        if *switch == VmSwitch::Testpmd {
            return Some((
                format!("{} guests on testpmd: it joins ports in pairs", self.vms),
                "write vms = 1, or switch = \"ovs-dpdk\"",
            ));
        }
        (self.vms > MOST_GUESTS).then(|| {
            (
                format!("{} guests at the same time are too many", self.vms),
                "write vms = 256 or less",
            )
        })
    }

    /// Why this cannot be built, whatever the machine.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        let refuse = |reason: String, remedy: &str| {
            Some(Refusal {
                reason,
                remedy: remedy.to_owned(),
            })
        };
        let Self {
            nic, vcpus, queues, ..
        } = self;
        if let Some((reason, remedy)) = self.kind_refusal() {
            return refuse(reason, remedy);
        }
        if let Some((reason, remedy)) = self.switch_refusal() {
            return refuse(reason, remedy);
        }
        let all = vcpus.saturating_mul(self.vms);
        if self.pin.len() > all as usize {
            return refuse(
                format!(
                    "pin names {} CPUs for {all} virtual CPU{}",
                    self.pin.len(),
                    plural(all)
                ),
                "name at most one CPU for each virtual CPU",
            );
        }
        if *nic == VmNic::E1000 && *queues > 1 {
            return refuse(
                format!("e1000 has one queue, not {queues}"),
                "write queues = 1, or another nic",
            );
        }
        if *nic == VmNic::Macvtap && *queues > 1 {
            return refuse(
                format!("macvtap with {queues} queues cannot be built by this version"),
                "write queues = 1",
            );
        }
        if *queues > TAP_QUEUES {
            return refuse(
                format!("a tap has no {queues} queues"),
                "write queues = 256 or less",
            );
        }
        let ring = self.ring?;
        match nic {
            // Those of igbvf are as long (drivers/net/ethernet/intel/igbvf/igbvf.h).
            VmNic::E1000 | VmNic::Sriov
                if !E1000_RING.contains(&ring) || !ring.is_multiple_of(8) =>
            {
                refuse(
                    format!("{nic} has no rings of {ring} descriptors"),
                    "write a multiple of 8 from 80 to 4096",
                )
            }
            VmNic::VirtioNet
            | VmNic::VhostNet
            | VmNic::VhostUser
            | VmNic::Macvtap
            | VmNic::SriovMacvtap
                if !VIRTIO_RING.contains(&ring) || !ring.is_power_of_two() =>
            {
                refuse(
                    format!("QEMU gives {nic} no rings of {ring} descriptors"),
                    "write 256, 512 or 1024",
                )
            }
            _ => None,
        }
    }
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
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
        assert!(plain.pin.is_empty());
        assert_eq!(plain.refusal(), None);
        for nic in NICS {
            assert_eq!(ask(&[("nic", nic)]).nic.to_string(), nic);
        }
        assert_eq!(ask(&[("pin", "4+6"), ("vcpus", "2")]).pin, [4, 6]);
    }

    #[test]
    fn what_no_machine_can_build_is_said() {
        for (words, reason) in [
            (&[("nic", "sriov")][..], "nic = \"sriov\" without pf"),
            (
                &[("nic", "sriov"), ("pf", "eth0"), ("queues", "2")],
                "sriov with 2 queues cannot be built by this version",
            ),
            (&[("nic", "macvlan")], "nic = \"macvlan\" is for namespaces"),
            (
                &[("guest", "netns"), ("nic", "macvtap")],
                "guest = \"netns\" with nic = \"macvtap\": a macvtap is no port of a bridge",
            ),
            (
                &[("guest", "netns"), ("nic", "e1000")],
                "guest = \"netns\" with nic = \"e1000\": a namespace has no emulated NIC",
            ),
            (
                &[("guest", "netns"), ("vcpus", "2")],
                "a namespace has no virtual CPUs, queues or rings of its own",
            ),
            (
                &[("switch", "ovs-dpdk"), ("nic", "e1000")],
                "nic = \"e1000\" on switch = \"ovs-dpdk\" cannot be built by this version",
            ),
            (
                &[("nic", "vhost-user")],
                "nic = \"vhost-user\" on switch = \"bridge\": the switch must be built on DPDK",
            ),
            (
                &[("switch", "ovs"), ("nic", "macvtap")],
                "nic = \"macvtap\" hangs on no switch of the host",
            ),
            (
                &[("switch", "testpmd"), ("vms", "2")],
                "2 guests on testpmd: it joins ports in pairs",
            ),
            (
                &[("switch", "ovs"), ("cores", "2")],
                "switch = \"ovs\" has no polling threads",
            ),
            (
                &[("vms", "257")],
                "257 guests at the same time are too many",
            ),
            (
                &[("vms", "2"), ("pin", "0+1+2")],
                "pin names 3 CPUs for 2 virtual CPUs",
            ),
            (&[("pin", "4+6")], "pin names 2 CPUs for 1 virtual CPU"),
            (
                &[("nic", "e1000"), ("queues", "4")],
                "e1000 has one queue, not 4",
            ),
            (
                &[("nic", "e1000"), ("ring", "64")],
                "e1000 has no rings of 64 descriptors",
            ),
            (&[("queues", "257")], "a tap has no 257 queues"),
            (
                &[("ring", "128")],
                "QEMU gives virtio-net no rings of 128 descriptors",
            ),
            (
                &[("ring", "300")],
                "QEMU gives virtio-net no rings of 300 descriptors",
            ),
        ] {
            assert_eq!(ask(words).refusal().unwrap().reason, reason);
        }
        for words in [
            &[("nic", "e1000"), ("ring", "4096")][..],
            &[
                ("ring", "1024"),
                ("queues", "8"),
                ("vcpus", "2"),
                ("pin", "0"),
            ],
            &[("nic", "vhost-net"), ("queues", "4")],
            &[("nic", "macvtap")],
            &[("nic", "sriov"), ("pf", "eth0"), ("ring", "512")],
            &[("switch", "ovs"), ("nic", "e1000")],
            &[("switch", "ovs"), ("vms", "4"), ("pin", "0+1+2+3")],
            &[("switch", "vlan-bridge")],
            &[("switch", "ovs-dpdk"), ("vms", "2"), ("queues", "2")],
            &[("switch", "testpmd"), ("cores", "2")],
            &[("guest", "netns")],
            &[("guest", "netns"), ("vms", "2")],
            &[("nic", "macvtap"), ("vms", "2")],
            &[("nic", "sriov"), ("pf", "eth0"), ("vms", "2")],
            &[("guest", "netns"), ("nic", "sriov"), ("pf", "eth0")],
        ] {
            assert_eq!(ask(words).refusal(), None, "{words:?}");
        }
    }
}
