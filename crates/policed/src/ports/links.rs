//! Plain interfaces: their counters and limiters, asked by one thread.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use nicety_host::journal::since_boot;
use nicety_host::knob::{port_shape, port_value};
use nicety_model::BitRate;
use nicety_model::knob::NOQUEUE;
use nicety_model::traffic_control::RecordedLimit;
use nicety_netdev::net_error::NetError;
use nicety_netdev::shaper::{
    BURST, Bucket, Face, GivenBack, Limits, PortLimit, Shape, Shapers, Survey, SurveyRequest,
};
use nicety_police::adopt::Way;
use nicety_police::bill::INTERFACE;
use nicety_police::original::TAKEN_AWAY;
use nicety_police::received;
use nicety_police::snapshot::{Place, Snapshot};
use nicety_police::totals::{Counts, Held};
use nicety_police::{PortName, Sample, Seen};

use super::theirs::{Found, MACVTAP, Root, Theirs, Watch};
use crate::totals::{owner_sent, sent_by};

/// What to do with a limit that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Change it.
    Change,
    /// Put a new one in its place: it lets nothing through any more.
    Renew,
}

/// A limit to set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub rate: BitRate,
    /// How long the link's rate may last before.
    pub burst: Duration,
    /// Packets a second.
    pub packets: Option<u64>,
}

impl Limit {
    /// Of bits only.
    pub fn of(rate: BitRate, burst: Duration) -> Self {
        Self {
            rate,
            burst,
            packets: None,
        }
    }

    fn shape(self) -> Shape {
        Shape {
            packets: self.packets,
            ..Shape::wire(self.rate)
        }
    }
}

/// The interfaces of a network namespace.
#[derive(Debug)]
pub struct Links {
    pub(super) shapers: Shapers,
    /// The ports of the policy, as the kernel knows them.
    pub(super) names: Arc<[PortName]>,
    /// Limits of other programs at these.
    pub(super) theirs: Theirs,
}

/// Ports to look at, by their number, with the interface where one that is as it was last needs no look.
pub type Wanted = Vec<(usize, Option<u32>)>;

/// All interfaces at one moment.
#[derive(Debug)]
pub struct Interfaces {
    pub survey: Arc<Survey>,
    /// When the counters were read.
    pub at: Duration,
    /// Ports that were wanted and are not as they were, by their number.
    pub snapshots: Vec<(usize, Snapshot)>,
    /// What those of them receive whose receiving is limited.
    pub received: Vec<(usize, Snapshot)>,
    /// What others may do at ports; none where filters were not looked at.
    pub watch: Option<Watch>,
}

impl Links {
    /// Counters and limits of an older look, all or those asked for; everything without one.
    pub(super) fn look(
        &self,
        before: Option<(Arc<Survey>, SurveyRequest)>,
        wanted: &Wanted,
    ) -> Result<Interfaces, NetError> {
        let survey = match before {
            Some((before, request)) => self
                .shapers
                .survey_again(Arc::unwrap_or_clone(before), request)?,
            None => self.shapers.survey()?,
        };
        Ok(self.with_snapshots(survey, wanted))
    }

    /// The limits of some ports, after they were written; with the counters of all interfaces where these
    /// count functions.
    pub(super) fn reread(
        &self,
        before: Arc<Survey>,
        wanted: &Wanted,
        count: bool,
    ) -> Result<Interfaces, NetError> {
        let interfaces = wanted.iter().filter_map(|(port, _)| self.name(*port));
        let before = Arc::unwrap_or_clone(before);
        let mut survey = self.shapers.reread(before, interfaces)?;
        if count {
            let request = SurveyRequest {
                interfaces: true,
                ports: true,
                limits: Limits::None,
            };
            survey = self.shapers.survey_again(survey, request)?;
        }
        Ok(self.with_snapshots(survey, wanted))
    }

    fn look_at_theirs(&self, survey: &Survey) -> Option<Watch> {
        let ports = self.names.iter().enumerate();
        let named = ports.filter_map(|(port, _)| Some((port, survey.face(self.name(port)?)?)));
        survey.is_deep().then(|| self.theirs.look(named, survey))
    }

    fn with_snapshots(&self, survey: Survey, wanted: &Wanted) -> Interfaces {
        let watch = self.look_at_theirs(&survey);
        let at = since_boot();
        let moved = |(port, had): &(usize, Option<u32>)| {
            let name = self.name(*port)?;
            let still = had.is_some_and(|had| survey.is_still(had));
            (!still).then_some((*port, name))
        };
        let moved = || wanted.iter().filter_map(moved);
        let sends = moved().map(|(port, name)| (port, self.interface(port, name, &survey, at)));
        let receives = moved().filter(|(port, _)| self.theirs.receives(*port));
        let receives = receives.map(|(port, name)| (port, self.received(port, name, &survey, at)));
        Interfaces {
            snapshots: sends.collect(),
            received: receives.collect(),
            survey: Arc::new(survey),
            at,
            watch,
        }
    }

    fn name(&self, port: usize) -> Option<&str> {
        match self.names.get(port)? {
            PortName::Interface(name) => Some(name),
            PortName::Vf { .. } | PortName::Named(_) => None,
        }
    }

    fn interface(&self, port: usize, name: &str, survey: &Survey, at: Duration) -> Snapshot {
        let Some(face) = survey.face(name) else {
            return Snapshot::without(Place::Gone);
        };
        let Ok(found) = self.shapers.limit_of(face, survey) else {
            let why = format!("{name} is no tap, veth or macvtap; see nicety vf list");
            return Snapshot::without(Place::Unfit(why));
        };
        let root = (face.kind == MACVTAP).then(|| self.theirs.root(port));
        let theirs = match &root {
            Some(root) => root.clone().into(),
            None => self.theirs.at(port),
        };
        if theirs == Found::Anew {
            return Snapshot::silent(None);
        }
        let replaces = self.theirs.replaces(port);
        let limit = match (&found, &theirs) {
            // Theirs has come beside it, and is to go.
            (PortLimit::Limited(_), Found::Adopted(_)) if replaces => BitRate(0),
            (PortLimit::Limited(shape), _) => shape.rate,
            (PortLimit::Open, _) => BitRate(0),
            // Ours is to come before it.
            (PortLimit::Foreign(_), Found::Adopted(_) | Found::Held(_)) => BitRate(0),
            (PortLimit::Foreign(_), Found::Refused(what)) => {
                return Snapshot::without(Place::Theirs(what.clone()));
            }
            (PortLimit::Foreign(kind), Found::Nothing | Found::Anew | Found::Cleared) => {
                return Snapshot::without(Place::Foreign(kind.clone()));
            }
        };
        let original = match &root {
            Some(root) => self.original_at_root((port, face), survey, root, &found),
            None => {
                let open = found == PortLimit::Open;
                let original = self.theirs.original(port, &theirs, open);
                original.unwrap_or_else(|| port_value(&found))
            }
        };
        let adopted = theirs.adopted();
        let interface = owner_sent(face);
        let mut now = interface;
        let bucket = self.shapers.bucket_of(face, survey);
        if let Some(bucket) = bucket {
            (now.tx_bytes, now.tx_frames) = (bucket.bytes, bucket.frames);
        }
        Snapshot {
            seen: seen(at, (now.tx_bytes, now.tx_frames), bucket, limit),
            index: Some(face.index),
            place: Place::There(original),
            setup: self.theirs.setup((Way::Sends, port), adopted.as_ref()),
            replaces: replaces && adopted.is_some(),
            packets: bucket.and_then(|bucket| bucket.shape.packets),
            adopted,
            counts: Some(Counts {
                source: match bucket {
                    Some(_) => "limiter".into(),
                    None => INTERFACE.into(),
                },
                now,
                byte_bits: 64,
                frame_bits: 64,
                interface: Some(interface),
                held: bucket.map(|bucket| Held {
                    drops: bucket.drops.into(),
                    waiting: bucket.backlog.into(),
                }),
            }),
        }
    }

    /// What the owner of an interface receives.
    fn received(&self, port: usize, name: &str, survey: &Survey, at: Duration) -> Snapshot {
        let Some(face) = survey.face(name) else {
            return Snapshot::without(Place::Gone);
        };
        if let Some(why) = received::unfit(name, &face.kind) {
            return Snapshot::without(Place::Unfit(why));
        }
        let root = self.theirs.root(port);
        let found = survey.at_root(face);
        let limit = match (&found, &root) {
            (_, Root::New(_) | Root::Anew) => return Snapshot::silent(None),
            (PortLimit::Limited(shape), _) => shape.rate,
            // Ours is to come below it, or in its place.
            (PortLimit::Open, _) | (PortLimit::Foreign(_), Root::Adopted(_)) => BitRate(0),
            (PortLimit::Foreign(_), Root::Refused(what)) => {
                return Snapshot::without(Place::Theirs(what.clone()));
            }
            (PortLimit::Foreign(kind), Root::Nothing | Root::Held(_) | Root::Cleared) => {
                return Snapshot::without(Place::Foreign(kind.clone()));
            }
        };
        let original = self.original_at_root((port, face), survey, &root, &found);
        let adopted = root.adopted();
        let bucket = survey.root_bucket(face);
        // What a tap or veth sends is what its owner receives.
        let now = sent_by(face);
        Snapshot {
            seen: seen(at, (now.tx_bytes, now.tx_frames), bucket, limit),
            index: Some(face.index),
            packets: bucket.and_then(|bucket| bucket.shape.packets),
            setup: self.theirs.setup((Way::Receives, port), adopted.as_ref()),
            replaces: self.theirs.replaces(port) && adopted.is_some(),
            adopted,
            ..Snapshot::without(Place::There(original))
        }
    }

    /// What is given back to the root of a port, in the words of its setting.
    fn original_at_root(
        &self,
        (port, face): (usize, &Face),
        survey: &Survey,
        root: &Root,
        found: &PortLimit,
    ) -> String {
        let nothing = match survey.has_no_queue(face) {
            true => NOQUEUE,
            false => TAKEN_AWAY,
        };
        let open = (*found == PortLimit::Open).then_some(nothing);
        let original = self.theirs.original_at_root(port, root, open);
        original.unwrap_or_else(|| at_root(face, survey, found))
    }

    /// Sets a limit of what a port receives.
    pub(super) fn set_received(
        &self,
        (port, name): (usize, &str),
        survey: &Survey,
        limit: Limit,
        how: How,
    ) -> Result<(), NetError> {
        let (shape, burst) = (limit.shape(), limit.burst);
        match how {
            How::Renew => self.shapers.renew_received(name, survey, shape, burst),
            How::Change => self.set_at_root((port, name), survey, limit, |shapers| {
                shapers.set_received(name, survey, shape, burst)
            }),
        }
    }

    /// Sets a limit at a root: below another program's there or in its place, and as `otherwise` does where there is
    /// none.
    fn set_at_root(
        &self,
        (port, name): (usize, &str),
        survey: &Survey,
        limit: Limit,
        otherwise: impl FnOnce(&Shapers) -> Result<(), NetError>,
    ) -> Result<(), NetError> {
        let to = (limit.shape(), limit.burst);
        match self.theirs.root(port) {
            Root::Adopted(adopted) => match adopted.under.filter(|_| !self.theirs.replaces(port)) {
                Some(under) => self.shapers.set_root_below(name, survey, to, under)?,
                None => {
                    let theirs = adopted.record();
                    self.shapers.set_root_replacing(name, survey, to, &theirs)?;
                }
            },
            _ => otherwise(&self.shapers)?,
        }
        if let Some(face) = survey.face(name) {
            self.theirs.limited_at_root(port, face.index);
        }
        Ok(())
    }

    /// Sets a limit; `how` is what to do with one that is there.
    pub(super) fn set(
        &self,
        (port, name): (usize, &str),
        survey: &Survey,
        limit: Limit,
        how: How,
    ) -> Result<(), NetError> {
        let shape = limit.shape();
        let burst = limit.burst;
        let shapers = &self.shapers;
        let is_rooted = (survey.face(name)).is_some_and(|face| face.kind == MACVTAP);
        if is_rooted && how == How::Change {
            return self.set_at_root((port, name), survey, limit, |shapers| {
                shapers.set_in(name, survey, shape, burst)
            });
        }
        match (how, self.theirs.at(port)) {
            (How::Renew, _) => return shapers.renew(name, survey, shape, burst),
            (How::Change, Found::Adopted(adopted)) if self.theirs.replaces(port) => {
                shapers.set_replacing(name, survey, (shape, burst), &adopted.record())?;
            }
            (How::Change, Found::Adopted(_)) => shapers.set_beside(name, survey, shape, burst)?,
            (How::Change, _) => shapers.set_in(name, survey, shape, burst)?,
        }
        if let Some(face) = survey.face(name) {
            self.theirs.limited(port, face.index);
        }
        Ok(())
    }

    /// Goes on with limits of others that were replaced, by the names of ports and the numbers of their interfaces.
    pub fn resume(&self, mut replaced: BTreeMap<String, (u32, RecordedLimit)>) {
        for (port, name) in self.names.iter().enumerate() {
            let name = name.to_string();
            for noted in [received::noted(&name), name] {
                match replaced.remove(&noted) {
                    Some((index, limit)) if limit.is_at_root() => {
                        self.theirs.resume_at_root(port, index, limit);
                    }
                    Some((index, limit)) => self.theirs.resume(port, index, limit),
                    None => {}
                }
            }
        }
    }

    /// Gives an interface back the limit that was replaced.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn give_back(
        &self,
        name: &str,
        survey: &Survey,
        limit: &RecordedLimit,
    ) -> Result<GivenBack, NetError> {
        self.shapers.give_back(name, survey, limit)
    }

    /// All interfaces and what limits them.
    pub fn interfaces(&self) -> Result<Survey, NetError> {
        self.shapers.survey()
    }

    /// The limit of an interface in the words of its setting; none when it is gone.
    ///
    /// # Errors
    /// When the kernel does not say: that is not gone.
    pub fn words(
        &self,
        (name, way): (&str, Way),
        survey: &Survey,
    ) -> Result<Option<String>, NetError> {
        let face = survey.face(name);
        let found = face.map(|face| match way {
            Way::Sends => self.shapers.limit_of(face, survey),
            Way::Receives => Ok(survey.at_root(face)),
        });
        let found = found.transpose()?;
        Ok(face.zip(found.as_ref()).map(|(face, found)| match way {
            Way::Sends if face.kind != MACVTAP => port_value(found),
            Way::Sends | Way::Receives => at_root(face, survey, found),
        }))
    }

    /// Sets the limit of an interface in such words.
    pub fn put(
        &self,
        (name, way): (&str, Way),
        survey: &Survey,
        words: &str,
    ) -> Result<(), NetError> {
        if words == NOQUEUE {
            return self.shapers.unqueue(name, survey);
        }
        match (way, port_shape(words)) {
            (Way::Sends, Some(shape)) => self.shapers.set_in(name, survey, shape, BURST),
            (Way::Sends, None) => self.shapers.remove_in(name, survey),
            (Way::Receives, Some(shape)) => self.shapers.set_received(name, survey, shape, BURST),
            (Way::Receives, None) => self.shapers.remove_received(name, survey),
        }
    }

    /// Removes what ports that are gone have left.
    pub fn sweep(&self) -> Result<usize, NetError> {
        self.shapers.sweep()
    }

    /// The same, and what is left of limits that were half made or half taken away.
    pub fn sweep_all(&self) -> Result<usize, NetError> {
        Ok(self.shapers.sweep()? + self.shapers.sweep_unused()?)
    }
}

/// What limits a port at its root, in the words of its setting.
fn at_root(face: &Face, survey: &Survey, found: &PortLimit) -> String {
    match survey.has_no_queue(face) {
        true => NOQUEUE.to_owned(),
        false => port_value(found),
    }
}

/// What the controller sees of a port: what its limiter let through, or else what its interface did, bytes and frames.
fn seen(at: Duration, interface: (u64, u64), bucket: Option<&Bucket>, limit: BitRate) -> Seen {
    let (bytes, frames) = bucket.map_or(interface, |bucket| (bucket.bytes, bucket.frames));
    let sample = Sample {
        at,
        bytes,
        frames,
        drops: bucket.map(|bucket| bucket.drops.into()),
        backlog: bucket.map(|bucket| bucket.backlog.into()),
    };
    Seen {
        present: true,
        sample: Some(sample),
        limit: Some(limit),
        silent: false,
    }
}
