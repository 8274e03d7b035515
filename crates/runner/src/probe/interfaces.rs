//! Hardware interfaces: what their drivers can do for a tester.

use nicety_model::HostFacts;
use nicety_model::facts::{InterfaceClass, VfFacts};
use nicety_model::probe::{Ability, Answer, Area};
use nicety_netdev::ethtool::{Ethtool, HardwareStamps};
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::xdp_features::{self, XdpFeatures};

use crate::stamps::{LOST, in_words, usable};

/// All of them.
pub(super) fn all(facts: &HostFacts) -> Vec<Ability> {
    let Ok(ns) = NetNs::current() else {
        return Vec::new();
    };
    let ethtool = Ethtool::open(&ns);
    let hardware = |net: &&nicety_model::facts::NetFacts| net.class == InterfaceClass::Hardware;
    let mut all = Vec::new();
    for net in facts.interfaces.iter().filter(hardware) {
        let name = net.name();
        all.push(xdp(name, xdp_features::read(&ns, net.link.index)));
        if let Ok(ethtool) = &ethtool {
            all.push(stamps(name, ethtool.hardware_stamps(name)));
        }
        all.push(functions(name, net.is_vf, net.vfs.as_ref()));
    }
    if all.is_empty() {
        all.push(
            Ability::new(
                Area::Interface,
                "hardware",
                Answer::No,
                "there is none here",
            )
            .costs("paths are made of software; SR-IOV cannot be measured")
            .remedy("nicety lab shell has an SR-IOV NIC to try"),
        );
    }
    all
}

fn ability(interface: &str, what: &str, answer: Answer, finding: impl Into<String>) -> Ability {
    Ability::new(
        Area::Interface,
        format!("{interface}: {what}"),
        answer,
        finding,
    )
}

fn xdp(interface: &str, reported: Result<XdpFeatures, NetError>) -> Ability {
    let ability = |answer, finding: &str| ability(interface, "XDP in the driver", answer, finding);
    match reported {
        Err(_) => ability(
            Answer::Unknown,
            "this kernel does not tell (Linux 6.3 does)",
        ),
        Ok(XdpFeatures { native: false, .. }) => ability(Answer::No, "the driver has none").costs(
            "frames are counted after the kernel has made a buffer for each, which is slower",
        ),
        Ok(features) => {
            let zero_copy = if features.zero_copy {
                ", AF_XDP without copying"
            } else {
                ", AF_XDP copies"
            };
            if features.sends {
                ability(Answer::Yes, &format!("counts and sends{zero_copy}"))
            } else {
                ability(
                    Answer::Partly,
                    &format!("counts, does not send now{zero_copy}"),
                )
                .costs("sent with AF_XDP sockets instead of xdp")
                .remedy("more transmit queues than CPUs make some drivers send: ethtool -L")
            }
        }
    }
}

fn stamps(interface: &str, reported: Result<HardwareStamps, NetError>) -> Ability {
    let ability = |answer, finding| ability(interface, "hardware time stamps", answer, finding);
    let finding = in_words(&reported);
    match reported {
        Ok(stamps) if usable(&stamps) => ability(Answer::Yes, finding),
        Err(error) if !matches!(error, NetError::Unsupported { .. }) => {
            ability(Answer::Unknown, finding)
        }
        Ok(HardwareStamps { tx: true, .. } | HardwareStamps { rx: true, .. }) => {
            ability(Answer::Partly, finding).costs(LOST)
        }
        _ => ability(Answer::No, finding).costs(LOST),
    }
}

fn functions(interface: &str, is_vf: bool, vfs: Option<&VfFacts>) -> Ability {
    let ability = |answer, finding: String| ability(interface, "SR-IOV", answer, finding);
    match vfs {
        Some(vfs) if vfs.max > 0 => ability(
            Answer::Yes,
            format!("{} of {} functions made", vfs.count, vfs.max),
        ),
        _ if is_vf => ability(Answer::No, "it is a virtual function itself".to_owned()),
        _ => ability(Answer::No, "the device has no virtual functions".to_owned())
            .costs("no virtual functions for guests"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_driver_says_in_words() {
        let features = |native, sends, zero_copy| {
            Ok(XdpFeatures {
                native,
                sends,
                zero_copy,
            })
        };
        assert_eq!(
            xdp("eth0", features(true, true, true)).finding,
            "counts and sends, AF_XDP without copying"
        );
        assert_eq!(
            xdp("eth0", features(true, false, false)).answer,
            Answer::Partly
        );
        assert_eq!(
            xdp("eth0", features(false, false, false)).answer,
            Answer::No
        );
        assert_eq!(
            stamps(
                "eth1",
                Ok(HardwareStamps {
                    tx: false,
                    rx: false,
                    rx_all: false,
                    rx_filters: 0,
                    clock: None
                })
            )
            .name,
            "eth1: hardware time stamps"
        );
        let vfs = VfFacts { count: 2, max: 7 };
        assert_eq!(
            functions("eth0", false, Some(&vfs)).finding,
            "2 of 7 functions made"
        );
        assert_eq!(functions("eth0", false, None).answer, Answer::No);
    }
}
