//! All qdiscs of a namespace at one moment.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use libc::{
    IFLA_IFNAME, IFLA_INFO_KIND, IFLA_LINKINFO, IFLA_MTU, IFLA_PARENT_DEV_NAME, IFLA_STATS64,
    TCA_KIND, TCA_OPTIONS, TCA_STATS2,
};

use super::message::{BUCKET, IFLA_STATS_LINK_64, INGRESS, INGRESS_PARENT, ROOT, TC_HEADER};
use super::{HEADER, Shape, port_of};
use crate::raw::{Attributes, LINK_HEADER, text, u16_at, u32_at, u64_at};
use crate::tc::{Stats, TCA_TBF_PARMS, TCA_TBF_PRATE64, TCA_TBF_RATE64, rate};
use nicety_model::knob::{NOQUEUE, PACKET_BYTES};
use nicety_model::traffic_control::{self, CLSACT, Handle};

/// Bytes of struct if_stats_msg.
const STATS_HEADER: usize = 12;
const IFF_UP: u32 = 1;

/// A token bucket set here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Its limit.
    pub shape: Shape,
    /// Bytes that may pass at once: no longer frame ever does. Rounded down.
    pub burst_bytes: u64,
    /// Bytes that passed, without FCS.
    pub bytes: u64,
    /// Frames that passed.
    pub frames: u64,
    /// Frames dropped because too many waited, modulo 2³².
    pub drops: u32,
    /// Bytes that wait.
    pub backlog: u32,
}

impl Bucket {
    /// Whether every frame of a port of this MTU passes; one with VLAN tags may be longer.
    pub(super) fn fits(&self, mtu: u32) -> bool {
        self.burst_bytes >= u64::from(mtu) + HEADER
    }
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
    /// Name of its device in sysfs, of a PCI function its address; empty for software and for kernels
    /// before 5.14.
    pub device: String,
    /// Set up by the administrator.
    pub up: bool,
    /// MTU in bytes.
    pub mtu: u32,
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
    faces: Arc<Vec<Face>>,
    places: Arc<Places>,
    buckets: HashMap<u32, Bucket>,
    ingress: HashMap<u32, Cow<'static, str>>,
    foreign_roots: HashMap<u32, String>,
    /// Interfaces whose root somebody has made `noqueue`, which limits nothing.
    unqueued: BTreeSet<u32>,
    /// Buckets that hang at a class of another program's discipline: which class.
    below: HashMap<u32, u32>,
    /// Interfaces whose counters or buckets are others than in the look before; none when anything may
    /// be.
    pub(super) moved: Option<BTreeSet<u32>>,
    /// Buckets that something came to just before the last look: it may have got there since.
    late: BTreeSet<u32>,
    /// Most buckets had something to do: to ask for all at once is cheaper.
    pub(super) busy: bool,
    /// The filters are looked at too.
    pub(super) deep: bool,
}

/// Where interfaces are among the faces.
#[derive(Debug, Default)]
struct Places {
    by_name: HashMap<String, usize>,
    by_index: HashMap<u32, usize>,
    /// Interfaces made for ports, by the number of the port.
    made: HashMap<u32, u32>,
}

impl Survey {
    /// With the interfaces of a dump, and no qdiscs yet.
    pub(super) fn new(faces: Vec<Face>) -> Self {
        let mut places = Places::default();
        for (at, face) in faces.iter().enumerate() {
            places.by_name.insert(face.name.clone(), at);
            places.by_index.insert(face.index, at);
            if let Some(port) = port_of(&face.name) {
                places.made.insert(port, face.index);
            }
        }
        Self {
            faces: Arc::new(faces),
            places: Arc::new(places),
            deep: true,
            ..Self::default()
        }
    }

    /// With the interfaces of an older one, and no qdiscs yet.
    pub(super) fn again(&self) -> Self {
        Self {
            faces: Arc::clone(&self.faces),
            places: Arc::clone(&self.places),
            busy: self.busy,
            ..Self::default()
        }
    }

    /// Takes new counters of interfaces, from `RTM_NEWSTATS` messages. Returns the interfaces whose
    /// buckets are not what they were: something came or went since, just before, or waited.
    pub(super) fn recount(&mut self, counters: &[(u32, [u64; 4])]) -> BTreeSet<u32> {
        let waits = |(index, bucket): (&u32, &Bucket)| (bucket.backlog > 0).then_some(*index);
        let mut moved: BTreeSet<u32> = self.buckets.iter().filter_map(waits).collect();
        moved.append(&mut self.late);
        let mut stirred = moved.clone();
        let faces = Arc::make_mut(&mut self.faces);
        for (place, (index, counters)) in counters.iter().enumerate() {
            // The kernel tells them in the order in which it has told the interfaces.
            let expected = faces.get(place).is_some_and(|face| face.index == *index);
            let at = if expected {
                Some(place)
            } else {
                self.places.by_index.get(index).copied()
            };
            let Some(face) = at.and_then(|at| faces.get_mut(at)) else {
                continue;
            };
            if face.count(*counters) {
                moved.insert(*index);
                let holders = [Some(index), self.places.made.get(index)].into_iter();
                let holders = holders.flatten().copied();
                self.late
                    .extend(holders.filter(|holder| self.buckets.contains_key(holder)));
            }
        }
        stirred.extend(&self.late);
        self.moved = Some(moved);
        stirred
    }

    /// Filters were looked at, too: what others have set is what it was then.
    pub fn is_deep(&self) -> bool {
        self.deep
    }

    /// The kind of a qdisc for what comes in at an interface.
    pub fn ingress_kind(&self, face: &Face) -> Option<&str> {
        self.ingress(face.index)
    }

    /// Whether counters and limit of a port are what they were in the look before.
    pub fn is_still(&self, port: u32) -> bool {
        self.moved.as_ref().is_some_and(|moved| {
            let holder = || self.made_for(port);
            moved.is_empty()
                || !moved.contains(&port) && holder().is_none_or(|holder| !moved.contains(&holder))
        })
    }

    /// Whether so many of these qdiscs were better listed all at once. Asking for one takes longer than
    /// listing some, and all who listen for changes of qdiscs, systemd-networkd among them, are told the
    /// answer.
    pub(super) fn many(&self, count: usize) -> bool {
        16 * count > self.buckets.len() + self.ingress.len()
    }

    /// Buckets that are not as they were in an older one.
    pub(super) fn stirred_since(&self, before: &Self) -> usize {
        let other = |(index, bucket): &(&u32, &Bucket)| before.buckets.get(index) != Some(bucket);
        self.buckets.iter().filter(other).count()
    }

    /// Takes a bucket read anew; false when there is none of ours.
    pub(super) fn renew(&mut self, index: u32, body: &[u8]) -> bool {
        self.buckets.remove(&index);
        self.below.remove(&index);
        self.add(body).is_some() && self.buckets.contains_key(&index)
    }

    /// Takes an `RTM_NEWQDISC`.
    pub(super) fn add(&mut self, body: &[u8]) -> Option<()> {
        let index = u32_at(body, 4)?;
        let handle = u32_at(body, 8)?;
        let parent = u32_at(body, 12)?;
        let attributes = Attributes::of(body.get(TC_HEADER..)?);
        let kind = text(attributes.find(TCA_KIND)?);
        match (parent, handle) {
            (INGRESS_PARENT, _) => {
                let kind = match kind {
                    "ingress" => Cow::Borrowed("ingress"),
                    CLSACT => Cow::Borrowed(CLSACT),
                    kind => Cow::Owned(kind.to_owned()),
                };
                self.ingress.insert(index, kind);
            }
            (parent, BUCKET) if kind == "tbf" => {
                self.buckets.insert(index, bucket(attributes)?);
                if parent != ROOT {
                    self.below.insert(index, parent);
                }
            }
            (ROOT, handle) if handle != 0 && kind == NOQUEUE => {
                self.unqueued.insert(index);
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
        self.faces.get(*self.places.by_name.get(name)?)
    }

    /// An interface by number.
    pub fn face_at(&self, index: u32) -> Option<&Face> {
        self.faces.get(*self.places.by_index.get(&index)?)
    }

    /// The interface that what comes out of a port leaves by when it is limited.
    pub fn limiter_of(&self, port: &Face) -> Option<&Face> {
        let index = self.made_for(port.index)?;
        self.faces.get(*self.places.by_index.get(&index)?)
    }

    pub(super) fn faces(&self) -> impl Iterator<Item = &Face> {
        self.faces.iter()
    }

    pub(super) fn has(&self, index: u32) -> bool {
        self.places.by_index.contains_key(&index)
    }

    /// The interface made for a port.
    pub(super) fn made_for(&self, port: u32) -> Option<u32> {
        self.places.made.get(&port).copied()
    }

    pub(super) fn bucket(&self, index: u32) -> Option<&Bucket> {
        self.buckets.get(&index)
    }

    /// Whether some frame of a port does not fit into its bucket any more, since its MTU has grown: such frames are
    /// dropped for ever (net/sched/sch_tbf.c, `tbf_enqueue`).
    pub fn is_cramped(&self, port: &Face) -> bool {
        self.cramped(port).next().is_some()
    }

    /// The buckets of a port that some frame does not fit into, with their interfaces.
    pub(super) fn cramped(&self, port: &Face) -> impl Iterator<Item = (u32, Bucket)> {
        let holders = [self.made_for(port.index), Some(port.index)];
        let mtu = port.mtu;
        (holders.into_iter().flatten())
            .filter_map(|index| Some((index, *self.bucket(index)?)))
            .filter(move |(_, bucket)| !bucket.fits(mtu))
    }

    pub(super) fn ingress(&self, index: u32) -> Option<&str> {
        self.ingress.get(&index).map(AsRef::as_ref)
    }

    /// The interface and the place of filters for what comes in there: of `clsact` it is another one.
    pub(super) fn filters_at(&self, index: u32) -> (u32, u32) {
        match self.ingress(index) {
            Some(CLSACT) => (index, Handle::CLSACT_INGRESS.0),
            _ => (index, INGRESS),
        }
    }

    /// What the bucket of an interface hangs at, or would: its root where there is nothing else.
    pub(super) fn place(&self, index: u32) -> u32 {
        self.below.get(&index).copied().unwrap_or(ROOT)
    }

    pub(super) fn is_unqueued(&self, index: u32) -> bool {
        self.unqueued.contains(&index)
    }

    pub(super) fn foreign_root(&self, index: u32) -> Option<&str> {
        self.foreign_roots.get(&index).map(String::as_str)
    }
}

impl Face {
    /// Frames received and sent, bytes received and sent: the first words of
    /// struct rtnl_link_stats64. Returns whether they are others than before.
    fn count(&mut self, counters: [u64; 4]) -> bool {
        let before = [self.rx_frames, self.tx_frames, self.rx_bytes, self.tx_bytes];
        let [rx_frames, tx_frames, rx_bytes, tx_bytes] = counters;
        self.rx_frames = rx_frames;
        self.tx_frames = tx_frames;
        self.rx_bytes = rx_bytes;
        self.tx_bytes = tx_bytes;
        before != counters
    }
}

fn counters(stats: &[u8]) -> [u64; 4] {
    [0, 1, 2, 3].map(|at: usize| u64_at(stats, 8 * at).unwrap_or(0))
}

/// One `RTM_NEWLINK`.
pub(super) fn face(body: &[u8]) -> Option<Face> {
    let attributes = Attributes::of(body.get(LINK_HEADER..)?);
    let info = attributes.find(IFLA_LINKINFO).map(Attributes::of);
    let kind = info.and_then(|info| info.find(IFLA_INFO_KIND));
    let mut face = Face {
        index: u32_at(body, 4)?,
        up: u32_at(body, 8)? & IFF_UP != 0,
        name: text(attributes.find(IFLA_IFNAME)?).to_owned(),
        kind: kind.map(text).unwrap_or_default().to_owned(),
        mtu: (attributes.find(IFLA_MTU))
            .and_then(|mtu| u32_at(mtu, 0))
            .unwrap_or_default(),
        device: attributes
            .find(IFLA_PARENT_DEV_NAME)
            .map(text)
            .unwrap_or_default()
            .to_owned(),
        ..Face::default()
    };
    face.count(counters(attributes.find(IFLA_STATS64).unwrap_or_default()));
    Some(face)
}

/// One `RTM_NEWSTATS`: number and counters of an interface.
pub(super) fn stats(body: &[u8]) -> Option<(u32, [u64; 4])> {
    let attributes = Attributes::of(body.get(STATS_HEADER..)?);
    Some((
        u32_at(body, 4)?,
        counters(attributes.find(IFLA_STATS_LINK_64)?),
    ))
}

fn bucket(attributes: Attributes<'_>) -> Option<Bucket> {
    let options = Attributes::of(attributes.find(TCA_OPTIONS)?);
    let parameters = options.find(TCA_TBF_PARMS)?;
    let limit = rate(parameters, options.find(TCA_TBF_RATE64))?;
    // A kernel that does not know the least size tells none, and counts bytes.
    let peak = parameters.get(12..24).unwrap_or_default();
    let counts = u16_at(peak, 6) == Some(PACKET_BYTES);
    let peak = rate(peak, options.find(TCA_TBF_PRATE64)).filter(|_| counts);
    let stats = Stats::of(attributes.find(TCA_STATS2));
    // struct tc_tbf_qopt: two rates of struct tc_ratespec, what may wait, what may pass at once as time.
    let overhead = u64::from(u16_at(parameters, 2)?);
    let at_once = traffic_control::burst_bytes(limit, u32_at(parameters, 28)?);
    Some(Bucket {
        burst_bytes: at_once.saturating_sub(overhead),
        shape: Shape {
            rate: limit,
            wire: overhead > 0,
            packets: peak.map(|peak| peak.0 / 8 / u64::from(PACKET_BYTES)),
        },
        bytes: stats.bytes,
        frames: stats.frames,
        drops: stats.drops,
        backlog: stats.backlog,
    })
}

#[cfg(test)]
mod tests {
    use nicety_model::BitRate;

    use super::*;

    const TCA_STATS_BASIC: u16 = 1;
    const TCA_STATS_QUEUE: u16 = 3;

    #[test]
    fn a_bucket_is_read_from_what_the_kernel_would_send_back() {
        let shape = Shape {
            rate: BitRate::from_mbit(500),
            wire: true,
            packets: Some(10_000),
        };
        let mut message = super::super::message::bucket((7, ROOT), shape, 20_000, 200_000);
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
        let mut survey = Survey::default();
        survey.add(&message.body).unwrap();
        let bucket = *survey.bucket(7).unwrap();
        assert_eq!(bucket.shape, shape);
        assert_eq!((bucket.bytes, bucket.frames), (123_456, 99));
        assert_eq!((bucket.drops, bucket.backlog), (5, 3_000));
        assert_eq!(survey.foreign_root(7), None);
        // Below a discipline of somebody else it is ours all the same.
        let mut below = message.body.clone();
        below[12..16].copy_from_slice(&0x1_0001u32.to_ne_bytes());
        let mut survey = Survey::default();
        survey.add(&below).unwrap();
        assert_eq!((survey.place(7), survey.place(8)), (0x1_0001, ROOT));
        assert_eq!(survey.bucket(7).unwrap().shape, shape);
        assert!(survey.renew(7, &message.body));
        assert_eq!(survey.place(7), ROOT);
        // Another handle is somebody else's.
        message.body[11] = 0x12;
        let mut survey = Survey::default();
        survey.add(&message.body).unwrap();
        assert_eq!(survey.foreign_root(7), Some("tbf"));
        assert_eq!(survey.bucket(7), None);
    }

    #[test]
    fn a_bucket_is_cramped_when_the_mtu_of_its_port_has_grown() {
        let port = |mtu| Face {
            index: 3,
            mtu,
            ..Face::default()
        };
        let ifb = Face {
            index: 9,
            name: "nicety3".to_owned(),
            ..Face::default()
        };
        let shape = Shape::wire(BitRate::from_mbit(8));
        let mut message = super::super::message::bucket((9, ROOT), shape, 16_384, 200_000);
        // What the kernel tells: the time of the burst with what each frame has on the wire.
        let ticks = (16_384u32 + 24) * 1000 / 64;
        let options = message
            .body
            .windows(4)
            .position(|bytes| bytes == u32::to_ne_bytes(200_000));
        let at = options.unwrap() + 4;
        message.body[at..at + 4].copy_from_slice(&ticks.to_ne_bytes());
        let mut survey = Survey::new(vec![port(1500), ifb]);
        survey.add(&message.body).unwrap();
        assert_eq!(survey.bucket(9).unwrap().burst_bytes, 16_384);
        assert!(!survey.is_cramped(&port(1500)) && !survey.is_cramped(&port(16_370)));
        assert!(survey.is_cramped(&port(16_371)) && survey.is_cramped(&port(65_520)));
    }

    #[test]
    fn an_interface_tells_its_device() {
        let mut message = crate::raw::RawMessage::new(16, &[0; LINK_HEADER]);
        message.put_str(IFLA_IFNAME, "eth3");
        message.put_str(IFLA_PARENT_DEV_NAME, "0000:01:10.0");
        let survey = Survey::new(vec![face(&message.body).unwrap()]);
        assert_eq!(survey.of_device("0000:01:10.0").unwrap().name, "eth3");
        assert_eq!(survey.of_device("0000:01:10.1"), None);
    }

    #[test]
    fn counters_are_renewed_and_made_interfaces_found() {
        let face = |index, name: &str| Face {
            index,
            name: name.to_owned(),
            ..Face::default()
        };
        let survey = Survey::new(vec![
            face(3, "tap0"),
            face(9, "nicety3"),
            face(4, "nicetyx"),
        ]);
        assert_eq!((survey.made_for(3), survey.made_for(4)), (Some(9), None));
        let mut again = survey.again();
        let mut body = vec![0; 4];
        body.extend_from_slice(&3u32.to_ne_bytes());
        body.extend_from_slice(&1u32.to_ne_bytes());
        let mut message = crate::raw::RawMessage::new(92, &body);
        message.put(
            IFLA_STATS_LINK_64,
            &[1u64, 2, 3, 4].map(u64::to_ne_bytes).concat(),
        );
        let stirred = again.recount(&[stats(&message.body).unwrap(), (77, [0; 4])]);
        // Nobody limits it.
        assert!(stirred.is_empty());
        let now = again.face("tap0").unwrap();
        assert_eq!((now.rx_frames, now.tx_frames), (1, 2));
        assert_eq!((now.rx_bytes, now.tx_bytes), (3, 4));
        assert_eq!(survey.face("tap0").unwrap().rx_bytes, 0);
    }

    #[test]
    fn buckets_that_have_something_to_do_are_found_by_counters() {
        let face = |index, name: &str| Face {
            index,
            name: name.to_owned(),
            ..Face::default()
        };
        let mut survey = Survey::new(vec![
            face(3, "tap0"),
            face(9, "nicety3"),
            face(4, "tap1"),
            face(10, "nicety4"),
            face(5, "macvtap0"),
            face(6, "eth0"),
        ]);
        let shape = Shape {
            rate: BitRate::from_mbit(5),
            wire: true,
            packets: None,
        };
        let bucket =
            |index| super::super::message::bucket((index, ROOT), shape, 20_000, 200_000).body;
        for index in [9, 10, 5] {
            survey.add(&bucket(index)).unwrap();
        }
        let rest = [3, 9, 4, 10, 5, 6].map(|index| (index, [0; 4]));
        assert!(survey.recount(&rest).is_empty());
        // What comes to a port comes to the bucket made for it; eth0 has none.
        let came = [3, 5, 6].map(|index| (index, [1, 0, 60, 0]));
        assert_eq!(survey.recount(&came), BTreeSet::from([5, 9]));
        // It may have been on its way to the bucket.
        assert_eq!(survey.recount(&came), BTreeSet::from([5, 9]));
        assert!(!survey.is_still(3) && survey.is_still(4));
        assert!(survey.recount(&came).is_empty());
        assert!(survey.is_still(3) && survey.is_still(4));
        let left = [(10, [7, 7, 420, 420])];
        assert_eq!(survey.recount(&left), BTreeSet::from([10]));
        assert!(survey.is_still(3) && !survey.is_still(4));
        assert_eq!(survey.recount(&left), BTreeSet::from([10]));
        // What waits may leave, or have to stay, without any counter.
        let before = survey.clone();
        survey.buckets.get_mut(&9).unwrap().backlog = 80;
        assert_eq!(survey.recount(&left), BTreeSet::from([9]));
        assert_eq!(survey.stirred_since(&before), 1);
        assert!(survey.renew(9, &bucket(9)));
        assert_eq!(survey.stirred_since(&before), 0);
        // One, but not three of three, are better asked for one by one.
        assert!(!survey.many(0));
        assert!(survey.many(3));
        // Somebody else's is no bucket any more.
        let mut other = bucket(9);
        other[11] = 0x12;
        assert!(!survey.renew(9, &other));
        assert_eq!(survey.bucket(9), None);
    }
}
