//! Limits on what the owner of a tap, veth or macvtap sends: a token bucket (sch_tbf) that holds
//! frames instead of dropping them at once.
//!
//! What comes out of a tap or veth is received by the host, and what is received cannot queue: it
//! is redirected (ingress qdisc, cls_u32, act_mirred) to an interface of its own (ifb) whose root
//! is the bucket, and goes on from there as if it had just come in. What a macvtap's owner sends
//! is transmitted by the macvtap itself (drivers/net/tap.c, `tap_get_user`): the bucket is its
//! root.
//!
//! What others have put in these places is never touched.

mod changes;
mod counters;
mod message;
mod refresh;
mod replace;
mod root;
mod shared_root;
mod survey;

use std::io;
use std::time::Duration;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_sys::protocols::NETLINK_ROUTE;
use nicety_model::BitRate;
use nicety_model::traffic_control::{CLSACT, by_program, instead_of};

use crate::link::Links;
use crate::net_error::NetError;
use crate::netlink::Channel;
use crate::netns::NetNs;
use crate::raw::RawMessage;
use crate::traffic_control::filter_of;
use message::{BUCKET, FIRST, Redirect, Target};

pub use changes::{ChangeListener, Changes};
pub use refresh::{Limits, SurveyRequest};
pub use replace::GivenBack;
pub use survey::{Bucket, Face, Survey};

/// How long a bucket may send at the link's rate when nothing else is said.
pub const BURST: Duration = Duration::from_millis(4);
/// Bursts, in bytes, are at least `LARGE`, more than the 64 KiB of a segmented packet with the headers
/// of its segments, or else `SMALL`, a few frames, and never less than the longest frame of the port. Larger packets
/// are taken apart when they enter, but one that is in already and larger than a burst that shrinks would wait for ever
/// (net/sched/sch_tbf.c, `tbf_dequeue`): below `LARGE` none shrinks in its place.
const LARGE: u64 = 98_304;
const SMALL: u64 = 16_384;
/// What an Ethernet frame has beside what the MTU counts: its header and two VLAN tags.
const HEADER: u64 = 14;
const TAGS: u64 = 8;
/// What may wait in a bucket, as time at its rate, and at least.
const QUEUE: Duration = Duration::from_millis(25);
const LEAST_QUEUE: u64 = 98_304;
/// In the place of what is there.
const INSTEAD: u16 = NLM_F_CREATE | NLM_F_REPLACE;
/// There is none like it.
const NEW: u16 = NLM_F_CREATE | NLM_F_EXCL;
/// Disciplines for what comes in that a filter can be put into.
const PLACES: [&str; 2] = ["ingress", CLSACT];
const LIMIT: &str = "limit";
const REMOVE: &str = "remove limit of";
/// Begin of the names of the interfaces made here; the number of the port follows.
const PREFIX: &str = "nicety";

/// Where the numbers of these interfaces begin: behind all others, so that a dump in the order of numbers
/// comes to them last and need not be read so far. The kernel counts its own choices up from 1.
const LIMITERS: u32 = 1 << 30;

/// A limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rate.
    pub rate: BitRate,
    /// Frames count as long as they are on the wire: 24 bytes more for FCS, preamble and gap.
    pub wire: bool,
    /// Packets a second; none for no limit of these. The rate must be below as many of
    /// [`PACKET_BYTES`](nicety_model::knob::PACKET_BYTES) then. Linux 5.17.
    pub packets: Option<u64>,
}

impl Shape {
    /// Of bits only, counted on the wire.
    pub fn wire(rate: BitRate) -> Self {
        Self {
            rate,
            wire: true,
            packets: None,
        }
    }
}

/// What is found at a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortLimit {
    /// No limit.
    Open,
    /// A limit set here.
    Limited(Shape),
    /// Something of somebody else is in its place.
    Foreign(String),
}

/// Where the bucket of a port is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// On an interface of its own.
    Redirected,
    /// On the port.
    Own,
}

/// The limits of the ports of one namespace.
#[derive(Debug)]
pub struct Shapers {
    channel: Channel,
    /// For dumps that are not read to their end.
    counting: Channel,
    links: Links,
    ns: NetNs,
}

impl Shapers {
    /// Those of `ns`.
    ///
    /// # Errors
    /// When the namespace cannot be asked.
    pub fn open(ns: &NetNs) -> Result<Self, NetError> {
        Ok(Self {
            channel: Channel::open(ns, NETLINK_ROUTE)?,
            counting: Channel::brief(ns, NETLINK_ROUTE)?,
            links: Links::open(ns)?,
            ns: ns.clone(),
        })
    }

    /// What limits a port now.
    ///
    /// # Errors
    /// [`NetError::NotFound`]; [`NetError::Unsupported`] for an interface that nobody's traffic
    /// comes out of.
    pub fn read(&self, port: &str) -> Result<PortLimit, NetError> {
        let survey = self.survey()?;
        self.limit_of(self.face(port, &survey)?, &survey)
    }

    /// As [`Self::read`], of a port in a survey. A limit that not all frames go through counts as
    /// none, and so does one whose interface is gone or down, which lets nothing through.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn limit_of(&self, link: &Face, survey: &Survey) -> Result<PortLimit, NetError> {
        Ok(match self.way(link)? {
            Way::Own => survey.at_root(link),
            Way::Redirected => match survey.ingress(link.index) {
                None => PortLimit::Open,
                Some(_) => self.redirected(link, survey)?,
            },
        })
    }

    /// What an ingress qdisc at a port means.
    fn redirected(&self, link: &Face, survey: &Survey) -> Result<PortLimit, NetError> {
        let ifb = survey.limiter_of(link);
        let kind = survey.ingress(link.index).unwrap_or_default();
        // Nothing passes one that is down: it limits no more than one that is half made.
        let limited = |ifb: &Face| {
            if ifb.up {
                shape(survey.bucket(ifb.index))
            } else {
                PortLimit::Open
            }
        };
        let known = PLACES.contains(&kind);
        // A clsact comes and goes with its owner, and the filter in it.
        if let Some(ifb) = ifb.filter(|_| !survey.deep && kind == "ingress") {
            return Ok(limited(ifb));
        }
        let filters = self.redirects(link, survey)?;
        Ok(match (&filters[..], ifb) {
            _ if !known => PortLimit::Foreign(kind.to_owned()),
            // All frames come to the first filter, and none to those of others behind it.
            ([first, rest @ ..], Some(ifb)) if is_first(first, rest, ifb.index) => limited(ifb),
            // Half made, or half removed.
            ([], Some(_)) => PortLimit::Open,
            // Their programs look at what goes out, or are gone: a filter of nicety's hides nothing from them.
            ([], None) if kind == CLSACT => PortLimit::Open,
            ([first], _) if first.target == Target::Lost => PortLimit::Open,
            _ => PortLimit::Foreign(kind.to_owned()),
        })
    }

    /// Limits a port. `burst` is how long it may send at the link's rate before.
    ///
    /// # Errors
    /// As [`Self::read`]; [`NetError::Kernel`] when something of somebody else is in the place;
    /// [`NetError::NotPermitted`].
    pub fn set(&self, port: &str, shape: Shape, burst: Duration) -> Result<(), NetError> {
        self.set_in(port, &self.survey()?, shape, burst)
    }

    /// As [`Self::set`], for a port as it is in a survey.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn set_in(
        &self,
        port: &str,
        survey: &Survey,
        shape: Shape,
        burst: Duration,
    ) -> Result<(), NetError> {
        let face = self.face(port, survey)?;
        match self.limit_of(face, survey)? {
            PortLimit::Foreign(kind) => Err(self.foreign_ingress(face, survey, &kind)),
            found => self.set_over(face, survey, &found, (shape, burst)),
        }
    }

    /// As [`Self::set_in`], also where others have filters in an `ingress` qdisc of theirs: all frames come to this
    /// limit first, and to theirs no more. Their filters stay, and hold again when this limit goes.
    ///
    /// # Errors
    /// As [`Self::set`]; [`NetError::Kernel`] too when a filter of theirs would come first.
    pub fn set_beside(
        &self,
        port: &str,
        survey: &Survey,
        shape: Shape,
        burst: Duration,
    ) -> Result<(), NetError> {
        let face = self.face(port, survey)?;
        let found = self.limit_of(face, survey)?;
        self.set_over(face, survey, &found, (shape, burst))
    }

    /// Where `found` is the limit now.
    fn set_over(
        &self,
        face: &Face,
        survey: &Survey,
        found: &PortLimit,
        (shape, burst): (Shape, Duration),
    ) -> Result<(), NetError> {
        let made = self.way(face)? == Way::Own || matches!(found, PortLimit::Limited(_));
        match self.holder(face, survey)?.filter(|_| made) {
            Some(index) => self.bucket(survey, face, index, (shape, burst)),
            None => self.redirect(face, survey, shape, burst),
        }
    }

    /// Makes what is missing, the redirect last: until then the port is as it was.
    fn redirect(
        &self,
        face: &Face,
        survey: &Survey,
        shape: Shape,
        burst: Duration,
    ) -> Result<(), NetError> {
        let ifb = self.limiter(face, survey, shape, burst)?;
        self.divert(face, survey, ifb)
    }

    /// The interface with the bucket of a port, made where it is missing: its number.
    fn limiter(
        &self,
        face: &Face,
        survey: &Survey,
        shape: Shape,
        burst: Duration,
    ) -> Result<u32, NetError> {
        let name = ifb_name(face.index);
        if survey.made_for(face.index).is_none() {
            let among = limiter_index(face.index);
            let made = self.links.add_ifb(&name, among);
            // Somebody may have the number.
            match made.or_else(|_| self.links.add_ifb(&name, None)) {
                // Made since the survey.
                Err(NetError::Exists { .. }) => {}
                other => other?,
            }
        }
        let ifb = self.links.get(&name)?;
        self.bucket(survey, face, ifb.index, (shape, burst))?;
        if !ifb.up {
            self.links.set_up(&name)?;
        }
        Ok(ifb.index)
    }

    /// Sends what comes in at a port to the interface with its bucket.
    fn divert(&self, face: &Face, survey: &Survey, ifb: u32) -> Result<(), NetError> {
        let at = survey.filters_at(face.index);
        let shared = survey.ingress(face.index) == Some(CLSACT);
        let there = match survey.ingress(face.index) {
            Some(_) => self.redirects(face, survey)?,
            None => Vec::new(),
        };
        let lost = there.iter().any(|filter| filter.target == Target::Lost);
        let is_theirs = |filter: &Redirect| !is_ours(filter, Some(ifb));
        let others = shared || there.iter().any(is_theirs);
        if lost {
            let requests = if others {
                replace::remove_ours(at, &self.there(face, survey, Some(ifb))?)
            } else {
                vec![(message::ingress(libc::RTM_DELQDISC, face.index), 0)]
            };
            for (request, flags) in requests {
                self.change(request, flags, "renew limit of", &face.name)?;
            }
        }
        if (lost && !others) || survey.ingress(face.index).is_none() {
            let request = message::ingress(libc::RTM_NEWQDISC, face.index);
            match self.change(request, NEW, LIMIT, &face.name) {
                Err(NetError::Exists { .. }) => {}
                other => other?,
            }
        }
        let there = self.redirects(face, survey)?;
        let is_before = |filter: &Redirect| is_theirs(filter) && filter.priority <= FIRST;
        if there.iter().any(is_before) {
            let why = std::io::Error::other("a filter of somebody else comes before all others");
            return Err(NetError::new(LIMIT, &face.name, why));
        }
        if there.iter().all(is_theirs) {
            self.change(message::redirect(at, ifb), NEW, LIMIT, &face.name)?;
        }
        Ok(())
    }

    /// The bucket of a port, at the interface of number `index`.
    fn bucket(
        &self,
        survey: &Survey,
        face: &Face,
        index: u32,
        (shape, burst): (Shape, Duration),
    ) -> Result<(), NetError> {
        let place = (index, survey.place(index));
        let holds = burst_bytes(shape, burst, face.mtu);
        let shrinks = |old: &Bucket| old.burst_bytes > holds;
        if holds < LARGE && survey.bucket(index).is_some_and(shrinks) {
            // What waits is lost: it might not fit any more.
            return self.renew_at(place, (shape, burst), face);
        }
        // A discipline of another program that has come since the survey stays.
        let flags = if survey.is_unqueued(index) {
            INSTEAD
        } else {
            NLM_F_CREATE
        };
        self.bucket_at(place, (shape, burst), face, flags)
    }

    /// At the root of an interface, or at a class there: with [`INSTEAD`] in the place of what is there, else only
    /// where nothing is or nicety's own (net/sched/sch_api.c, `tc_modify_qdisc`).
    fn bucket_at(
        &self,
        place: (u32, u32),
        (shape, burst): (Shape, Duration),
        face: &Face,
        flags: u16,
    ) -> Result<(), NetError> {
        let burst = burst_bytes(shape, burst, face.mtu);
        let queue = shape.rate.bytes_in(QUEUE).max(LEAST_QUEUE) + burst;
        let request = message::bucket(place, shape, burst, queue);
        let made = self.channel.change(request, flags);
        made.map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists => changing(&face.name),
            _ => NetError::new(LIMIT, &face.name, e),
        })
    }

    /// Makes the buckets of a port deeper where [`Survey::is_cramped`].
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn deepen(&self, port: &str, survey: &Survey) -> Result<(), NetError> {
        let face = self.face(port, survey)?;
        for (index, bucket) in survey.cramped(face) {
            self.bucket(survey, face, index, (bucket.shape, BURST))?;
        }
        Ok(())
    }

    /// Puts a new bucket in the place of one that lets nothing through any more. What waited in
    /// it is lost.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn renew(
        &self,
        port: &str,
        survey: &Survey,
        shape: Shape,
        burst: Duration,
    ) -> Result<(), NetError> {
        let face = self.face(port, survey)?;
        let holder = self.holder(face, survey)?;
        match holder.filter(|index| survey.bucket(*index).is_some()) {
            Some(index) => self.renew_at((index, survey.place(index)), (shape, burst), face),
            None => Ok(()),
        }
    }

    fn renew_at(
        &self,
        place: (u32, u32),
        limit: (Shape, Duration),
        face: &Face,
    ) -> Result<(), NetError> {
        let request = message::remove(place.0, place.1, BUCKET);
        self.change(request, 0, "renew limit of", &face.name)?;
        self.bucket_at(place, limit, face, NLM_F_CREATE)
    }

    /// Takes a limit away, if there is one of ours.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn remove(&self, port: &str) -> Result<(), NetError> {
        self.remove_in(port, &self.survey()?)
    }

    /// As [`Self::remove`], for a port as it is in a survey.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn remove_in(&self, port: &str, survey: &Survey) -> Result<(), NetError> {
        let link = self.face(port, survey)?;
        match self.way(link)? {
            Way::Own => self.remove_root(link, survey)?,
            Way::Redirected => {
                self.remove_redirect(link, survey)?;
                if survey.made_for(link.index).is_some() {
                    self.links.delete(&ifb_name(link.index))?;
                }
            }
        }
        Ok(())
    }

    /// Takes our filter away, and the qdisc with it where others have none in it.
    fn remove_redirect(&self, link: &Face, survey: &Survey) -> Result<(), NetError> {
        let kind = survey.ingress(link.index).unwrap_or_default();
        if !PLACES.contains(&kind) {
            return Ok(());
        }
        let ifb = survey.limiter_of(link).map(|ifb| ifb.index);
        let there = self.there(link, survey, ifb)?;
        let qdisc = || vec![(message::ingress(libc::RTM_DELQDISC, link.index), 0)];
        let requests = match (there.ours.len(), there.others.len()) {
            // It was never nicety's.
            (_, _) if kind == CLSACT => replace::remove_ours(survey.filters_at(link.index), &there),
            // Made for a limit that was never finished.
            (0, 0) if ifb.is_some() => qdisc(),
            (0, _) => return Ok(()),
            (_, 0) => qdisc(),
            (_, _) => replace::remove_ours(survey.filters_at(link.index), &there),
        };
        for (request, flags) in requests {
            self.change(request, flags, REMOVE, &link.name)?;
        }
        Ok(())
    }

    /// Removes the interfaces made for ports that are gone; returns how many.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`].
    pub fn sweep(&self) -> Result<usize, NetError> {
        let survey = self.survey()?;
        let is_left = |face: &&Face| {
            face.kind == "ifb" && port_of(&face.name).is_some_and(|port| !survey.has(port))
        };
        let left: Vec<&Face> = survey.faces().filter(is_left).collect();
        for face in &left {
            self.links.delete(&face.name)?;
        }
        Ok(left.len())
    }

    /// Takes away what was left of limits that were half made, or half taken away: they limit nothing. Returns at how
    /// many ports. Nobody else may be setting limits meanwhile.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn sweep_unused(&self) -> Result<usize, NetError> {
        let survey = self.survey()?;
        let port =
            |face: &Face| survey.face_at(port_of(&face.name).filter(|_| face.kind == "ifb")?);
        // Where the kernel does not say what it is for, it stays.
        let is_unused = |port: &&Face| match self.limit_of(port, &survey) {
            Ok(PortLimit::Open) => true,
            // Beside filters of others a limit may have been left half made.
            Ok(PortLimit::Foreign(_)) => survey.limiter_of(port).is_some(),
            Ok(PortLimit::Limited(_)) | Err(_) => false,
        };
        let left: Vec<&Face> = survey.faces().filter_map(port).filter(is_unused).collect();
        for port in &left {
            self.remove_in(&port.name, &survey)?;
        }
        Ok(left.len())
    }

    fn face<'a>(&self, port: &str, survey: &'a Survey) -> Result<&'a Face, NetError> {
        crate::link::check_name(port)?;
        survey.face(port).ok_or_else(|| {
            let none = std::io::Error::from(rustix::io::Errno::NODEV);
            NetError::new("read interface", self.ns.has(port), none)
        })
    }

    /// The bucket of a port, wherever it is.
    pub fn bucket_of<'a>(&self, link: &Face, survey: &'a Survey) -> Option<&'a Bucket> {
        survey.bucket(self.holder(link, survey).ok()??)
    }

    /// The interface whose root the bucket of a port is; none when it is not made yet.
    fn holder(&self, link: &Face, survey: &Survey) -> Result<Option<u32>, NetError> {
        Ok(match self.way(link)? {
            Way::Own => Some(link.index),
            Way::Redirected => survey.made_for(link.index),
        })
    }

    /// Where the filters at the ingress of a port redirect to.
    fn redirects(&self, link: &Face, survey: &Survey) -> Result<Vec<Redirect>, NetError> {
        Ok(message::redirects(&self.filters(link, survey)?))
    }

    fn filters(&self, link: &Face, survey: &Survey) -> Result<Vec<RawMessage>, NetError> {
        let (index, parent) = survey.filters_at(link.index);
        self.channel
            .query(message::dump_filters(index, parent), NLM_F_DUMP)
            .map_err(|e| NetError::new("list filters of", &link.name, e))
    }

    /// Why nothing can be put before the filters of somebody else. What is redirected passes no other filter at the
    /// port any more (drivers/net/ifb.c, `tc_skip_classify`): programs that decide about its frames would see none.
    fn foreign_ingress(&self, face: &Face, survey: &Survey, kind: &str) -> NetError {
        let filters = self.filters(face, survey).unwrap_or_default();
        let mut programs = filters.iter().filter_map(|filter| filter_of(&filter.body));
        match programs.find(|filter| filter.kind == "bpf") {
            Some(filter) => {
                let who = by_program(filter.program.as_deref());
                let show = format!("tc filter show dev {} ingress", face.name);
                let why = format!(
                    "{who} decides about its frames; {}",
                    instead_of(CLSACT, &show)
                );
                NetError::new(LIMIT, &face.name, io::Error::other(why))
            }
            None => foreign(kind, &face.name),
        }
    }

    fn way(&self, link: &Face) -> Result<Way, NetError> {
        match link.kind.as_str() {
            "veth" | "tun" => Ok(Way::Redirected),
            "macvtap" => Ok(Way::Own),
            kind => {
                let kind = if kind.is_empty() { "hardware" } else { kind };
                let what = format!(
                    "{} ({kind}): only what comes out of a tap, veth or macvtap can be limited",
                    link.name
                );
                let error = std::io::Error::from(rustix::io::Errno::OPNOTSUPP);
                Err(NetError::new(LIMIT, what, error))
            }
        }
    }

    fn change(
        &self,
        request: RawMessage,
        flags: u16,
        operation: &'static str,
        port: &str,
    ) -> Result<(), NetError> {
        self.channel
            .change(request, flags)
            .map_err(|e| NetError::new(operation, port, e))
    }
}

/// The limit of another program is not the one that was surveyed or recorded, and stays.
fn changing(port: &str) -> NetError {
    let why = "another program is changing its limit";
    NetError::new(LIMIT, port, io::Error::other(why))
}

fn foreign(kind: &str, port: &str) -> NetError {
    let instead = instead_of(kind, &format!("tc qdisc show dev {port}"));
    let why = format!("somebody else's {kind} qdisc is on it; {instead}");
    NetError::new(LIMIT, port, io::Error::other(why))
}

/// Whether a filter is one that was made here.
fn is_ours(filter: &Redirect, ifb: Option<u32>) -> bool {
    match filter.target {
        Target::Lost => true,
        Target::To(index) => ifb == Some(index),
        Target::Other => false,
    }
}

/// Whether all frames go to an interface made here: nothing else is asked as early.
fn is_first(first: &Redirect, rest: &[Redirect], ifb: u32) -> bool {
    let later = |other: &Redirect| other.priority > first.priority;
    first.target == Target::To(ifb) && rest.iter().all(later)
}

fn shape(bucket: Option<&Bucket>) -> PortLimit {
    bucket.map_or(PortLimit::Open, |bucket| PortLimit::Limited(bucket.shape))
}

fn ifb_name(port: u32) -> String {
    format!("{PREFIX}{port}")
}

/// The number of the interface made for a port; none for a port that stands among these itself.
fn limiter_index(port: u32) -> Option<u32> {
    (port < LIMITERS).then_some(LIMITERS + port)
}

/// The port that an interface of such a name is made for.
fn port_of(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.parse().ok()
}

/// Bytes that a bucket lets through at once, beyond its rate: one frame of a port of this MTU at least.
pub fn burst_bytes(shape: Shape, burst: Duration, mtu: u32) -> u64 {
    let least = match shape.rate.bytes_in(burst) {
        bytes if bytes < LARGE => SMALL,
        bytes => bytes,
    };
    least.max(longest_frame(mtu))
}

/// Bytes of the longest frame that passes a port of this MTU in one piece, without FCS.
pub fn longest_frame(mtu: u32) -> u64 {
    u64::from(mtu) + HEADER + TAGS
}

/// Reads bytes as answers about interfaces, buckets and counters, and as news of changes.
#[doc(hidden)]
pub fn hostile(bytes: &[u8]) {
    let faces: Vec<Face> = survey::face(bytes).into_iter().collect();
    let mut survey = Survey::new(faces);
    survey.add(bytes);
    survey.renew(1, bytes);
    survey.recount(&survey::stats(bytes).into_iter().collect::<Vec<_>>());
    for face in survey.faces() {
        survey.limiter_of(face);
    }
    changes::hostile(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_the_longest_frame_of_its_port() {
        let bytes = |mbit, mtu| burst_bytes(Shape::wire(BitRate::from_mbit(mbit)), BURST, mtu);
        for (mbit, mtu, burst) in [
            (150, 1500, SMALL),
            (1, 9000, SMALL),
            (150, 16_362, SMALL),
            (150, 16_363, SMALL + 1),
            (150, 65_520, 65_542),
            (1, 65_535, 65_557),
            (196, 65_535, 65_557),
            (197, 65_535, 98_500),
            (1000, 1500, 500_000),
        ] {
            assert_eq!(bytes(mbit, mtu), burst, "{mbit} {mtu}");
        }
        assert!(longest_frame(u32::from(u16::MAX)) < LARGE);
    }
}
