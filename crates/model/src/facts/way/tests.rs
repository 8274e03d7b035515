use super::*;

/// Name, kind, and where it hangs: `^master`, `_lower`, `=peer`, `!` for down, `~` for no carrier.
fn hop(text: &'static str) -> Hop<'static> {
    let mut words = text.split(' ');
    let (name, kind) = (words.next().unwrap(), words.next().unwrap());
    let mut hop = Hop {
        name,
        class: InterfaceClass::of(kind, kind == "nic", true),
        kind,
        up: true,
        carrier: true,
        master: None,
        lower: None,
        peer: None,
    };
    for word in words {
        match word.split_at(1) {
            ("^", name) => hop.master = Some(name),
            ("_", name) => hop.lower = Some(name),
            ("=", name) => hop.peer = Some(name),
            ("!", _) => hop.up = false,
            _ => hop.carrier = false,
        }
    }
    hop
}

fn way(from: &str, hops: &[&'static str]) -> String {
    let hops: Hops<'_> = hops.iter().map(|text| hop(text)).collect();
    let way = hops.way(from);
    match way.doubt {
        Some(doubt) => format!("{}: {doubt}", way.through.join(" ")),
        None => format!("{} > {}", way.through.join(" "), way.nics.join("+")),
    }
}

#[test]
fn bridges_vlans_bonds_and_macvtaps_lead_to_their_nic() {
    let plain = ["tap0 tun ^br0", "br0 bridge", "eth0 nic ^br0", "eth1 nic"];
    assert_eq!(way("tap0", &plain), "tap0 br0 > eth0");
    assert_eq!(way("br0", &plain), "br0 > eth0");
    assert_eq!(way("eth1", &plain), " > eth1");
    let tagged = [
        "tap0 tun ^br7",
        "br7 bridge",
        "bond0.7 vlan _bond0 ^br7",
        "bond0 bond",
        "eth0 nic ^bond0",
        "eth1 nic ^bond0",
        "eth2 nic ^bond0 !",
    ];
    assert_eq!(way("tap0", &tagged), "tap0 br7 bond0.7 bond0 > eth0+eth1");
    let direct = ["macvtap0 macvtap _eth0", "eth0 nic"];
    assert_eq!(way("macvtap0", &direct), "macvtap0 > eth0");
}

#[test]
fn veth_pairs_lead_through_firewall_bridges() {
    let proxmox = [
        "eno1 nic ^vmbr0",
        "ens2 nic",
        "vmbr0 bridge",
        "fwbr101i0 bridge",
        "fwln101i0 veth ^fwbr101i0 =fwpr101p0",
        "fwpr101p0 veth ^vmbr0 =fwln101i0",
        "tap101i0 tun ^fwbr101i0",
        "fwbr102i0 bridge",
        "fwln102i0 veth ^fwbr102i0 =fwpr102p0",
        "fwpr102p0 veth ^vmbr0 =fwln102i0",
        "tap102i0 tun ^fwbr102i0",
    ];
    let through = "fwbr101i0 fwln101i0 fwpr101p0 vmbr0 > eno1";
    assert_eq!(way("tap101i0", &proxmox), format!("tap101i0 {through}"));
    let hops: Hops<'_> = proxmox.iter().map(|text| hop(text)).collect();
    let own = ["fwbr101i0", "fwln101i0", "fwpr101p0"];
    assert_eq!(hops.alone("tap101i0"), own);
    let mut old = proxmox;
    old[4] = "fwln101i0 veth ^fwbr101i0";
    let unknown = "tap101i0 fwbr101i0: fwbr101i0 is not known to lead to a NIC";
    assert_eq!(way("tap101i0", &old), unknown);
    let mut alone = proxmox.to_vec();
    alone[0] = "eno1 nic";
    let third = [
        "fwpr103p0 veth ^vmbr0 =fwln103i0",
        "fwln103i0 veth =fwpr103p0",
    ];
    alone.extend(third);
    let unknown =
        "tap101i0 fwbr101i0 fwln101i0 fwpr101p0 vmbr0: vmbr0 is not known to lead to a NIC";
    assert_eq!(way("tap101i0", &alone), unknown);
}

#[test]
fn ports_of_open_vswitch_share_a_datapath() {
    let hybrid = [
        "tapx tun ^qbrx",
        "qbrx bridge",
        "qvbx veth ^qbrx =qvox",
        "qvox veth ^ovs-system =qvbx",
        "ovs-system openvswitch",
        "br-int openvswitch ^ovs-system",
        "eth1 nic ^ovs-system",
        "eth0 nic",
    ];
    let through = "tapx qbrx qvbx qvox ovs-system";
    assert_eq!(way("tapx", &hybrid), format!("{through} > eth1"));
    assert_eq!(way("br-int", &hybrid), "br-int ovs-system > eth1");
    // Tenants' frames may leave in a tunnel, by any NIC.
    let mut tunnelled = hybrid.to_vec();
    tunnelled.push("vxlan_sys_4789 vxlan ^ovs-system");
    let doubt = "frames may leave by vxlan_sys_4789, whose NIC is not told";
    assert!(way("tapx", &tunnelled).ends_with(doubt));
    tunnelled.pop();
    tunnelled.push("vxlan7 vxlan ^ovs-system _eth1");
    assert_eq!(way("tapx", &tunnelled), format!("{through} > eth1"));
}

#[test]
fn what_is_not_told_is_a_doubt() {
    let two = [
        "tap0 tun ^br0",
        "br0 bridge",
        "eth0 nic ^br0",
        "eth1 nic ^br0",
    ];
    assert_eq!(way("tap0", &two), "tap0 br0: it may be any of eth0, eth1");
    let one = [
        "tap0 tun ^br0",
        "br0 bridge",
        "eth0 nic ^br0",
        "eth1 nic ^br0 ~",
    ];
    assert_eq!(way("tap0", &one), "tap0 br0 > eth0");
    let routed = [
        "tap0 tun ^virbr0",
        "virbr0 bridge",
        "veth9 veth ^virbr0",
        "dummy0 dummy ^virbr0",
        "tap1 tun ^virbr0",
        "eth0 nic",
    ];
    let nowhere = "virbr0 is not known to lead to a NIC";
    assert_eq!(way("tap0", &routed), format!("tap0 virbr0: {nowhere}"));
    assert_eq!(
        way("tap7", &routed),
        ": tap7 is no interface of the host's namespace"
    );
    let loose = ["tap0 tun", "eth0 nic"];
    assert_eq!(
        way("tap0", &loose),
        "tap0: tap0 is not known to lead to a NIC"
    );
    // Bonds of each other, and a ring of veths, end.
    let bonds = ["t tun ^a", "a bond ^b", "b bond ^a"];
    assert!(way("t", &bonds).ends_with("is not known to lead to a NIC"));
    let ring = [
        "a veth ^x =b",
        "b veth ^y =a",
        "c veth ^y =d",
        "d veth ^x =c",
        "x bridge",
        "y bridge",
        "t tun ^x",
    ];
    assert!(way("t", &ring).ends_with("is not known to lead to a NIC"));
}
