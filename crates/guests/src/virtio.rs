//! What the virtio NIC of a guest and its driver have agreed on, as the guest's kernel shows it.

use std::fs;
use std::path::{Path, PathBuf};

use nicety_model::path::Virtio;

use crate::wire::NicFacts;

// Numbers of features (VIRTIO 1.2, 5.1.3 and 6).
const MRG_RXBUF: u32 = 15;
const INDIRECT_DESC: u32 = 28;
const ACCESS_PLATFORM: u32 = 33;
const RING_PACKED: u32 = 34;
const RSS: u32 = 60;

/// Type of the IOMMU's domain that lets every address through (`iommu_group_type` of the kernel).
const IDENTITY: &str = "identity";

/// Features of an interface's virtio device, a bit for each; none of another one's.
pub(crate) fn features(nic: &str) -> Option<u64> {
    bits(&fs::read_to_string(device(nic).join("features")).ok()?)
}

/// What the IOMMU before an interface's device does: `DMA-FQ`, `identity`; nothing where there is none.
pub(crate) fn iommu(nic: &str) -> Option<String> {
    // The virtio device is below that of the bus.
    let device = fs::canonicalize(device(nic)).ok()?;
    let kind = fs::read_to_string(device.parent()?.join("iommu_group/type")).ok()?;
    Some(kind.trim().to_owned())
}

fn device(nic: &str) -> PathBuf {
    Path::new("/sys/class/net").join(nic).join("device")
}

/// A character for each feature, that with number 0 first (drivers/virtio/virtio.c, `features_show`).
fn bits(text: &str) -> Option<u64> {
    let text = text.trim();
    let known = text.len() >= 64 && text.bytes().all(|byte| matches!(byte, b'0' | b'1'));
    let set = text.bytes().take(64).enumerate();
    known.then(|| {
        set.filter(|(_, byte)| *byte == b'1')
            .fold(0, |bits, (at, _)| bits | 1 << at)
    })
}

/// A switch of a virtio NIC that both sides know of.
struct Switch {
    /// Its key in a plan.
    key: &'static str,
    feature: u32,
    asked: fn(&Virtio) -> bool,
}

const SWITCHES: [Switch; 5] = [
    Switch {
        key: "packed",
        feature: RING_PACKED,
        asked: |ask| ask.packed,
    },
    Switch {
        key: "indirect_desc",
        feature: INDIRECT_DESC,
        asked: |ask| ask.indirect_desc,
    },
    Switch {
        key: "mrg_rxbuf",
        feature: MRG_RXBUF,
        asked: |ask| ask.mrg_rxbuf,
    },
    Switch {
        key: "rss",
        feature: RSS,
        asked: |ask| ask.rss,
    },
    Switch {
        key: "iommu",
        feature: ACCESS_PLATFORM,
        asked: |ask| ask.iommu,
    },
];

/// The switches that are not as QEMU makes them when it is told nothing: `packed on`.
pub fn unusual(facts: &NicFacts) -> Vec<String> {
    let Some(features) = facts.features else {
        return Vec::new();
    };
    let usual = Virtio::default();
    let switches = SWITCHES.iter().map(|switch| {
        let on = features >> switch.feature & 1 == 1;
        (switch.key, on, (switch.asked)(&usual))
    });
    let unusual = switches.filter(|(_, on, usual)| on != usual);
    unusual
        .map(|(key, on, _)| format!("{key} {}", word(on)))
        .collect()
}

/// Why the NIC is not what was asked for, if it is not: the first difference, by the plan's key. What was not asked for
/// otherwise may be as device and driver like it.
pub fn differs(ask: &Virtio, facts: &NicFacts) -> Option<(&'static str, String)> {
    let usual = Virtio::default();
    let features = facts.features?;
    for switch in &SWITCHES {
        let (asked, default) = ((switch.asked)(ask), (switch.asked)(&usual));
        let on = features >> switch.feature & 1 == 1;
        if asked != default && asked != on {
            let why = format!(
                "device and driver of the guest's {} agreed on {} = \"{}\", not \"{}\"",
                facts.name,
                switch.key,
                word(on),
                word(asked)
            );
            return Some((switch.key, why));
        }
    }
    match facts.iommu.as_deref() {
        Some(kind) if kind != IDENTITY => None,
        _ if !ask.iommu => None,
        other => Some((
            "iommu",
            format!(
                "the guest's kernel has no IOMMU that translates before {} (domain: {})",
                facts.name,
                other.unwrap_or("none")
            ),
        )),
    }
}

fn word(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(set: &[u32], iommu: Option<&str>) -> NicFacts {
        NicFacts {
            name: "eth0".to_owned(),
            driver: "virtio_net".to_owned(),
            queues: 1,
            rings: None,
            features: Some(set.iter().fold(0, |bits, at| bits | 1 << at)),
            iommu: iommu.map(str::to_owned),
        }
    }

    const USUAL: [u32; 2] = [MRG_RXBUF, INDIRECT_DESC];

    #[test]
    fn features_are_read_as_the_kernel_writes_them() {
        let mut text = "0".repeat(128);
        text.replace_range(15..16, "1");
        text.replace_range(34..35, "1");
        text.push('\n');
        assert_eq!(bits(&text), Some(1 << 15 | 1 << 34));
        assert_eq!(bits("0101"), None);
        assert_eq!(bits(""), None);
    }

    #[test]
    fn what_is_not_as_usual_is_told() {
        assert!(unusual(&facts(&USUAL, None)).is_empty());
        assert_eq!(
            unusual(&facts(&[INDIRECT_DESC, RING_PACKED], None)),
            ["packed on", "mrg_rxbuf off"]
        );
        let e1000 = NicFacts {
            features: None,
            ..facts(&[], None)
        };
        assert!(unusual(&e1000).is_empty());
    }

    #[test]
    fn a_nic_that_is_not_as_asked_is_named() {
        let packed = Virtio {
            packed: true,
            ..Virtio::default()
        };
        let (key, why) = differs(&packed, &facts(&USUAL, None)).unwrap();
        assert_eq!(key, "packed");
        assert_eq!(
            why,
            "device and driver of the guest's eth0 agreed on packed = \"off\", not \"on\""
        );
        let agreed = [MRG_RXBUF, INDIRECT_DESC, RING_PACKED];
        assert_eq!(differs(&packed, &facts(&agreed, None)), None);
        // Nobody asked for what this device has not.
        assert_eq!(differs(&Virtio::default(), &facts(&[], None)), None);
    }

    #[test]
    fn an_iommu_has_to_translate() {
        let ask = Virtio {
            iommu: true,
            ..Virtio::default()
        };
        let agreed = [MRG_RXBUF, INDIRECT_DESC, ACCESS_PLATFORM];
        assert_eq!(differs(&ask, &facts(&agreed, Some("DMA-FQ"))), None);
        for domain in [None, Some("identity")] {
            let (key, _) = differs(&ask, &facts(&agreed, domain)).unwrap();
            assert_eq!(key, "iommu");
        }
        assert_eq!(differs(&ask, &facts(&USUAL, None)).unwrap().0, "iommu");
    }
}
