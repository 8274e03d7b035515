//! A bridge that does not forward.

use nicety_testkit::runner::Skip;

use crate::case::{Run, all_lost, commands, trial};

/// Every function in which a bridge throws frames away.
const BRIDGE: [&str; 9] = [
    "br_nf_dev_queue_xmit",
    "br_handle_frame_finish",
    "br_handle_frame",
    "br_flood",
    "br_forward",
    "__br_forward",
    "br_dev_queue_push_xmit",
    "br_allowed_ingress",
    "__allowed_ingress",
];

fn lost_at(device: &str, names: &[&str], lines: &[&str]) -> Result<(), Skip> {
    let record = trial(Run::default(), |path| commands(path, lines))?;
    assert_eq!(record.frames.received, 0);
    all_lost(&record, device, names);
    Ok(())
}

pub fn down() -> Result<(), Skip> {
    lost_at("d0", &BRIDGE, &["bridge link set dev d1 state 0"])
}

pub fn isolated() -> Result<(), Skip> {
    let lines = [
        "bridge link set dev d0 isolated on",
        "bridge link set dev d1 isolated on",
    ];
    lost_at("d0", &BRIDGE, &lines)
}

pub fn blocked() -> Result<(), Skip> {
    let names = [
        "BRIDGE_INGRESS_STP_STATE",
        "br_handle_frame",
        "br_handle_frame_finish",
    ];
    lost_at("d0", &names, &["bridge link set dev d0 state 0"])
}

pub fn hairpin() -> Result<(), Skip> {
    // The tester's address at port B.
    let mac = nicety_packet::MacAddr::local(2);
    let line = format!("bridge fdb replace {mac} dev d0 master static");
    lost_at("d0", &BRIDGE, &[&line])
}

pub fn vlan() -> Result<(), Skip> {
    let lines = [
        "ip link set br0 type bridge vlan_filtering 1",
        "bridge vlan del vid 1 dev d0",
    ];
    lost_at("d0", &BRIDGE, &lines)
}

pub fn mtu() -> Result<(), Skip> {
    let how = Run {
        bytes: 512,
        ..Run::default()
    };
    let record = trial(how, |path| commands(path, &["ip link set d1 mtu 256"]))?;
    assert_eq!(record.frames.received, 0);
    let (frames, _) = crate::case::told(&record, "d1", &BRIDGE);
    let device = if frames > 0 { "d1" } else { "d0" };
    all_lost(&record, device, &[&BRIDGE[..], &["PKT_TOO_BIG"]].concat());
    Ok(())
}
