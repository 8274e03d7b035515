//! What joins the two namespaces of a path, except the plain bridge.

use crate::keywords::keywords;

keywords! {
    /// What joins the two namespaces of a path.
    SwitchKind {
        /// The kernel's bridge, frames tagged on the wire.
        VlanBridge = "vlan-bridge",
        /// Open vSwitch: its kernel datapath, or the one in its own process.
        Ovs = "ovs",
        /// A logical switch of OVN.
        Ovn = "ovn",
        /// Open vSwitch with DPDK's polling threads.
        OvsDpdk = "ovs-dpdk",
        /// DPDK's `testpmd`, which passes every frame from one port to the other.
        Testpmd = "testpmd",
        /// The kernel's router.
        Routed = "routed",
        /// A tunnel.
        Tunnel = "tunnel",
        /// A macvlan.
        Macvlan = "macvlan",
        /// An ipvlan.
        Ipvlan = "ipvlan",
        /// tc, which redirects.
        TcRedirect = "tc-redirect",
        /// An XDP program, which redirects.
        XdpRedirect = "xdp-redirect",
        /// Links bundled by the driver bonding.
        Bond = "bond",
        /// Links bundled by the driver team.
        Team = "team",
        /// A netkit pair.
        Netkit = "netkit",
    }
}
