//! The words that parameters of a path can have.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Serialize;

use crate::keywords::{UnknownKeyword, keywords};

keywords! {
    /// What a guest is.
    GuestKind {
        /// A virtual machine.
        Vm = "vm",
        /// A network namespace, as of a container.
        Netns = "netns",
    }
}

keywords! {
    /// A kind of virtual NIC with what carries its frames on the host.
    VmNic {
        /// An emulated Intel 82540EM on a tap.
        E1000 = "e1000",
        /// virtio-net on a tap, carried by QEMU's own thread.
        VirtioNet = "virtio-net",
        /// virtio-net on a tap, carried by the host kernel's vhost thread.
        VhostNet = "vhost-net",
        /// virtio-net, whose rings a switch built on DPDK reads and writes itself.
        VhostUser = "vhost-user",
        /// virtio-net on a macvtap, carried by vhost where the host has it.
        Macvtap = "macvtap",
        /// virtio-net on AF_XDP sockets of QEMU, which take frames from the host's interface by an XDP program.
        AfXdp = "af-xdp",
        /// A virtual function of the host's NIC.
        Sriov = "sriov",
        /// A macvtap on a virtual function.
        SriovMacvtap = "sriov-macvtap",
        /// A macvlan, for namespaces.
        Macvlan = "macvlan",
    }
}

impl VmNic {
    /// Whether it needs virtual functions.
    pub fn on_function(self) -> bool {
        matches!(self, Self::Sriov | Self::SriovMacvtap)
    }

    /// Whether it hangs on the tester's interfaces themselves, without a switch of the host.
    pub fn on_interface(self) -> bool {
        matches!(self, Self::Macvtap | Self::AfXdp)
    }
}

keywords! {
    /// What joins the guests' interfaces on the host, without what it does to tags.
    HostSwitch {
        /// The kernel's bridge.
        Bridge = "bridge",
        /// The kernel's bridge, frames tagged on the tester's side.
        VlanBridge = "vlan-bridge",
        /// Open vSwitch.
        Ovs = "ovs",
        /// Open vSwitch with a kernel bridge before each interface of a guest.
        OvsBridge = "ovs-bridge",
        /// Open vSwitch with DPDK's polling threads.
        OvsDpdk = "ovs-dpdk",
        /// DPDK's testpmd.
        Testpmd = "testpmd",
    }
}

impl HostSwitch {
    /// Whether it is a program that polls.
    pub fn on_dpdk(self) -> bool {
        matches!(self, Self::OvsDpdk | Self::Testpmd)
    }
}

keywords! {
    /// Where a switch takes tags off.
    Tagging {
        /// In VLAN sub-interfaces below a bridge.
        SubInterface = "sub-interface",
        /// In the switch, which tells VLANs apart itself.
        Filtering = "filtering",
    }
}

keywords! {
    /// Which of Open vSwitch's datapaths carries the frames.
    Datapath {
        /// The kernel's module.
        Kernel = "kernel",
        /// The one in ovs-vswitchd.
        Userspace = "userspace",
    }
}

keywords! {
    /// How DPDK gets at an interface that the kernel drives.
    Vdev {
        /// A packet socket with its ring.
        AfPacket = "af_packet",
        /// An AF_XDP socket.
        AfXdp = "af_xdp",
    }
}

keywords! {
    /// How a guest's instructions run.
    VmAccel {
        /// KVM where it works, else TCG.
        Auto = "auto",
        /// By the CPU.
        Kvm = "kvm",
        /// By emulation.
        Tcg = "tcg",
    }
}

keywords! {
    /// How rules of a firewall are looked through.
    Lookup {
        /// One after the other.
        Linear = "linear",
        /// As elements of one set, which is a hash table.
        Set = "set",
    }
}

keywords! {
    /// What a router does to addresses.
    Nat {
        /// Nothing.
        None = "none",
        /// Gives frames from A to B the router's own source address, and turns that round for the answers.
        Snat = "snat",
    }
}

keywords! {
    /// On or off.
    OnOff {
        /// On.
        On = "on",
        /// Off.
        Off = "off",
    }
}

keywords! {
    /// What a tunnel packs frames in.
    Encapsulation {
        /// VXLAN (RFC 7348): Ethernet in UDP.
        Vxlan = "vxlan",
        /// Geneve (RFC 8926): Ethernet in UDP.
        Geneve = "geneve",
        /// GRE (RFC 2784) with Ethernet inside.
        Gre = "gre",
        /// WireGuard: IP, encrypted, in UDP.
        Wireguard = "wireguard",
    }
}

impl Encapsulation {
    /// Whether IP packets go through it and no Ethernet frames, so that it is routed.
    pub fn is_routed(self) -> bool {
        self == Self::Wireguard
    }
}

keywords! {
    /// Which frames a macvlan gets, or on which layer an ipvlan or a netkit works.
    SubMode {
        /// macvlan: those for its own address, and those of others on the same interface.
        Bridge = "bridge",
        /// macvlan: those for its own address, none of others on the same interface.
        Private = "private",
        /// macvlan: what it sends goes out and comes back from a switch that turns it round.
        Vepa = "vepa",
        /// macvlan: all; nobody else is on the interface.
        Passthru = "passthru",
        /// ipvlan: frames, told apart by IP address. netkit: frames.
        L2 = "l2",
        /// ipvlan, netkit: packets that the host's own routes send on.
        L3 = "l3",
    }
}

impl SubMode {
    /// Whether it is a mode of an ipvlan.
    pub fn is_ipvlan(self) -> bool {
        matches!(self, Self::L2 | Self::L3)
    }
}

keywords! {
    /// What finds the frames that tc hands to the other interface.
    TcFilter {
        /// All of them (cls_matchall).
        Matchall = "matchall",
        /// By what IP version they are, as OpenStack's and OVS' offload does (cls_flower).
        Flower = "flower",
        /// By bytes at an offset (cls_u32).
        U32 = "u32",
    }
}

keywords! {
    /// Rules on a logical switch of OVN, in its own words (ovn-nbctl(8), `acl-add`).
    Acl {
        /// None.
        None = "none",
        /// Lets every IP packet through, by itself.
        AllowStateless = "allow-stateless",
        /// The same, with connections kept in mind.
        AllowRelated = "allow-related",
    }
}

keywords! {
    /// What a virtual machine is to QEMU.
    VmMachine {
        /// An ordinary one: PCI Express, and what else a computer has.
        Q35 = "q35",
        /// A small one without PCI, whose devices are in memory (virtio-mmio).
        Microvm = "microvm",
    }
}

keywords! {
    /// How frames are spread over links that are bundled.
    Aggregation {
        /// One link carries all, the other waits.
        ActiveBackup = "active-backup",
        /// Frame by frame in turn.
        BalanceRr = "balance-rr",
        /// By a hash over addresses and ports.
        BalanceXor = "balance-xor",
        /// The same, over those links that LACP agrees on (IEEE 802.1AX).
        Lacp = "802.3ad",
    }
}

impl Aggregation {
    /// Whether the driver team does it by itself: what hashes needs a program of its own there.
    pub fn is_of_team(self) -> bool {
        matches!(self, Self::ActiveBackup | Self::BalanceRr)
    }
}

macro_rules! from_words {
    ($($name:ident)+) => {
        $(impl FromStr for $name {
            type Err = UnknownKeyword;

            fn from_str(word: &str) -> Result<Self, UnknownKeyword> {
                Self::of(word).ok_or_else(|| UnknownKeyword(word.to_owned()))
            }
        })+
    };
}

from_words!(GuestKind VmNic HostSwitch Tagging Datapath Vdev VmAccel Lookup Nat OnOff Encapsulation SubMode TcFilter VmMachine Aggregation Acl);

/// CPU numbers, `4+6` in a cell's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Cpus(pub Vec<u32>);

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&words.join("+"))
    }
}

impl FromStr for Cpus {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let cpus = text.split('+').map(str::parse);
        cpus.collect::<Result<_, _>>().map(Self)
    }
}

/// Two PCI addresses, `0000:03:00.0+0000:03:00.1` in a cell's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct PciPair(pub [String; 2]);

impl fmt::Display for PciPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("+"))
    }
}

impl FromStr for PciPair {
    type Err = UnknownKeyword;

    fn from_str(text: &str) -> Result<Self, UnknownKeyword> {
        let pair = text.split_once('+');
        pair.filter(|(_, second)| !second.contains('+'))
            .map(|(first, second)| Self([first.to_owned(), second.to_owned()]))
            .ok_or_else(|| UnknownKeyword(text.to_owned()))
    }
}
