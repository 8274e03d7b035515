//! All qdiscs of a namespace at one moment.

use std::collections::HashMap;
use std::sync::Arc;

use nicety_model::BitRate;

use super::Shape;
use super::message::{
    BUCKET, INGRESS_PARENT, ROOT, TC_HEADER, TCA_KIND, TCA_OPTIONS, TCA_TBF_PARMS, TCA_TBF_RATE64,
};
use crate::raw::{Attributes, RawMessage, text, u16_at, u32_at, u64_at};

/// Bytes of struct ifinfomsg.
const LINK_HEADER: usize = 16;
const IFLA_IFNAME: u16 = 3;
const IFLA_LINKINFO: u16 = 18;
const IFLA_STATS64: u16 = 23;
const IFLA_INFO_KIND: u16 = 1;
const IFF_UP: u32 = 1;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_PKT64: u16 = 8;

/// A token bucket set here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Its limit.
    pub shape: Shape,
    /// Bytes that passed, without FCS.
    pub bytes: u64,
    /// Frames that passed.
    pub frames: u64,
    /// Frames dropped because too many waited, modulo 2³².
    pub drops: u32,
    /// Bytes that wait.
    pub backlog: u32,
}

/// An interface, as far as limits need it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Face {
    /// Number.
    pub index: u32,
    /// Name.
    pub name: String,
    /// `veth`, `tun`, `macvtap`, …; empty for hardware.
    pub kind: String,
    /// Set up by the administrator.
    pub up: bool,
    /// Frames received.
    pub rx_frames: u64,
    /// Frames sent.
    pub tx_frames: u64,
    /// Bytes received, without FCS.
    pub rx_bytes: u64,
    /// Bytes sent, without FCS.
    pub tx_bytes: u64,
}

/// Buckets, ingress qdiscs and interfaces of a namespace.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    faces: Arc<HashMap<String, Face>>,
    buckets: HashMap<u32, Bucket>,
    ingress: HashMap<u32, String>,
    foreign_roots: HashMap<u32, String>,
    /// The filters are looked at too.
    pub(super) deep: bool,
}

impl Survey {
    pub(super) fn new(links: &[RawMessage], qdiscs: &[RawMessage]) -> Self {
        let faces = links.iter().filter_map(face);
        let faces = faces.map(|face| (face.name.clone(), face)).collect();
        Self::of(Arc::new(faces), qdiscs, true)
    }

    /// With new qdiscs and the interfaces of an older one.
    pub(super) fn again(&self, qdiscs: &[RawMessage]) -> Self {
        Self::of(Arc::clone(&self.faces), qdiscs, false)
    }

    fn of(faces: Arc<HashMap<String, Face>>, qdiscs: &[RawMessage], deep: bool) -> Self {
        let mut survey = Self {
            faces,
            deep,
            ..Self::default()
        };
        for qdisc in qdiscs {
            survey.add(qdisc);
        }
        survey
    }

    fn add(&mut self, message: &RawMessage) -> Option<()> {
        let index = u32_at(&message.body, 4)?;
        let handle = u32_at(&message.body, 8)?;
        let parent = u32_at(&message.body, 12)?;
        let attributes = message.attributes(TC_HEADER);
        let kind = text(attributes.find(TCA_KIND)?);
        match (parent, handle) {
            (INGRESS_PARENT, _) => {
                self.ingress.insert(index, kind.to_owned());
            }
            (ROOT, BUCKET) if kind == "tbf" => {
                self.buckets.insert(index, bucket(attributes)?);
            }
            // Handle 0 is the kernel's own choice.
            (ROOT, handle) if handle != 0 => {
                self.foreign_roots.insert(index, kind.to_owned());
            }
            _ => {}
        }
        Some(())
    }

    /// An interface by name.
    pub fn face(&self, name: &str) -> Option<&Face> {
        self.faces.get(name)
    }

    pub(super) fn faces(&self) -> impl Iterator<Item = &Face> {
        self.faces.values()
    }

    pub(super) fn index_of(&self, name: &str) -> Option<u32> {
        Some(self.faces.get(name)?.index)
    }

    pub(super) fn bucket(&self, index: u32) -> Option<&Bucket> {
        self.buckets.get(&index)
    }

    pub(super) fn ingress(&self, index: u32) -> Option<&str> {
        self.ingress.get(&index).map(String::as_str)
    }

    pub(super) fn foreign_root(&self, index: u32) -> Option<&str> {
        self.foreign_roots.get(&index).map(String::as_str)
    }
}

/// One `RTM_NEWLINK`.
fn face(message: &RawMessage) -> Option<Face> {
    let attributes = message.attributes(LINK_HEADER);
    let info = attributes.find(IFLA_LINKINFO).map(Attributes::of);
    let kind = info.and_then(|info| info.find(IFLA_INFO_KIND));
    let stats = attributes.find(IFLA_STATS64).unwrap_or_default();
    // struct rtnl_link_stats64.
    let count = |at: usize| u64_at(stats, 8 * at).unwrap_or(0);
    Some(Face {
        index: u32_at(&message.body, 4)?,
        up: u32_at(&message.body, 8)? & IFF_UP != 0,
        name: text(attributes.find(IFLA_IFNAME)?).to_owned(),
        kind: kind.map(text).unwrap_or_default().to_owned(),
        rx_frames: count(0),
        tx_frames: count(1),
        rx_bytes: count(2),
        tx_bytes: count(3),
    })
}

fn bucket(attributes: Attributes<'_>) -> Option<Bucket> {
    let options = Attributes::of(attributes.find(TCA_OPTIONS)?);
    let parameters = options.find(TCA_TBF_PARMS)?;
    let rate = match options.find(TCA_TBF_RATE64) {
        Some(rate) => u64_at(rate, 0)?,
        None => u64::from(u32_at(parameters, 8)?),
    };
    let mut bucket = Bucket {
        shape: Shape {
            rate: BitRate(rate.saturating_mul(8)),
            wire: u16_at(parameters, 2)? > 0,
        },
        bytes: 0,
        frames: 0,
        drops: 0,
        backlog: 0,
    };
    let stats = Attributes::of(attributes.find(TCA_STATS2).unwrap_or_default());
    if let Some(basic) = stats.find(TCA_STATS_BASIC) {
        bucket.bytes = u64_at(basic, 0)?;
        bucket.frames = u32_at(basic, 8)?.into();
    }
    if let Some(frames) = stats.find(TCA_STATS_PKT64) {
        bucket.frames = u64_at(frames, 0)?;
    }
    if let Some(queue) = stats.find(TCA_STATS_QUEUE) {
        bucket.backlog = u32_at(queue, 4)?;
        bucket.drops = u32_at(queue, 8)?;
    }
    Some(bucket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_read_from_what_the_kernel_would_send_back() {
        let shape = Shape {
            rate: BitRate::from_mbit(500),
            wire: true,
        };
        let mut message = super::super::message::bucket(7, shape, 20_000, 200_000);
        message.nest(TCA_STATS2, |stats| {
            let mut basic = 123_456u64.to_ne_bytes().to_vec();
            basic.extend_from_slice(&99u32.to_ne_bytes());
            basic.extend_from_slice(&[0; 4]);
            stats.put(TCA_STATS_BASIC, &basic);
            stats.put(
                TCA_STATS_QUEUE,
                &[2, 3_000, 5, 0, 0].map(u32::to_ne_bytes).concat(),
            );
        });
        let survey = Survey::new(&[], &[message.clone()]);
        let bucket = *survey.bucket(7).unwrap();
        assert_eq!(bucket.shape, shape);
        assert_eq!((bucket.bytes, bucket.frames), (123_456, 99));
        assert_eq!((bucket.drops, bucket.backlog), (5, 3_000));
        assert_eq!(survey.foreign_root(7), None);
        // Another handle is somebody else's.
        message.body[11] = 0x12;
        let survey = Survey::new(&[], &[message]);
        assert_eq!(survey.foreign_root(7), Some("tbf"));
        assert_eq!(survey.bucket(7), None);
    }
}
