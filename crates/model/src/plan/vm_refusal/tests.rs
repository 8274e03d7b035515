//! What no machine can build.

use super::*;

fn refusal(words: &[(&str, &str)]) -> Option<Problem> {
    VmConfig::refusal_of(&crate::path::tests::vm(words))
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
        assert_eq!(refusal(words).unwrap().what, reason);
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
