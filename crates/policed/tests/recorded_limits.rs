//! What the kernel told of limits that other programs had set, recorded in Linux 6.12: whose they are, and whether they
//! can be given back.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::path::Path;

use nicety_model::BitRate;
use nicety_netdev::traffic_control::{can_return, recorded};
use nicety_police::adopt::{Adopted, By, Found, Interface, Switch, Unknown, Way, look};

/// The interface of a record, as its host has it; a second one is what its frames are sent to.
fn found(record: &str, index: u32, switch: Option<Switch>) -> Found {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../netdev/tests/traffic_control");
    let messages = std::fs::read(file.join(record).with_extension("nl")).unwrap();
    let host = recorded(&messages).into_iter().map(|(number, control)| {
        let name = if number == index { "port" } else { "bwp0" };
        let interface = Interface {
            name: name.to_owned(),
            switch: switch.filter(|_| number == index),
            control,
        };
        (number, interface)
    });
    let host: BTreeMap<u32, Interface> = host.collect();
    look(index, &host)
}

#[track_caller]
fn is(found: Option<Result<Adopted, Unknown>>, by: By, way: Way, kbit: u64) {
    let adopted = found.unwrap().unwrap();
    assert_eq!((adopted.by, adopted.way), (by, way));
    assert_eq!(adopted.rate, BitRate(kbit * 1000));
    assert_eq!(can_return(&adopted.parts), Ok(()));
}

#[test]
fn libvirt() {
    let found = found("libvirt", 201, Some(Switch::Bridge));
    is(found.sends, By::Libvirt, Way::Sends, 6_000);
    // Its ceiling of 16 Mbit/s comes to nothing: there is no class above to borrow from.
    is(found.receives, By::Libvirt, Way::Receives, 8_000);
}

#[test]
fn libvirt_with_another_leaf_that_has_classes_itself() {
    let found = found("libvirt-fq_codel", 202, None);
    assert_eq!(found.sends, None);
    is(found.receives, By::Libvirt, Way::Receives, 8_000);
}

#[test]
fn proxmox() {
    let found = found("proxmox", 203, Some(Switch::Bridge));
    is(found.sends, By::Proxmox, Way::Sends, 20_000);
    is(found.receives, By::Proxmox, Way::Receives, 20_000);
}

#[test]
fn neutron() {
    let found = found("neutron", 204, Some(Switch::Bridge));
    is(found.sends, By::Neutron, Way::Sends, 8_000);
    is(found.receives, By::Neutron, Way::Receives, 8_192);
}

#[test]
fn cni() {
    let found = found("cni", 205, None);
    let sends = found.sends.clone().unwrap().unwrap();
    assert!(matches!(sends.bars(), Some(Unknown::First { .. })));
    is(found.sends, By::Cni, Way::Sends, 8_000);
    // Nothing tells whose a tbf is.
    is(found.receives, By::Tc, Way::Receives, 16_000);
}

#[test]
fn open_v_switch() {
    for (record, kbit) in [
        ("openvswitch-policing", 8_000),
        ("openvswitch-offload", 9_000),
    ] {
        let found = found(record, 206, Some(Switch::OpenVSwitch));
        assert_eq!(found.receives, None);
        let sends = found.sends.clone().unwrap().unwrap();
        assert!(sends.bars().is_some());
        is(found.sends, By::OpenVSwitch, Way::Sends, kbit);
    }
    let htb = found("openvswitch-htb", 207, Some(Switch::OpenVSwitch));
    assert_eq!(htb.sends, None);
    is(htb.receives, By::OpenVSwitch, Way::Receives, 16_000);
    let hfsc = found("openvswitch-hfsc", 208, Some(Switch::OpenVSwitch));
    let what = hfsc.receives.unwrap().unwrap_err();
    assert!(matches!(what, Unknown::Kind { kind, .. } if kind == "hfsc"));
}
