//! What is found at a port: its limit, whose it is, and its counters.

use std::time::Duration;

use nicety_host::knob::port_value;
use nicety_model::BitRate;
use nicety_model::knob::NOQUEUE;
use nicety_netdev::net_error::NetError;
use nicety_netdev::shaper::{Bucket, Face, PortLimit, Survey, longest_frame};
use nicety_police::adopt::Way;
use nicety_police::bill::INTERFACE;
use nicety_police::original::TAKEN_AWAY;
use nicety_police::received;
use nicety_police::snapshot::{Place, Snapshot};
use nicety_police::totals::{Counts, Held};
use nicety_police::{Sample, Seen};

use super::super::theirs::{Found, MACVTAP, Root};
use super::Links;
use crate::totals::{owner_sent, sent_by};

impl Links {
    pub(super) fn interface(
        &self,
        port: usize,
        name: &str,
        survey: &Survey,
        at: Duration,
    ) -> Snapshot {
        let Some(face) = survey.face(name) else {
            return Snapshot::without(Place::Gone);
        };
        let Ok(found) = self.shapers.limit_of(face, survey) else {
            let why = format!("{name} is not a tap, veth or macvtap; see nicety port list");
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
            seen: seen(at, (now.tx_bytes, now.tx_frames), (face, bucket), limit),
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
    pub(super) fn received(
        &self,
        port: usize,
        name: &str,
        survey: &Survey,
        at: Duration,
    ) -> Snapshot {
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
            seen: seen(at, (now.tx_bytes, now.tx_frames), (face, bucket), limit),
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
        let nothing = if survey.has_no_queue(face) {
            NOQUEUE
        } else {
            TAKEN_AWAY
        };
        let open = (*found == PortLimit::Open).then_some(nothing);
        let original = self.theirs.original_at_root(port, root, open);
        original.unwrap_or_else(|| at_root(face, survey, found))
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
}

/// What limits a port at its root, in the words of its setting.
fn at_root(face: &Face, survey: &Survey, found: &PortLimit) -> String {
    if survey.has_no_queue(face) {
        NOQUEUE.to_owned()
    } else {
        port_value(found)
    }
}

/// What the controller sees of a port: what its limiter let through, or else what its interface did, bytes and frames.
fn seen(
    at: Duration,
    interface: (u64, u64),
    (face, bucket): (&Face, Option<&Bucket>),
    limit: BitRate,
) -> Seen {
    let (bytes, frames) = bucket.map_or(interface, |bucket| (bucket.bytes, bucket.frames));
    let sample = Sample {
        at,
        bytes,
        frames,
        drops: bucket.map(|bucket| bucket.drops.into()),
        backlog: bucket.map(|bucket| bucket.backlog.into()),
    };
    Seen {
        limit: Some(limit),
        longest: longest_frame(face.mtu),
        ..Seen::counted(sample)
    }
}
