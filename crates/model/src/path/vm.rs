//! `kind = "vm"`: the guest of one point of the matrix.

use super::{
    Cpus, GuestKind, HostSwitch, OnOff, Tagging, Vdev, Virtio, VmAccel, VmMachine, VmNic, params,
};

params! {
    /// Parameters of a guest as they were given; [`VmParams::config`] tells what they come to.
    VmParams {
        /// What it is.
        guest: GuestKind,
        /// How it is connected.
        nic: VmNic,
        /// The host's port whose virtual functions are used.
        pf: String,
        /// What joins the interfaces on the host.
        switch: HostSwitch,
        /// What the switch does to tags.
        tagging: Tagging,
        /// How a switch built on DPDK gets at the host's interfaces.
        vdev: Vdev,
        /// Polling threads of such a switch.
        cores: u32,
        /// Receive queues of the host's interfaces.
        host_queues: u32,
        /// Virtual CPUs.
        vcpus: u32,
        /// Host CPUs for the virtual ones.
        pin: Cpus,
        /// Queues of either NIC.
        queues: u32,
        /// Descriptors of a ring.
        ring: u32,
        /// Bytes of frames from the guest that may be under way on the host, of each queue of its taps.
        sndbuf: u32,
        /// Guests at the same time.
        vms: u32,
        /// How its instructions run.
        accel: VmAccel,
        /// What it is to QEMU.
        machine: VmMachine,
        /// Whether its virtio rings are packed ones.
        packed: OnOff,
        /// Whether a descriptor may stand for a table of them.
        indirect_desc: OnOff,
        /// Whether a frame may fill several receive buffers.
        mrg_rxbuf: OnOff,
        /// Whether the guest's kicks reach a thread of QEMU's by a descriptor instead of stopping the virtual CPU.
        ioeventfd: OnOff,
        /// Whether the device spreads received frames over its queues by a hash that the guest sets.
        rss: OnOff,
        /// Whether an IOMMU is between the device and the guest's memory.
        iommu: OnOff,
    }
}

impl VmParams {
    /// What is asked for, with a value for all that was left out.
    pub fn config(&self) -> VmConfig {
        let netns = self.guest == Some(GuestKind::Netns);
        let switch = VmSwitch::of(self.switch.unwrap_or(HostSwitch::Bridge), self.tagging);
        // Nothing else hangs on such a switch.
        let machine = if switch.on_dpdk() {
            VmNic::VhostUser
        } else {
            VmNic::VirtioNet
        };
        let nic = if netns { VmNic::Macvlan } else { machine };
        VmConfig {
            netns,
            nic: self.nic.unwrap_or(nic),
            pf: self.pf.clone(),
            switch,
            cores: self.cores.unwrap_or(1),
            vdev: self.vdev.unwrap_or(Vdev::AfPacket),
            host_queues: self.host_queues.unwrap_or(1),
            vcpus: self.vcpus.unwrap_or(1),
            pin: self.pin.as_ref().map_or_else(Vec::new, |pin| pin.0.clone()),
            queues: self.queues.unwrap_or(1),
            ring: self.ring,
            sndbuf: self.sndbuf,
            vms: self.vms.unwrap_or(1),
            accel: self.accel.unwrap_or(VmAccel::Auto),
            machine: self.machine.unwrap_or(VmMachine::Q35),
            virtio: Virtio::of(self),
        }
    }
}

/// The guest of one cell. What the plan leaves out has the value in brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VmConfig {
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
    /// How such a switch gets at the host's interfaces \[af_packet\].
    pub vdev: Vdev,
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
    /// Bytes of frames from the guest that may be under way on the host, of each queue of its taps; QEMU's own choice,
    /// which is no limit, when absent.
    pub sndbuf: Option<u32>,
    /// Guests at the same time \[1\]. They share the switch or the port, and the tester's frames
    /// take turns through them.
    pub vms: u32,
    /// How its instructions run \[auto\].
    pub accel: VmAccel,
    /// What it is to QEMU \[q35\].
    pub machine: VmMachine,
    /// What its virtio devices are like \[as QEMU makes them\].
    pub virtio: Virtio,
}

/// What joins the guests' interfaces on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
pub enum VmSwitch {
    /// The kernel's bridge.
    #[display("bridge")]
    Bridge,
    /// The kernel's bridge, frames tagged on the tester's side.
    #[display("vlan-bridge")]
    VlanBridge {
        /// The bridge tells VLANs apart itself, instead of VLAN sub-interfaces below it.
        filtering: bool,
    },
    /// Open vSwitch.
    #[display("ovs{}", if *bridged { "-bridge" } else { "" })]
    Ovs {
        /// Frames are tagged on the tester's side, the guests' ports are access ports of the VLAN.
        tagged: bool,
        /// A kernel bridge of its own is between each guest's interface and the switch.
        bridged: bool,
    },
    /// Open vSwitch with DPDK's polling threads.
    #[display("ovs-dpdk")]
    OvsDpdk,
    /// DPDK's testpmd.
    #[display("testpmd")]
    Testpmd,
}

impl VmSwitch {
    fn of(switch: HostSwitch, tagging: Option<Tagging>) -> Self {
        let filtering = tagging == Some(Tagging::Filtering);
        match switch {
            HostSwitch::Bridge => Self::Bridge,
            HostSwitch::VlanBridge => Self::VlanBridge { filtering },
            HostSwitch::Ovs | HostSwitch::OvsBridge => Self::Ovs {
                tagged: filtering,
                bridged: switch == HostSwitch::OvsBridge,
            },
            HostSwitch::OvsDpdk => Self::OvsDpdk,
            HostSwitch::Testpmd => Self::Testpmd,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn config(words: &[(&str, &str)]) -> VmConfig {
        super::super::tests::vm(words).config()
    }

    #[test]
    fn what_is_left_out_has_a_value() {
        let plain = config(&[]);
        assert_eq!(plain.nic, VmNic::VirtioNet);
        assert_eq!(
            (plain.vcpus, plain.queues, plain.vms, plain.ring),
            (1, 1, 1, None)
        );
        assert_eq!(
            (plain.switch, plain.accel),
            (VmSwitch::Bridge, VmAccel::Auto)
        );
        assert_eq!(config(&[("switch", "testpmd")]).nic, VmNic::VhostUser);
        let vlan = config(&[("switch", "vlan-bridge"), ("tagging", "filtering")]);
        assert_eq!(vlan.switch, VmSwitch::VlanBridge { filtering: true });
        let ovs = config(&[("switch", "ovs"), ("tagging", "filtering")]).switch;
        assert!(vlan.switch.tags() && ovs.tags());
        let bridged = config(&[("switch", "ovs-bridge")]).switch;
        assert_eq!(
            (bridged.to_string().as_str(), bridged.tags()),
            ("ovs-bridge", false)
        );
        assert!(!plain.switch.tags() && !config(&[("switch", "ovs")]).switch.tags());
        assert!(plain.pin.is_empty());
        assert_eq!(config(&[("pin", "4+6"), ("vcpus", "2")]).pin, [4, 6]);
        assert_eq!(plain.host_queues, 1);
        assert_eq!(config(&[("host_queues", "4")]).host_queues, 4);
    }
}
