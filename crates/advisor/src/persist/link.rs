//! systemd.link(5): what udev sets when an interface appears.

use std::collections::BTreeMap;

use nicety_model::HostFacts;
use nicety_model::kept::Kept;
use nicety_model::knob::{CoalesceParameter, Knob, Side};

use super::Match;

/// Only the first file that matches an interface counts, so ours has to name it as the default
/// one does (99-default.link of systemd).
const NAMING: &str = "NamePolicy=keep kernel database onboard slot path\n\
                      AlternativeNamesPolicy=database onboard slot path\n\
                      MACAddressPolicy=persistent\n";

/// Text of the file of every interface that has settings such a file knows.
pub(super) fn bodies(facts: &HostFacts, kept: &Kept) -> BTreeMap<String, String> {
    let mut bodies: BTreeMap<String, String> = BTreeMap::new();
    for (knob, value) in kept.knobs() {
        if let Some((interface, line)) = line(knob, value) {
            let body = bodies
                .entry(interface.to_owned())
                .or_insert_with(|| head(facts, interface));
            body.push_str(&line);
            body.push('\n');
        }
    }
    bodies
}

fn head(facts: &HostFacts, interface: &str) -> String {
    let whose = match Match::of(facts, interface) {
        Match::Path(path) => format!("Path={path}"),
        Match::Name(name) => format!("OriginalName={name}"),
    };
    format!("[Match]\n{whose}\n\n[Link]\n{NAMING}")
}

/// Key of a setting in such a file.
pub(crate) fn key(knob: &Knob) -> Option<(&str, &'static str)> {
    let pair = match knob {
        Knob::Mtu { interface } => (interface, "MTUBytes"),
        Knob::Ring { interface, side } => match side {
            Side::Rx => (interface, "RxBufferSize"),
            Side::Tx => (interface, "TxBufferSize"),
            Side::Combined => return None,
        },
        Knob::Channels { interface, side } => match side {
            Side::Rx => (interface, "RxChannels"),
            Side::Tx => (interface, "TxChannels"),
            Side::Combined => (interface, "CombinedChannels"),
        },
        Knob::Coalesce {
            interface,
            parameter,
        } => match parameter {
            CoalesceParameter::RxUsecs => (interface, "RxCoalesceSec"),
            CoalesceParameter::TxUsecs => (interface, "TxCoalesceSec"),
            CoalesceParameter::AdaptiveRx => (interface, "UseAdaptiveRxCoalesce"),
        },
        Knob::Feature { interface, feature } => {
            let key = match feature.as_str() {
                "rx-checksum" => "ReceiveChecksumOffload",
                "tx-checksum-ip-generic" => "TransmitChecksumOffload",
                "tx-tcp-segmentation" => "TCPSegmentationOffload",
                "tx-tcp6-segmentation" => "TCP6SegmentationOffload",
                "tx-generic-segmentation" => "GenericSegmentationOffload",
                "rx-gro" => "GenericReceiveOffload",
                "rx-gro-hw" => "GenericReceiveOffloadHardware",
                "rx-lro" => "LargeReceiveOffload",
                _ => return None,
            };
            (interface, key)
        }
        _ => return None,
    };
    Some((pair.0.as_str(), pair.1))
}

fn line<'a>(knob: &'a Knob, value: &str) -> Option<(&'a str, String)> {
    let (interface, key) = key(knob)?;
    let value = match (key, value) {
        ("RxCoalesceSec" | "TxCoalesceSec", number) => format!("{number}us"),
        (_, "on") => "yes".to_owned(),
        (_, "off") => "no".to_owned(),
        (_, value) => value.to_owned(),
    };
    Some((interface, format!("{key}={value}")))
}
