//! `kind = "vm"`: what one point of the matrix asks of a guest, and what cannot be asked.

use std::collections::BTreeMap;
use std::fmt;

/// How a guest is connected.
pub(super) const NICS: [&str; 7] = [
    "e1000",
    "virtio-net",
    "vhost-net",
    "macvtap",
    "sriov",
    "sriov-macvtap",
    "macvlan",
];
/// What the guest is.
pub(super) const GUESTS: [&str; 2] = ["vm", "netns"];
/// Switches between the tester and a guest.
const BUILT: [&str; 2] = ["bridge", "ovs"];
/// How a guest's instructions run.
pub(super) const ACCELS: [&str; 3] = ["auto", "kvm", "tcg"];

/// Ring lengths that QEMU gives a virtio-net device on a tap (hw/net/virtio-net.c:
/// VIRTIO_NET_RX_QUEUE_MIN_SIZE and VIRTQUEUE_MAX_SIZE).
const VIRTIO_RING: std::ops::RangeInclusive<u32> = 256..=1024;
/// Ring lengths of the guest's e1000 driver (drivers/net/ethernet/intel/e1000/e1000.h:
/// E1000_MIN_RXD and E1000_MAX_82544_RXD).
const E1000_RING: std::ops::RangeInclusive<u32> = 80..=4096;

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
    pub switch: String,
    /// Virtual CPUs \[1\].
    pub vcpus: u32,
    /// Host CPUs for the virtual ones; a short list begins anew. Empty leaves them to the
    /// scheduler, on the CPUs where the tester is not.
    pub pin: Vec<u32>,
    /// Queues of either NIC \[1\].
    pub queues: u32,
    /// Descriptors of the receive ring, and of the transmit ring where that can be set; the
    /// device's own choice when absent.
    pub ring: Option<u32>,
    /// Guests at the same time \[1\].
    pub vms: u32,
    /// `auto`, `kvm` or `tcg` \[auto\].
    pub accel: String,
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
        Self {
            netns,
            nic: VmNic::of(&word("nic", if netns { "macvlan" } else { "virtio-net" })),
            pf: path.get("pf").cloned(),
            switch: word("switch", "bridge"),
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
        let on_tap = matches!(nic, VmNic::E1000 | VmNic::VirtioNet | VmNic::VhostNet);
        if self.switch != "bridge" && !on_tap {
            return refuse(
                format!("nic = \"{nic}\" hangs on no switch of the host"),
                "leave switch out, or write switch = \"bridge\"",
            );
        }
        if !BUILT.contains(&self.switch.as_str()) {
            return refuse(
                format!(
                    "guests on switch = \"{}\" cannot be built by this version",
                    self.switch
                ),
                "write switch = \"ovs\" or \"bridge\"",
            );
        }
        if self.vms > 1 {
            return refuse(
                format!(
                    "{} guests at the same time cannot be built by this version",
                    self.vms
                ),
                "write vms = 1",
            );
        }
        if self.pin.len() > *vcpus as usize {
            return refuse(
                format!(
                    "pin names {} CPUs for {vcpus} virtual CPU{}",
                    self.pin.len(),
                    plural(*vcpus)
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
            VmNic::VirtioNet | VmNic::VhostNet | VmNic::Macvtap | VmNic::SriovMacvtap
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
            (plain.switch.as_str(), plain.accel.as_str()),
            ("bridge", "auto")
        );
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
                &[("switch", "ovs-dpdk")],
                "guests on switch = \"ovs-dpdk\" cannot be built by this version",
            ),
            (
                &[("switch", "ovs"), ("nic", "macvtap")],
                "nic = \"macvtap\" hangs on no switch of the host",
            ),
            (
                &[("vms", "3")],
                "3 guests at the same time cannot be built by this version",
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
            &[("guest", "netns")],
            &[("guest", "netns"), ("nic", "sriov"), ("pf", "eth0")],
        ] {
            assert_eq!(ask(words).refusal(), None, "{words:?}");
        }
    }
}
