//! Plain interfaces: their counters and limiters, asked by one thread.

use std::sync::Arc;
use std::time::Duration;

use nicety_host::journal::since_boot;
use nicety_host::knob::{port_shape, port_value};
use nicety_host::net_error::NetError;
use nicety_host::shaper::{Ask, BURST, Face, Found, Limits, Shape, Shapers, Survey};
use nicety_model::BitRate;
use nicety_police::{PortName, Sample, Seen};

use super::{How, Moment, Place};
use crate::police::totals::{Counts, Total};

/// The interfaces of a network namespace.
#[derive(Debug)]
pub struct Links {
    pub(super) shapers: Shapers,
    /// The ports of the policy.
    pub(super) names: Arc<[PortName]>,
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
    pub moments: Vec<(usize, Moment)>,
}

impl Links {
    /// Counters and limits of an older look, all or those asked for; everything without one.
    pub(super) fn look(
        &self,
        before: Option<(Arc<Survey>, Ask)>,
        wanted: &Wanted,
    ) -> Result<Interfaces, NetError> {
        let survey = match before {
            Some((before, ask)) => self
                .shapers
                .survey_again(Arc::unwrap_or_clone(before), ask)?,
            None => self.shapers.survey()?,
        };
        Ok(self.with_moments(survey, wanted))
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
            let ask = Ask {
                interfaces: true,
                limits: Limits::None,
            };
            survey = self.shapers.survey_again(survey, ask)?;
        }
        Ok(self.with_moments(survey, wanted))
    }

    fn with_moments(&self, survey: Survey, wanted: &Wanted) -> Interfaces {
        let at = since_boot();
        let moment = |(port, had): &(usize, Option<u32>)| {
            let name = self.name(*port)?;
            let still = had.is_some_and(|had| survey.is_still(had));
            (!still).then(|| (*port, self.interface(name, &survey, at)))
        };
        Interfaces {
            moments: wanted.iter().filter_map(moment).collect(),
            survey: Arc::new(survey),
            at,
        }
    }

    fn name(&self, port: usize) -> Option<&str> {
        match self.names.get(port)? {
            PortName::Interface(name) => Some(name),
            PortName::Vf { .. } => None,
        }
    }

    fn interface(&self, name: &str, survey: &Survey, at: Duration) -> Moment {
        let Some(face) = survey.face(name) else {
            return Moment::without(Place::Gone);
        };
        let Ok(found) = self.shapers.found(face, survey) else {
            let why = format!("{name} is no tap, veth or macvtap; see nicety vf list");
            return Moment::without(Place::Unfit(why));
        };
        let limit = match &found {
            Found::Limited(shape) => shape.rate,
            Found::Open => BitRate(0),
            Found::Foreign(kind) => return Moment::without(Place::Foreign(kind.clone())),
        };
        // What a tap or veth receives is what its owner sends.
        let mut now = match face.kind.as_str() {
            "macvtap" => sent_by(face),
            _ => turned(sent_by(face)),
        };
        let bucket = self.shapers.bucket_of(face, survey);
        if let Some(bucket) = bucket {
            (now.tx_bytes, now.tx_frames) = (bucket.bytes, bucket.frames);
        }
        let sample = Sample {
            at,
            bytes: now.tx_bytes,
            frames: now.tx_frames,
            drops: bucket.map(|bucket| bucket.drops.into()),
            backlog: bucket.map(|bucket| bucket.backlog.into()),
        };
        Moment {
            seen: Seen {
                present: true,
                sample: Some(sample),
                limit: Some(limit),
                silent: false,
            },
            index: Some(face.index),
            place: Place::There(port_value(&found)),
            setup: None,
            counts: Some(Counts {
                source: if bucket.is_some() {
                    "limiter"
                } else {
                    "interface"
                },
                now,
                byte_bits: 64,
                frame_bits: 64,
            }),
        }
    }

    /// Sets a limit; `how` is what to do with one that is there.
    pub(super) fn set(
        &self,
        name: &str,
        survey: &Survey,
        (rate, burst): (BitRate, Duration),
        how: How,
    ) -> Result<(), NetError> {
        let shape = Shape { rate, wire: true };
        match how {
            How::Change => self.shapers.set_in(name, survey, shape, burst),
            How::Renew => self.shapers.renew(name, survey, shape, burst),
        }
    }

    /// All interfaces and what limits them.
    pub fn interfaces(&self) -> Result<Survey, NetError> {
        self.shapers.survey()
    }

    /// The limit of an interface in the words of its setting; none when it is gone.
    pub fn words(&self, name: &str, survey: &Survey) -> Option<String> {
        let found = self.shapers.found(survey.face(name)?, survey).ok()?;
        Some(port_value(&found))
    }

    /// Sets the limit of an interface in such words.
    pub fn put(&self, name: &str, survey: &Survey, words: &str) -> Result<(), NetError> {
        match port_shape(words) {
            Some(shape) => self.shapers.set_in(name, survey, shape, BURST),
            None => self.shapers.remove_in(name, survey),
        }
    }

    /// Removes what ports that are gone have left.
    pub fn sweep(&self) -> Result<usize, NetError> {
        self.shapers.sweep()
    }
}

/// What an interface has sent and received.
pub fn sent_by(face: &Face) -> Total {
    Total {
        tx_bytes: face.tx_bytes,
        tx_frames: face.tx_frames,
        rx_bytes: face.rx_bytes,
        rx_frames: face.rx_frames,
    }
}

/// The same from the other end.
pub fn turned(total: Total) -> Total {
    Total {
        tx_bytes: total.rx_bytes,
        tx_frames: total.rx_frames,
        rx_bytes: total.tx_bytes,
        rx_frames: total.tx_frames,
    }
}
