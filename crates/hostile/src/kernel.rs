//! Answers of the kernel: old ones, new ones, and those of drivers that are wrong.

use nicety_netdev::hostile;

use crate::Target;

pub(crate) const SHAPER: Target = Target {
    name: "shaper",
    run: hostile::shaper,
    seeds: |_| vec![message(&[(3, b"p0\0"), (23, &[0; 64])]), bucket()],
};

pub(crate) const LINK: Target = Target {
    name: "link",
    run: hostile::link,
    seeds: |_| {
        vec![message(&[
            (3, b"eth0\0"),
            (4, &1500u32.to_ne_bytes()),
            (18, b"\x0a\0\x01\0bridge\0\0"),
        ])]
    },
};

pub(crate) const FUNCTIONS: Target = Target {
    name: "functions",
    run: hostile::functions,
    seeds: |_| {
        vec![message(&[
            (21, &1u32.to_ne_bytes()),
            (22, &attribute(1, &attribute(1, &[0; 36]))),
        ])]
    },
};

pub(crate) const DEVLINK: Target = Target {
    name: "devlink",
    run: hostile::devlink,
    seeds: |_| {
        let mut bytes = vec![5, 1, 0, 0];
        for (kind, value) in [
            (1, &b"pci\0"[..]),
            (2, b"0000:01:00.0\0"),
            (3, &[1, 0, 0, 0]),
            (77, &[4, 0]),
        ] {
            bytes.extend(attribute(kind, value));
        }
        vec![bytes]
    },
};

pub(crate) const TRAFFIC_CONTROL: Target = Target {
    name: "traffic_control",
    run: hostile::traffic_control,
    seeds: |_| {
        let recorded = RECORDED.iter().map(|messages| messages.to_vec());
        // One message by itself, too.
        recorded.chain([bucket()]).collect()
    },
};

macro_rules! recorded {
    ($($name:literal)*) => {
        [$(include_bytes!(concat!("../../netdev/tests/traffic_control/", $name, ".nl"))),*]
    };
}

/// What the kernel told of limits that other programs had set.
const RECORDED: [&[u8]; 9] = recorded!(
    "cni" "libvirt" "libvirt-fq_codel" "neutron" "openvswitch-hfsc" "openvswitch-htb" "openvswitch-offload"
    "openvswitch-policing" "proxmox"
);

/// An attribute (struct nlattr) with its padding.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// A message about a limiter of ours: struct tcmsg, and attributes.
fn bucket() -> Vec<u8> {
    let words: [u32; 5] = [0, 7, 0x6e63_0000, u32::MAX, 0];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let parameters = attribute(1, &[0; 36]);
    for (kind, value) in [
        (1, &b"tbf\0"[..]),
        (2, &parameters),
        (7, &attribute(1, &[0; 16])),
    ] {
        bytes.extend(attribute(kind, value));
    }
    bytes
}

/// A message about an interface: struct ifinfomsg, and attributes.
fn message(attributes: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 1, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
    for (kind, value) in attributes {
        bytes.extend(attribute(*kind, value));
    }
    bytes
}
