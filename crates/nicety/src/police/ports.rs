//! The ports of a policy on this host: counters, limits.

use std::cell::RefCell;
use std::time::Duration;

use nicety_host::journal::since_boot;
use nicety_host::knob::{Knobs, port_shape, port_value};
use nicety_host::net_error::NetError;
use nicety_host::netns::NetNs;
use nicety_host::shaper::{Ask, BURST, Changes, Face, Found, Limits, News, Shape, Shapers, Survey};
use nicety_model::BitRate;
use nicety_police::controller::PortSetup;
use nicety_police::{Policy, PortName, Sample, Seen};

use super::functions::{Nic, Nics};
use super::totals::{Counts, Total};
use crate::exit::Failure;

/// The kernel, in the calling process's network namespace.
pub struct Ports {
    shapers: Shapers,
    news: RefCell<News>,
    nics: Nics,
    /// The policy names interfaces.
    interfaces: bool,
    pub knobs: Knobs,
}

/// All ports at one moment.
pub struct Look {
    pub survey: Survey,
    pub nics: Vec<Nic>,
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
    /// Number of its interface, where it is one that can be limited.
    pub index: Option<u32>,
    pub place: Place,
    /// What it is like, where that may change.
    pub setup: Option<PortSetup>,
    /// Its counters both ways, where somebody counts.
    pub counts: Option<Counts>,
}

/// What is found where a port should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Nothing.
    Gone,
    /// It is there and cannot be limited now: why.
    Waits(String),
    /// It can never be limited: why.
    Unfit(String),
    /// Something of somebody else is in the limit's place: its kind.
    Foreign(String),
    /// Its limit, in the words of its setting.
    There(String),
}

impl Look {
    /// What is seen now of an interface where nothing has happened since it was seen last; none when
    /// something may have.
    pub fn still(&self, (index, seen): (u32, Seen)) -> Option<Seen> {
        let sample = seen.sample.map(|sample| Sample {
            at: self.at,
            ..sample
        });
        self.survey
            .is_still(index)
            .then_some(Seen { sample, ..seen })
    }
}

impl Moment {
    /// A port that has no sample and no limit now.
    pub fn without(place: Place) -> Self {
        Self {
            seen: Seen::default(),
            index: None,
            place,
            setup: None,
            counts: None,
        }
    }
}

impl Ports {
    /// Those of a policy; of none for putting things back.
    pub fn open(policy: Option<&Policy>) -> Result<Self, Failure> {
        let ns = NetNs::current().map_err(Failure::environment)?;
        let shapers = Shapers::open(&ns).map_err(Failure::environment)?;
        let is_interface = |(_, port): (_, &PortName)| matches!(port, PortName::Interface(_));
        Ok(Self {
            news: RefCell::new(shapers.news().map_err(Failure::environment)?),
            interfaces: policy.is_some_and(|policy| policy.ports().any(is_interface)),
            shapers,
            nics: Nics::open(&ns, policy)?,
            knobs: Knobs::open().map_err(Failure::environment)?,
        })
    }

    /// What somebody has changed of interfaces, qdiscs or filters since the last time.
    pub fn changes(&self) -> Changes {
        self.news.borrow_mut().changes()
    }

    /// The policy names functions: what these are like nobody tells.
    pub fn has_functions(&self) -> bool {
        self.nics.any()
    }

    /// All qdiscs, interfaces and functions now.
    pub fn survey(&self) -> Result<Look, NetError> {
        let survey = self.shapers.survey()?;
        Ok(Look {
            at: since_boot(),
            nics: self.nics.look(&survey),
            survey,
        })
    }

    /// Counters and limits only; all of them, or those of ports that have something to do.
    pub fn survey_again(&self, before: Look, all: bool) -> Result<Look, NetError> {
        let counting = before.nics.iter().any(Nic::needs_interfaces);
        let ask = Ask {
            interfaces: counting || all && self.interfaces,
            limits: match (self.interfaces, all) {
                (false, _) => Limits::None,
                (true, false) => Limits::Stirred,
                (true, true) => Limits::All,
            },
        };
        let survey = self.shapers.survey_again(before.survey, ask)?;
        Ok(Look {
            at: since_boot(),
            nics: self.nics.look_again(before.nics, &survey),
            survey,
        })
    }

    /// The limits of some ports, after they were written.
    pub fn reread<'a>(
        &self,
        before: Look,
        written: impl Iterator<Item = &'a PortName> + Clone,
    ) -> Result<Look, NetError> {
        let interfaces = written.clone().filter_map(|port| match port {
            PortName::Interface(name) => Some(name.as_str()),
            PortName::Vf { .. } => None,
        });
        let mut survey = self.shapers.reread(before.survey, interfaces)?;
        let is_written = |nic: &Nic| {
            let mut ports = written.clone();
            ports.any(|port| matches!(port, PortName::Vf { pf, .. } if *pf == nic.name))
        };
        // Counters of one moment.
        if (before.nics.iter()).any(|nic| nic.needs_interfaces() && is_written(nic)) {
            let ask = Ask {
                interfaces: true,
                limits: Limits::None,
            };
            survey = self.shapers.survey_again(survey, ask)?;
        }
        let reread = |nic: Nic| match is_written(&nic) {
            true => self.nics.again(nic, &survey),
            false => nic,
        };
        Ok(Look {
            at: since_boot(),
            nics: before.nics.into_iter().map(reread).collect(),
            survey,
        })
    }

    /// One port.
    pub fn look(&self, port: &PortName, look: &Look) -> Moment {
        match port {
            PortName::Interface(name) => self.interface(name, look),
            PortName::Vf { pf, vf } => match look.nics.iter().find(|nic| nic.name == *pf) {
                Some(nic) => nic.moment(*vf, look.at),
                None => Moment::without(Place::Gone),
            },
        }
    }

    fn interface(&self, name: &str, look: &Look) -> Moment {
        let survey = &look.survey;
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
            at: look.at,
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
    pub fn set(
        &self,
        port: &PortName,
        look: &Look,
        (rate, burst): (BitRate, Duration),
        how: How,
    ) -> Result<(), NetError> {
        match port {
            PortName::Interface(name) => {
                let shape = Shape { rate, wire: true };
                match how {
                    How::Change => self.shapers.set_in(name, &look.survey, shape, burst),
                    How::Renew => self.shapers.renew(name, &look.survey, shape, burst),
                }
            }
            PortName::Vf { pf, vf } => {
                let nic = look.nics.iter().find(|nic| nic.name == *pf);
                self.nics.set(pf, *vf, nic, rate)
            }
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
