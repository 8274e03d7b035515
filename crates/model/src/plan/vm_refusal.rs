//! What cannot be asked of a guest, whatever the machine.

use crate::path::{Vdev, VmAsk, VmNic, VmParams, VmSwitch};

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

/// Why no machine can build what a cell asks for, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) reason: String,
    pub(super) remedy: String,
}

impl VmAsk {
    /// Why what a cell's path asks for cannot be built, whatever the machine, or would change
    /// nothing.
    pub(super) fn refusal_of(given: &VmParams) -> Option<Refusal> {
        let ask = given.ask();
        ask.refusal().or_else(|| {
            let (reason, remedy) = ask.without_effect(given)?;
            Some(Refusal {
                reason,
                remedy: remedy.to_owned(),
            })
        })
    }

    /// What stands in the path and says nothing about such a guest: with a list of it cells of
    /// different names would be the same.
    fn without_effect(&self, given: &VmParams) -> Option<(String, &'static str)> {
        let Self { nic, switch, .. } = self;
        if matches!(switch, VmSwitch::Ovs { tagged: false, .. }) && given.tagging.is_some() {
            return Some((
                format!(
                    "switch = \"{switch}\" has no VLAN sub-interfaces, its ports know their VLANs"
                ),
                "write tagging = \"filtering\", or leave it out for untagged frames",
            ));
        }
        if given.tagging.is_some() && !switch.tags() {
            return Some((
                format!("switch = \"{switch}\" knows no tagging"),
                "leave tagging out, or write switch = \"vlan-bridge\" or \"ovs\"",
            ));
        }
        if given.pf.is_some() && !nic.on_function() {
            return Some((
                format!("nic = \"{nic}\" uses no virtual functions of a port"),
                "leave pf out beside it, in a [[path]] of its own",
            ));
        }
        if given.host_queues.is_some() && nic.on_function() {
            return Some((
                format!("nic = \"{nic}\": a function has one receive queue"),
                "leave host_queues out beside it, in a [[path]] of its own",
            ));
        }
        if given.host_queues.is_some() && *switch == VmSwitch::Testpmd {
            return Some((
                format!(
                    "switch = \"{switch}\" has as many queues on the host's interfaces as on the guest's"
                ),
                "write queues instead of host_queues",
            ));
        }
        if given.accel.is_some() && self.netns {
            return Some((
                "a namespace needs no accelerator".to_owned(),
                "leave accel out beside guest = \"netns\"",
            ));
        }
        None
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
        if !switch.on_dpdk() && (self.cores > 1 || self.vdev != Vdev::AfPacket) {
            return Some((
                format!("switch = \"{switch}\" has no polling threads"),
                "leave cores and vdev out, or write switch = \"ovs-dpdk\" or \"testpmd\"",
            ));
        }
        if *switch == VmSwitch::OvsDpdk && self.vdev == Vdev::AfXdp && self.host_queues > 1 {
            return Some((
                format!(
                    "DPDK's af_xdp driver sees one receive queue of a veth, not {}",
                    self.host_queues
                ),
                "write vdev = \"af_packet\", or host_queues = 1",
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
    fn refusal(&self) -> Option<Refusal> {
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
        if *vcpus > MOST_VCPUS {
            return refuse(
                format!("a guest has no {vcpus} virtual CPUs"),
                "write vcpus = 255 or less",
            );
        }
        if self.host_queues > HOST_QUEUES {
            return refuse(
                format!(
                    "{} receive queues of a host's interface are too many",
                    self.host_queues
                ),
                "write host_queues = 64 or less",
            );
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
        if *nic == VmNic::VhostUser && *queues > VHOST_USER_QUEUES {
            return refuse(
                format!("vhost-user has no {queues} queues"),
                "write queues = 128 or less",
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

    fn refusal(words: &[(&str, &str)]) -> Option<Refusal> {
        VmAsk::refusal_of(&crate::path::tests::vm(words))
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
                &[("switch", "testpmd"), ("queues", "129")],
                "vhost-user has no 129 queues",
            ),
            (&[("vcpus", "300")], "a guest has no 300 virtual CPUs"),
            (
                &[("host_queues", "65")],
                "65 receive queues of a host's interface are too many",
            ),
            (
                &[("nic", "sriov"), ("pf", "eth0"), ("host_queues", "1")],
                "nic = \"sriov\": a function has one receive queue",
            ),
            (
                &[
                    ("switch", "ovs-dpdk"),
                    ("vdev", "af_xdp"),
                    ("host_queues", "2"),
                ],
                "DPDK's af_xdp driver sees one receive queue of a veth, not 2",
            ),
            (
                &[("switch", "testpmd"), ("host_queues", "2")],
                "switch = \"testpmd\" has as many queues on the host's interfaces as on the guest's",
            ),
            (
                &[("switch", "ovs-dpdk"), ("tagging", "filtering")],
                "switch = \"ovs-dpdk\" knows no tagging",
            ),
            (
                &[("switch", "ovs"), ("tagging", "sub-interface")],
                "switch = \"ovs\" has no VLAN sub-interfaces, its ports know their VLANs",
            ),
            (
                &[("nic", "e1000"), ("pf", "eth0")],
                "nic = \"e1000\" uses no virtual functions of a port",
            ),
            (
                &[("guest", "netns"), ("accel", "tcg")],
                "a namespace needs no accelerator",
            ),
            (
                &[("ring", "128")],
                "QEMU gives virtio-net no rings of 128 descriptors",
            ),
            (
                &[("ring", "300")],
                "QEMU gives virtio-net no rings of 300 descriptors",
            ),
        ] {
            assert_eq!(refusal(words).unwrap().reason, reason);
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
            &[("switch", "ovs"), ("tagging", "filtering")],
            &[
                ("switch", "ovs-bridge"),
                ("tagging", "filtering"),
                ("vms", "2"),
            ],
            &[("switch", "vlan-bridge"), ("tagging", "sub-interface")],
            &[("vcpus", "255"), ("accel", "tcg")],
            &[("nic", "e1000"), ("host_queues", "8")],
            &[("nic", "macvtap"), ("host_queues", "64")],
            &[("guest", "netns"), ("host_queues", "4")],
            &[("switch", "ovs-dpdk"), ("host_queues", "4")],
            &[("switch", "ovs-dpdk"), ("vms", "2"), ("queues", "2")],
            &[("switch", "testpmd"), ("cores", "2")],
            &[("guest", "netns")],
            &[("guest", "netns"), ("vms", "2")],
            &[("nic", "macvtap"), ("vms", "2")],
            &[("nic", "sriov"), ("pf", "eth0"), ("vms", "2")],
            &[("guest", "netns"), ("nic", "sriov"), ("pf", "eth0")],
        ] {
            assert_eq!(refusal(words), None, "{words:?}");
        }
    }
}
