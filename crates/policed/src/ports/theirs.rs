//! Limits that other programs have set at the ports of a policy.

mod roots;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use nicety_model::BitRate;
use nicety_model::traffic_control::{Filter, RecordedLimit, TrafficControl};
use nicety_netdev::netns::NetNs;
use nicety_netdev::shaper::{Face, Survey};
use nicety_netdev::traffic_control::{can_return, filter_of};
use nicety_police::Policy;
use nicety_police::adopt::{self, Adopted, Interface, Unknown, Way};
use nicety_police::controller::PortSetup;
use nicety_police::driver::Steps;
use nicety_police::meter::Counters;
use nicety_police::original::{TAKEN_AWAY, THEIRS};
use nicety_police::policy::Adopt;

use crate::Error;
use crate::adopt::Host;
use roots::Roots;

pub(super) use roots::Root;

/// Kind of the interfaces that are limited at their root, since they send what their owner sends.
pub(super) const MACVTAP: &str = "macvtap";

/// What is known of the ports, as it was when filters were looked at last.
#[derive(Debug)]
pub(super) struct Theirs {
    host: Host,
    /// What the policy says of each port, by its number.
    ports: Vec<Says>,
    capacity: BitRate,
    found: RefCell<BTreeMap<usize, Found>>,
    /// What was replaced, and is noted.
    taken: RefCell<BTreeMap<usize, Taken>>,
    /// Ports that nicety has limited, with the number of the interface. Who sets a limit takes away first what is there.
    ours: RefCell<BTreeMap<usize, u32>>,
    /// What others have where nicety is to limit what ports receive.
    roots: Roots,
}

/// What the policy says of a port.
#[derive(Debug, Clone, Copy, Default)]
struct Says {
    adopt: Adopt,
    /// Its tenant has a cap of its own.
    capped: bool,
    /// What it receives is limited, and by a cap of its tenant.
    receives: bool,
    receives_capped: bool,
}

/// A limit that was replaced.
#[derive(Debug)]
struct Taken {
    /// Number of the interface.
    index: u32,
    limit: RecordedLimit,
    /// As it is noted.
    text: String,
}

impl Taken {
    fn filters(&self) -> impl Iterator<Item = Filter> {
        self.limit.filters().filter_map(filter_of)
    }
}

/// What another program has set at a port.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Found {
    /// Nothing, or nothing that could be read.
    Nothing,
    /// A limit below which the port is limited; one that is to be replaced is not yet.
    Adopted(Adopted),
    /// A limit that is replaced.
    Held(Adopted),
    /// No filter at all where a limit was a moment ago: somebody may be making it anew, and would find no place for it
    /// if there were one of nicety's.
    Anew,
    /// No limit any more, where one was replaced or was to be: nothing is given back.
    Cleared,
    /// A limit, or something else, that is in the way.
    Refused(Box<Result<Adopted, Unknown>>),
}

impl Found {
    fn of(what: Result<Adopted, Unknown>, adopt: Adopt) -> Self {
        let refusal = |adopted: &Adopted| match adopt {
            Adopt::Refuse => None,
            Adopt::Cap => adopted.bars(),
            Adopt::Replace => can_return(&adopted.parts)
                .err()
                .map(|why| Unknown::NoWayBack {
                    by: adopted.by,
                    most: adopted.rate,
                    why,
                }),
        };
        match (what, adopt) {
            (Ok(adopted), Adopt::Cap | Adopt::Replace) => match refusal(&adopted) {
                Some(why) => Self::Refused(Box::new(Err(why))),
                None => Self::Adopted(adopted),
            },
            (what, _) => Self::Refused(Box::new(what)),
        }
    }

    pub(super) fn adopted(self) -> Option<Adopted> {
        match self {
            Self::Adopted(adopted) | Self::Held(adopted) => Some(adopted),
            Self::Nothing | Self::Anew | Self::Cleared | Self::Refused(_) => None,
        }
    }
}

/// What follows from a look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Watch {
    /// Interfaces of which changes must be known at once.
    pub interfaces: BTreeSet<u32>,
    /// A limit waits for being replaced.
    pub waits: bool,
    /// Somebody may be making one anew.
    pub anew: bool,
}

impl Theirs {
    /// Of the ports of a policy; of none for putting things back.
    pub(super) fn open(ns: &NetNs, policy: Option<&Policy>) -> Result<Self, Error> {
        let ports = policy.into_iter().flat_map(|policy| {
            policy.ports().filter_map(|(number, _)| {
                let tenant = policy.tenants.get(number)?;
                Some(Says {
                    adopt: tenant.adopt,
                    capped: tenant.cap.is_some(),
                    receives: policy.limits_received(number),
                    receives_capped: tenant.received.cap.is_some(),
                })
            })
        });
        Ok(Self {
            host: Host::open(ns)?,
            ports: ports.collect(),
            capacity: policy.map(|policy| policy.capacity).unwrap_or_default(),
            found: RefCell::default(),
            taken: RefCell::default(),
            ours: RefCell::default(),
            roots: Roots::default(),
        })
    }

    /// Goes on with a limit that was replaced at a port, of an interface.
    pub(super) fn resume(&self, port: usize, index: u32, limit: RecordedLimit) {
        let taken = Taken {
            index,
            text: limit.to_string(),
            limit,
        };
        self.taken.borrow_mut().insert(port, taken);
    }

    /// A port has a limit of nicety's now, which has the place of what was found there.
    pub(super) fn limited(&self, port: usize, index: u32) {
        self.ours.borrow_mut().insert(port, index);
        let mut found = self.found.borrow_mut();
        match found.get(&port).cloned() {
            Some(Found::Adopted(adopted)) if self.says(port).adopt == Adopt::Replace => {
                self.resume(port, index, adopted.record());
                found.insert(port, Found::Held(adopted));
            }
            Some(Found::Cleared) => {
                self.taken.borrow_mut().remove(&port);
                found.remove(&port);
            }
            _ => {}
        }
    }

    /// Looks at the filters of the ports where others may have some. What cannot be read is as it was; where nothing
    /// was known, the port is somebody else's, and not touched.
    pub(super) fn look<'a>(
        &self,
        ports: impl Iterator<Item = (usize, &'a Face)>,
        survey: &Survey,
    ) -> Watch {
        let ports: Vec<(usize, &Face)> = ports.collect();
        let roots = self.look_at_roots(&ports, survey);
        let mut taken = self.taken.borrow_mut();
        // An interface that has come anew brings nothing along.
        taken.retain(|port, taken| {
            let is_it = |(other, face): &(usize, &Face)| other == port && face.index == taken.index;
            ports.iter().any(is_it)
        });
        let may_be_theirs = |(port, face): &(usize, &Face)| {
            let own = survey.limiter_of(face).is_some();
            let adopting = self.says(*port).adopt != Adopt::Refuse;
            let at_root = face.kind == MACVTAP;
            let ours = || self.ours.borrow().get(port) == Some(&face.index);
            let known =
                || self.found.borrow().contains_key(port) || taken.contains_key(port) || ours();
            match survey.ingress_kind(face) {
                _ if at_root => false,
                Some(_) => !own || adopting,
                None => adopting && known(),
            }
        };
        let adopting = ports
            .iter()
            .filter(|(port, _)| self.says(*port).adopt != Adopt::Refuse);
        let mut watch = Watch {
            interfaces: adopting.map(|(_, face)| face.index).collect(),
            ..roots
        };
        let looked: Vec<(usize, u32)> = ports
            .iter()
            .filter(|port| may_be_theirs(port))
            .map(|(port, face)| (*port, face.index))
            .collect();
        let redirects = taken.values().flat_map(Taken::filters);
        let redirects = TrafficControl {
            filters: redirects.collect(),
            ..TrafficControl::default()
        };
        let wanted = (looked.iter().map(|(_, index)| *index))
            .chain(redirects.redirects())
            .collect();
        let host = if looked.is_empty() {
            Ok(BTreeMap::new())
        } else {
            self.host.read(&wanted)
        };
        let Ok(host) = host else {
            return watch;
        };
        let before = self.found.take();
        let mut found = BTreeMap::new();
        for (port, index) in looked {
            let had = before.get(&port);
            let now = self.one((port, index), &host, had, taken.get(&port));
            watch.anew |= now == Found::Anew;
            watch.waits |= matches!(now, Found::Adopted(_)) && self.replaces(port);
            if now != Found::Nothing {
                found.insert(port, now);
            }
        }
        watch.interfaces.extend(
            host.values()
                .flat_map(|interface| interface.control.redirects()),
        );
        watch.interfaces.extend(redirects.redirects());
        self.found.replace(found);
        watch
    }

    /// Whether what a port receives is limited.
    pub(super) fn receives(&self, port: usize) -> bool {
        self.says(port).receives
    }

    /// What others have at a port now.
    fn one(
        &self,
        (port, index): (usize, u32),
        host: &BTreeMap<u32, Interface>,
        had: Option<&Found>,
        taken: Option<&Taken>,
    ) -> Found {
        let adopt = self.says(port).adopt;
        if let Some(what) = adopt::look(index, host).sends {
            return Found::of(what, adopt);
        }
        let held = matches!(had, Some(Found::Adopted(_) | Found::Held(_)));
        if filters(host, index) == 0 {
            let ours = self.ours.borrow_mut().remove(&port) == Some(index);
            if held || ours && adopt != Adopt::Refuse {
                return Found::Anew;
            }
        }
        if adopt != Adopt::Replace {
            return Found::Nothing;
        }
        let was_theirs = matches!(
            had,
            Some(Found::Adopted(_) | Found::Held(_) | Found::Anew | Found::Cleared)
        );
        match taken {
            Some(taken) if filters(host, index) > 0 => {
                adopt::held(index, host, taken.filters()).map_or(Found::Cleared, Found::Held)
            }
            Some(_) => Found::Cleared,
            None if was_theirs => Found::Cleared,
            None => Found::Nothing,
        }
    }

    /// What another program has set at a port.
    pub(super) fn at(&self, port: usize) -> Found {
        let found = self.found.borrow();
        found.get(&port).cloned().unwrap_or(Found::Nothing)
    }

    /// What is given back to a port in the words of its setting; none where that is what is found there. `open` is
    /// whether nothing limits it.
    pub(super) fn original(&self, port: usize, found: &Found, open: bool) -> Option<String> {
        let taken = || Some(self.taken.borrow().get(&port)?.text.clone());
        match (found, self.says(port).adopt) {
            (_, Adopt::Refuse) => None,
            (Found::Adopted(_), Adopt::Cap) => Some(THEIRS.to_owned()),
            (Found::Adopted(adopted), Adopt::Replace) => Some(adopted.record().to_string()),
            (Found::Cleared, _) => Some(TAKEN_AWAY.to_owned()),
            (Found::Held(_) | Found::Nothing | Found::Anew | Found::Refused(_), _) => {
                taken().or_else(|| open.then(|| TAKEN_AWAY.to_owned()))
            }
        }
    }

    /// Limits of others at a port are replaced.
    pub(super) fn replaces(&self, port: usize) -> bool {
        self.says(port).adopt == Adopt::Replace
    }

    /// How a port is limited: below what another program has set. None where the policy says to take no notice.
    pub(super) fn setup(
        &self,
        (way, port): (Way, usize),
        adopted: Option<&Adopted>,
    ) -> Option<PortSetup> {
        let says = self.says(port);
        let theirs = adopted.map_or(self.capacity, |adopted| adopted.rate);
        let capped = match way {
            Way::Sends => says.capped,
            Way::Receives => says.receives_capped,
        };
        let most = match says.adopt {
            Adopt::Refuse => return None,
            Adopt::Replace if capped => self.capacity,
            Adopt::Cap | Adopt::Replace => theirs.min(self.capacity),
        };
        Some(PortSetup {
            steps: Steps::tc(),
            counters: Counters::kernel(),
            cap_bps: most.bps(),
        })
    }

    fn says(&self, port: usize) -> Says {
        self.ports.get(port).copied().unwrap_or_default()
    }
}

/// How many filters an interface has.
fn filters(host: &BTreeMap<u32, Interface>, index: u32) -> usize {
    host.get(&index)
        .map_or(0, |interface| interface.control.filters.len())
}
