//! The switches between the two namespaces of a path, except the plain bridge.

use crate::keywords::keywords;

keywords! {
    /// A switch between the two namespaces of a path.
    SwitchKind {
        /// The kernel's bridge, frames tagged on the wire.
        VlanBridge = "vlan-bridge",
        /// Open vSwitch: its kernel datapath, or the one in its own process.
        Ovs = "ovs",
        /// Open vSwitch with DPDK's polling threads.
        OvsDpdk = "ovs-dpdk",
        /// DPDK's `testpmd`, which passes every frame from one port to the other.
        Testpmd = "testpmd",
    }
}
