//! What the kernel has at a port, byte for byte.

use std::collections::BTreeSet;
use std::path::Path;

use nicety_model::BitRate;
use nicety_model::traffic_control::{Action, Handle, Qdisc, QdiscLimit, TrafficControl};
use nicety_netdev::netns::NetNs;
use nicety_policed::adopt::Host;

use crate::uplink::Uplink;

/// Looks at a1.
pub struct Kernel {
    host: Host,
    index: u32,
}

/// What is at a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Disciplines and filters without what the kernel counts or chooses.
    pub raw: Vec<Vec<u8>>,
    /// Rate of the bucket that the only filter redirects to, or of its policer.
    pub rate: Option<BitRate>,
}

impl Kernel {
    /// Only root may look into a namespace from outside.
    pub fn of(uplink: &Uplink) -> Self {
        Self::at(uplink, "a1")
    }

    /// At another interface.
    pub fn at(uplink: &Uplink, name: &str) -> Self {
        let path = format!("/proc/{}/ns/net", uplink.lab.enter()[2]);
        let ns = NetNs::at(Path::new(&path)).unwrap();
        let index = uplink.lab.sh(&format!("ip -o link show {name}"));
        let index = index.split(':').next().unwrap().trim().parse().unwrap();
        Self {
            host: Host::open(&ns).unwrap(),
            index,
        }
    }

    fn read(&self) -> Option<(TrafficControl, Option<BitRate>)> {
        let host = self.host.read(&BTreeSet::from([self.index])).unwrap();
        let control = host.get(&self.index)?.control.clone();
        let rate = control
            .filters
            .first()
            .and_then(|filter| match filter.actions[..] {
                [Action::Redirect(to)] => {
                    let to = host.get(&to)?;
                    let root = to.control.qdiscs.iter();
                    let mut root = root.filter(|qdisc| qdisc.parent == Handle::ROOT);
                    match root.next()?.limit {
                        Some(QdiscLimit::Bucket(bucket)) => Some(bucket.rate),
                        _ => None,
                    }
                }
                [Action::Police(police)] => Some(police.rate?.rate),
                _ => None,
            });
        Some((control, rate))
    }

    /// Whether all that comes in is limited.
    pub fn is_limited(&self) -> bool {
        let all = |(control, rate): (TrafficControl, Option<BitRate>)| {
            let first = control.filters.first();
            rate.is_some()
                && first.is_some_and(nicety_model::traffic_control::Filter::is_for_every_frame)
        };
        self.read().is_some_and(all)
    }

    /// Whether something limits what goes out: a bucket, or classes.
    pub fn is_limited_at_root(&self) -> bool {
        self.read().is_some_and(|(control, _)| {
            let root = |qdisc: &&Qdisc| qdisc.parent == Handle::ROOT;
            match control.qdiscs.iter().find(root).map(|root| root.limit) {
                Some(Some(QdiscLimit::Bucket(_))) => true,
                Some(Some(QdiscLimit::Classes { .. })) => !control.classes.is_empty(),
                _ => false,
            }
        })
    }

    /// Disciplines and classes at the root, with their numbers, and without that of the interface and what the kernel
    /// counts.
    pub fn roots(&self) -> Vec<Vec<u8>> {
        let Some((control, _)) = self.read() else {
            return Vec::new();
        };
        let blank = |raw: &Vec<u8>| {
            const INTERFACE: std::ops::Range<usize> = 4..8;
            let (header, attributes) = raw.split_at(20);
            let mut header = header.to_vec();
            header[INTERFACE].fill(0);
            [header, blanked(attributes, &ROOT)].concat()
        };
        let at_root = control
            .qdiscs
            .iter()
            .filter(|qdisc| qdisc.parent != Handle::INGRESS);
        let classes = control.classes.iter().map(|class| blank(&class.raw));
        at_root
            .map(|qdisc| blank(&qdisc.raw))
            .chain(classes)
            .collect()
    }

    /// What limits it; an empty discipline does not.
    pub fn state(&self) -> State {
        let Some((control, rate)) = self
            .read()
            .filter(|(control, _)| !control.filters.is_empty())
        else {
            return State {
                raw: Vec::new(),
                rate: None,
            };
        };
        let qdiscs = control
            .qdiscs
            .iter()
            .map(|qdisc| without_counts(&qdisc.raw, &QDISC));
        let filters = control
            .filters
            .iter()
            .map(|filter| without_counts(&filter.raw, &FILTER));
        State {
            raw: qdiscs.chain(filters).collect(),
            rate,
        }
    }
}

/// Attributes of a message about a discipline or filter: what is blanked, and what lies below.
struct Shape {
    /// Kinds that are counted: statistics and times.
    counted: &'static [u16],
    /// Kinds that hold attributes, with their shape; 0 for any.
    below: &'static [(u16, &'static Shape)],
    /// A structure of which some words are the kernel's choice.
    words: Option<(u16, &'static [usize])>,
}

const QDISC: Shape = Shape {
    counted: &[3, 7],
    below: &[],
    words: None,
};
/// TCA_STATS, XSTATS and STATS2; TCA_OPTIONS.
const ROOT: Shape = Shape {
    counted: &[3, 4, 7],
    below: &[(2, &CLASSFUL)],
    words: None,
};
/// Of TCA_HTB_INIT the frames that no class has taken.
const CLASSFUL: Shape = Shape {
    counted: &[],
    below: &[],
    words: Some((2, &[16])),
};
const FILTER: Shape = Shape {
    counted: &[3, 7],
    below: &[(2, &OPTIONS)],
    words: None,
};
/// TCA_U32_HASH and PCNT; TCA_U32_ACT.
const OPTIONS: Shape = Shape {
    counted: &[2, 9],
    below: &[(7, &ACTIONS)],
    words: None,
};
const ACTIONS: Shape = Shape {
    counted: &[],
    below: &[(0, &ACTION)],
    words: None,
};
/// TCA_ACT_STATS; TCA_ACT_OPTIONS.
const ACTION: Shape = Shape {
    counted: &[4],
    below: &[(2, &MIRRED)],
    words: None,
};
/// TCA_MIRRED_TM; of TCA_MIRRED_PARMS the number of the action.
const MIRRED: Shape = Shape {
    counted: &[1],
    below: &[],
    words: Some((2, &[0])),
};

/// The bytes with blanks where the kernel counts, and where it chooses a number: of an action, and of the table of
/// `cls_u32`, which is another when a filter comes beside one that is there. Their length stays.
fn without_counts(message: &[u8], shape: &Shape) -> Vec<u8> {
    const HANDLE: std::ops::Range<usize> = 8..12;
    let (header, attributes) = message.split_at(20);
    let mut header = header.to_vec();
    header[HANDLE].fill(0);
    [header, blanked(attributes, shape)].concat()
}

fn blanked(attributes: &[u8], shape: &Shape) -> Vec<u8> {
    let mut all = attributes.to_vec();
    let mut at = 0;
    while at + 4 <= all.len() {
        let word = |at: usize| u16::from_ne_bytes([all[at], all[at + 1]]);
        let (length, kind) = (usize::from(word(at)), word(at + 2) & 0x3fff);
        let value = at + 4..at + length;
        if shape.counted.contains(&kind) {
            all[value.clone()].fill(0);
        }
        let below = shape.below.iter().find(|(of, _)| *of == kind || *of == 0);
        if let Some((_, below)) = below {
            let inside = blanked(&all[value.clone()], below);
            all[value.clone()].copy_from_slice(&inside);
        }
        if let Some((_, words)) = shape.words.filter(|(of, _)| *of == kind) {
            for word in words {
                all[value.start + word..value.start + word + 4].fill(0);
            }
        }
        at += length.next_multiple_of(4);
    }
    all
}
