//! The ports of a policy on this host: counters, limits.

use std::time::Duration;

use nicety_host::journal::since_boot;
use nicety_host::knob::{Knobs, port_value};
use nicety_host::net_error::NetError;
use nicety_host::netns::NetNs;
use nicety_host::shaper::{Found, Shape, Shapers, Survey};
use nicety_model::BitRate;
use nicety_police::{PortName, Sample, Seen};

use crate::exit::Failure;

/// The kernel, in the calling process's network namespace.
pub struct Ports {
    shapers: Shapers,
    pub knobs: Knobs,
}

/// All ports at one moment.
pub struct Look {
    pub survey: Survey,
    at: Duration,
}

/// What to do with a limit that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Change it.
    Change,
    /// Put a new one in its place: it lets nothing through any more.
    Renew,
}

/// A port at one moment.
pub struct Moment {
    pub seen: Seen,
    /// What is in its place; none when the port is gone.
    pub found: Option<Found>,
}

impl Ports {
    pub fn open() -> Result<Self, Failure> {
        let ns = NetNs::current().map_err(Failure::environment)?;
        Ok(Self {
            shapers: Shapers::open(&ns).map_err(Failure::environment)?,
            knobs: Knobs::open().map_err(Failure::environment)?,
        })
    }

    /// All qdiscs and interfaces now.
    pub fn survey(&self) -> Result<Look, NetError> {
        Ok(Look {
            survey: self.shapers.survey()?,
            at: since_boot(),
        })
    }

    /// Qdiscs and their counters only.
    pub fn survey_again(&self, before: &Look) -> Result<Look, NetError> {
        Ok(Look {
            survey: self.shapers.survey_again(&before.survey)?,
            at: since_boot(),
        })
    }

    /// One port.
    pub fn look(&self, port: &PortName, Look { survey, at }: &Look) -> Moment {
        let gone = Moment {
            seen: Seen::default(),
            found: None,
        };
        let PortName::Interface(name) = port else {
            return gone;
        };
        let Some(face) = survey.face(name) else {
            return gone;
        };
        let Ok(found) = self.shapers.found(face, survey) else {
            return gone;
        };
        let sample = match self.shapers.bucket_of(face, survey) {
            Some(bucket) => Sample {
                at: *at,
                bytes: bucket.bytes,
                frames: bucket.frames,
                drops: Some(bucket.drops.into()),
                backlog: Some(bucket.backlog.into()),
            },
            None => {
                // What a tap or veth receives is what its owner sends.
                let own = face.kind == "macvtap";
                Sample {
                    at: *at,
                    bytes: if own { face.tx_bytes } else { face.rx_bytes },
                    frames: if own { face.tx_frames } else { face.rx_frames },
                    drops: None,
                    backlog: None,
                }
            }
        };
        let limit = match &found {
            Found::Limited(shape) => Some(shape.rate),
            Found::Open => Some(BitRate(0)),
            Found::Foreign(_) => None,
        };
        Moment {
            seen: Seen {
                sample: Some(sample),
                limit,
            },
            found: Some(found),
        }
    }

    /// Sets a limit; `how` is what to do with one that is there.
    pub fn set(
        &self,
        port: &PortName,
        look: &Look,
        (rate, burst): (BitRate, Duration),
        how: How,
    ) -> Result<(), NetError> {
        let PortName::Interface(name) = port else {
            return Ok(());
        };
        let shape = Shape { rate, wire: true };
        match how {
            How::Change => self.shapers.set_in(name, &look.survey, shape, burst),
            How::Renew => self.shapers.renew(name, &look.survey, shape, burst),
        }
    }

    /// Removes what ports that are gone have left.
    pub fn sweep(&self) -> Result<usize, NetError> {
        self.shapers.sweep()
    }
}

/// A limit in words.
pub fn words(found: &Found) -> String {
    port_value(found)
}
