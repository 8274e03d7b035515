//! Guests that no machine can build, and why.

use crate::path::{OnOff, Vdev, VmConfig, VmMachine, VmNic, VmParams, VmSwitch};
use crate::problem::{Problem, ProblemCode};

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
/// Most queues that DPDK's vhost-user device has, half as many as rings (VHOST_MAX_QUEUE_PAIRS,
/// lib/vhost/rte_vhost.h).
const VHOST_USER_QUEUES: u32 = 128;
/// Most receive queues of the host's interfaces: as many as the largest of the usual NICs spread
/// frames over by RSS. A veth has more, each with a thread.
const HOST_QUEUES: u32 = 64;
/// Most virtual CPUs: an interrupt names one in eight bits, of which the last value means all of them.
/// More need an IOMMU in the guest.
const MOST_VCPUS: u32 = 255;

/// What the first rule that holds says: what is wrong, and what to do; behind the code of all.
macro_rules! first {
    ($code:ident: $($so:expr => $what:literal, $remedy:literal;)+) => {{
        $(if $so {
            let problem = Problem::new(ProblemCode::$code, format!($what));
            return Some(problem.with($remedy));
        })+
        None
    }};
}

pub(super) use first;

impl VmConfig {
    /// Why no machine can build a cell's path, or why a key of it would change nothing.
    pub(super) fn refusal_of(given: &VmParams) -> Option<Problem> {
        let config = given.config();
        let refusal = config.kind_refusal().or_else(|| config.switch_refusal());
        let refusal = refusal.or_else(|| config.virtio_refusal());
        refusal
            .or_else(|| config.count_refusal())
            .or_else(|| config.ring_refusal())
            .or_else(|| config.without_effect(given))
            .or_else(|| config.virtio_without_effect(given))
    }

    /// What stands in the path and says nothing about such a guest: with a list of it cells of
    /// different names would be the same.
    fn without_effect(&self, given: &VmParams) -> Option<Problem> {
        let Self { nic, switch, .. } = self;
        let tagging = given.tagging.is_some();
        let on_tap = matches!(nic, VmNic::E1000 | VmNic::VirtioNet | VmNic::VhostNet);
        first! { WithoutEffect:
            tagging && matches!(switch, VmSwitch::Ovs { tagged: false, .. }) =>
                "switch = \"{switch}\" has no VLAN sub-interfaces, its ports know their VLANs",
                "write tagging = \"filtering\", or leave it out for untagged frames";
            tagging && !switch.tags() =>
                "switch = \"{switch}\" knows no tagging",
                "leave tagging out, or write switch = \"vlan-bridge\" or \"ovs\"";
            given.pf.is_some() && !nic.on_function() =>
                "nic = \"{nic}\" uses no virtual functions of a port",
                "leave pf out beside it, in a [[path]] of its own";
            given.host_queues.is_some() && nic.on_function() =>
                "nic = \"{nic}\": a function has one receive queue",
                "leave host_queues out beside it, in a [[path]] of its own";
            given.host_queues.is_some() && *switch == VmSwitch::Testpmd =>
                "switch = \"{switch}\" has as many queues on the host's interfaces as on the guest's",
                "write queues instead of host_queues";
            given.sndbuf.is_some() && !on_tap =>
                "nic = \"{nic}\" is not on a tap, which sndbuf is about",
                "leave sndbuf out beside it, in a [[path]] of its own";
            given.accel.is_some() && self.netns =>
                "a namespace needs no accelerator",
                "leave accel out beside guest = \"netns\"";
        }
    }

    /// Switches of virtio that the NIC has not, or what carries its frames.
    fn virtio_refusal(&self) -> Option<Problem> {
        let Self { nic, virtio, .. } = self;
        let microvm = self.machine == VmMachine::Microvm;
        let vhost_user = *nic == VmNic::VhostUser;
        let on_pci = !nic.is_virtio();
        first! { NoSuchGuest:
            microvm && on_pci && !self.netns =>
                "nic = \"{nic}\" is on PCI, which machine = \"microvm\" has not",
                "write nic = \"virtio-net\", or machine = \"q35\"";
            microvm && virtio.iommu =>
                "machine = \"microvm\" has no IOMMU",
                "write iommu = \"off\", or machine = \"q35\"";
            !virtio.ioeventfd && nic.on_vhost() =>
                "nic = \"{nic}\" with ioeventfd = \"off\": vhost is kicked by descriptors only",
                "write ioeventfd = \"on\", or nic = \"virtio-net\"";
            virtio.packed && *nic == VmNic::VhostNet =>
                "nic = \"{nic}\" with packed = \"on\": the kernel's vhost knows split rings only",
                "write packed = \"off\", or nic = \"virtio-net\"";
            virtio.iommu && vhost_user =>
                "nic = \"{nic}\" with iommu = \"on\" cannot be built by this version",
                "write iommu = \"off\", or nic = \"virtio-net\"";
            virtio.rss && vhost_user =>
                "nic = \"{nic}\" with rss = \"on\": DPDK's vhost has no RSS",
                "write rss = \"off\", or nic = \"virtio-net\"";
        }
    }

    /// Switches of virtio that say nothing about such a guest.
    fn virtio_without_effect(&self, given: &VmParams) -> Option<Problem> {
        let nic = self.nic;
        let key = given.virtio_key().unwrap_or_default();
        first! { WithoutEffect:
            self.netns && given.machine.is_some() =>
                "a namespace is not a machine of QEMU's",
                "leave machine out beside guest = \"netns\"";
            !key.is_empty() && !nic.is_virtio() =>
                "nic = \"{nic}\" is not a virtio device and has no {key}",
                "leave the key out beside it, in a [[path]] of its own";
            given.rss == Some(OnOff::On) && self.queues == 1 =>
                "rss = \"on\" with one queue: there is nothing to spread frames over",
                "write queues = 2 or more, and as many vcpus";
        }
    }

    /// What the guest is and its NIC do not fit each other.
    fn kind_refusal(&self) -> Option<Problem> {
        let Self { nic, queues, .. } = self;
        let machine =
            self.vcpus > 1 || self.queues > 1 || self.ring.is_some() || !self.pin.is_empty();
        first! { NoSuchGuest:
            // It has a receiver of its own (drivers/net/macvtap.c, macvtap_newlink), and an
            // interface has one only.
            self.netns && matches!(nic, VmNic::Macvtap | VmNic::SriovMacvtap) =>
                "guest = \"netns\" with nic = \"{nic}\": a macvtap is not a port of a bridge",
                "write nic = \"macvlan\" or nic = \"sriov\"";
            self.netns && !matches!(nic, VmNic::Macvlan | VmNic::Sriov) =>
                "guest = \"netns\" with nic = \"{nic}\": a namespace has no emulated NIC",
                "write nic = \"macvlan\" or nic = \"sriov\"";
            !self.netns && *nic == VmNic::Macvlan =>
                "nic = \"macvlan\" is for namespaces",
                "write nic = \"macvtap\", or guest = \"netns\"";
            self.netns && machine =>
                "a namespace has no virtual CPUs, queues or rings of its own",
                "leave vcpus, pin, queues and ring out beside guest = \"netns\"";
            nic.on_function() && self.pf.is_none() =>
                "nic = \"{nic}\" without pf",
                "name the port whose virtual functions may be used, as in pf = \"eth0\"; it must carry nothing else";
            nic.on_function() && *queues > 1 =>
                "{nic} with {queues} queues cannot be built by this version",
                "write queues = 1";
        }
    }

    /// The switch does not fit the NIC, or the number of guests.
    fn switch_refusal(&self) -> Option<Problem> {
        let Self {
            nic, switch, vms, ..
        } = self;
        let (on_dpdk, vhost_user) = (switch.on_dpdk(), *nic == VmNic::VhostUser);
        let on_tap = matches!(nic, VmNic::E1000 | VmNic::VirtioNet | VmNic::VhostNet);
        let one_queue = *switch == VmSwitch::OvsDpdk && self.vdev == Vdev::AfXdp;
        let host_queues = self.host_queues;
        first! { NoSuchGuest:
            vhost_user && !on_dpdk =>
                "nic = \"{nic}\" on switch = \"{switch}\": the switch must be built on DPDK",
                "write switch = \"ovs-dpdk\" or switch = \"testpmd\"";
            !vhost_user && on_dpdk =>
                "nic = \"{nic}\" on switch = \"{switch}\" cannot be built by this version",
                "write nic = \"vhost-user\"";
            !on_dpdk && *switch != VmSwitch::Bridge && !on_tap =>
                "nic = \"{nic}\" hangs on no switch of the host",
                "leave switch out, or write switch = \"bridge\"";
            !on_dpdk && (self.cores > 1 || self.vdev != Vdev::AfPacket) =>
                "switch = \"{switch}\" has no polling threads",
                "leave cores and vdev out, or write switch = \"ovs-dpdk\" or \"testpmd\"";
            one_queue && host_queues > 1 =>
                "DPDK's af_xdp driver sees one receive queue of a veth, not {host_queues}",
                "write vdev = \"af_packet\", or host_queues = 1";
            host_queues > 1 && *nic == VmNic::AfXdp =>
                "nic = \"{nic}\" takes one receive queue of the host's interfaces, not {host_queues}",
                "write host_queues = 1, or another nic";
            *vms > 1 && *switch == VmSwitch::Testpmd =>
                "{vms} guests on testpmd: it joins ports in pairs",
                "write vms = 1, or switch = \"ovs-dpdk\"";
            *vms > 1 && *nic == VmNic::AfXdp =>
                "{vms} guests with nic = \"{nic}\": each would take all frames of the interface",
                "write vms = 1, or nic = \"macvtap\"";
            *vms > MOST_GUESTS =>
                "{vms} guests at the same time are too many",
                "write vms = 256 or less";
        }
    }

    /// More of something than there can be.
    fn count_refusal(&self) -> Option<Problem> {
        let Self {
            nic, vcpus, queues, ..
        } = self;
        let (host_queues, named) = (self.host_queues, self.pin.len());
        let all = vcpus.saturating_mul(self.vms);
        let plural = if all == 1 { "" } else { "s" };
        first! { TooMany:
            *vcpus > MOST_VCPUS =>
                "a guest has no {vcpus} virtual CPUs",
                "write vcpus = 255 or less";
            host_queues > HOST_QUEUES =>
                "{host_queues} receive queues of a host's interface are too many",
                "write host_queues = 64 or less";
            named > all as usize =>
                "pin names {named} CPUs for {all} virtual CPU{plural}",
                "name at most one CPU for each virtual CPU";
            *nic == VmNic::E1000 && *queues > 1 =>
                "e1000 has one queue, not {queues}",
                "write queues = 1, or another nic";
            nic.on_interface() && *queues > 1 =>
                "{nic} with {queues} queues cannot be built by this version",
                "write queues = 1";
            *nic == VmNic::VhostUser && *queues > VHOST_USER_QUEUES =>
                "vhost-user has no {queues} queues",
                "write queues = 128 or less";
            *queues > TAP_QUEUES =>
                "a tap has no {queues} queues",
                "write queues = 256 or less";
        }
    }

    /// Rings that the NIC does not have.
    fn ring_refusal(&self) -> Option<Problem> {
        let (nic, ring) = (self.nic, self.ring?);
        // Those of igbvf are as long (drivers/net/ethernet/intel/igbvf/igbvf.h).
        let as_e1000 = matches!(nic, VmNic::E1000 | VmNic::Sriov);
        let as_virtio = !as_e1000 && nic != VmNic::Macvlan;
        first! { TooMany:
            as_e1000 && !(E1000_RING.contains(&ring) && ring.is_multiple_of(8)) =>
                "{nic} has no rings of {ring} descriptors",
                "write a multiple of 8 from 80 to 4096";
            as_virtio && !(VIRTIO_RING.contains(&ring) && ring.is_power_of_two()) =>
                "QEMU gives {nic} no rings of {ring} descriptors",
                "write 256, 512 or 1024";
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PathSpec;

    fn refused(words: &str) -> Option<Problem> {
        let words = words.split(' ').chain(["kind=vm"]);
        let words = words.filter_map(|word| word.split_once('='));
        let words = words.map(|(key, word)| (key.to_owned(), word.to_owned()));
        let path = PathSpec::try_from(&words.collect()).unwrap();
        VmConfig::refusal_of(path.vm().unwrap())
    }

    #[test]
    fn sockets_take_all_frames_of_an_interface() {
        assert_eq!(refused("nic=af-xdp packed=on machine=microvm"), None);
        #[rustfmt::skip]
        let table = [
            ("nic=af-xdp vms=2", "2 guests with nic = \"af-xdp\": each would take all frames of the interface"),
            ("nic=af-xdp queues=2", "af-xdp with 2 queues cannot be built by this version"),
            ("nic=af-xdp switch=ovs", "nic = \"af-xdp\" hangs on no switch of the host"),
            ("nic=af-xdp host_queues=2", "nic = \"af-xdp\" takes one receive queue of the host's interfaces, not 2"),
        ];
        for (words, what) in table {
            assert_eq!(refused(words).unwrap().what, what);
        }
    }
}
