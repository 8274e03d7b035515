//! Limits that other programs have set at the ports of a policy.

use std::cell::RefCell;
use std::collections::BTreeMap;

use nicety_model::BitRate;
use nicety_netdev::netns::NetNs;
use nicety_netdev::shaper::{Face, Survey};
use nicety_police::adopt::{self, Adopted, Unknown};
use nicety_police::controller::PortSetup;
use nicety_police::driver::Steps;
use nicety_police::meter::Counters;
use nicety_police::policy::Adopt;
use nicety_police::{Policy, PortName};

use crate::Error;
use crate::adopt::Host;

/// What is known of the ports, as it was when filters were looked at last.
#[derive(Debug)]
pub(super) struct Theirs {
    host: Host,
    /// By number of the port; what the policy says of each.
    ports: Vec<(PortName, Adopt)>,
    capacity: BitRate,
    found: RefCell<BTreeMap<usize, Result<Adopted, Unknown>>>,
}

/// What another program has set at a port.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Found {
    /// Nothing, or nothing that could be read.
    Nothing,
    /// A limit below which the port is limited.
    Adopted(Adopted),
    /// A limit, or something else, that is in the way.
    Refused(Box<Result<Adopted, Unknown>>),
}

impl Found {
    pub(super) fn adopted(self) -> Option<Adopted> {
        match self {
            Self::Adopted(adopted) => Some(adopted),
            Self::Nothing | Self::Refused(_) => None,
        }
    }
}

impl Theirs {
    /// Of the ports of a policy; of none for putting things back.
    pub(super) fn open(ns: &NetNs, policy: Option<&Policy>) -> Result<Self, Error> {
        let tenants = policy.map(|policy| &policy.tenants[..]).unwrap_or_default();
        let ports = tenants.iter().flat_map(|tenant| {
            let adopt = tenant.adopt;
            tenant.ports.iter().map(move |port| (port.clone(), adopt))
        });
        Ok(Self {
            host: Host::open(ns)?,
            ports: ports.collect(),
            capacity: policy.map(|policy| policy.capacity).unwrap_or_default(),
            found: RefCell::default(),
        })
    }

    /// Looks at the filters of the ports where others may have some. What cannot be read is as if it were not there:
    /// the port is somebody else's then, and not touched.
    pub(super) fn look<'a>(&self, ports: impl Iterator<Item = (usize, &'a Face)>, survey: &Survey) {
        let adopting = |port: usize| self.adopts(port) == Adopt::Cap;
        let may_be_theirs = |(port, face): &(usize, &Face)| {
            let own = survey.limiter_of(face).is_some();
            survey.ingress_kind(face).is_some() && (!own || adopting(*port))
        };
        let ports: Vec<(usize, u32)> = ports
            .filter(may_be_theirs)
            .map(|(port, face)| (port, face.index))
            .collect();
        let mut found = BTreeMap::new();
        if !ports.is_empty() {
            let indexes = ports.iter().map(|(_, index)| *index).collect();
            let host = self.host.read(&indexes).unwrap_or_default();
            for (port, index) in ports {
                found.extend(adopt::look(index, &host).sends.map(|what| (port, what)));
            }
        }
        self.found.replace(found);
    }

    /// What another program has set at a port.
    pub(super) fn at(&self, port: usize) -> Found {
        match (self.found.borrow().get(&port), self.adopts(port)) {
            (None, _) => Found::Nothing,
            (Some(Ok(adopted)), Adopt::Cap) => match adopted.bars() {
                Some(why) => Found::Refused(Box::new(Err(why))),
                None => Found::Adopted(adopted.clone()),
            },
            (Some(what), _) => Found::Refused(Box::new(what.clone())),
        }
    }

    /// Whether a limit may be set beside filters of others at a port.
    pub(super) fn is_adopting(&self, name: &str) -> bool {
        self.ports.iter().enumerate().any(|(port, (of, _))| {
            matches!(of, PortName::Interface(of) if of == name)
                && matches!(self.at(port), Found::Adopted(_))
        })
    }

    /// How a port is limited: below what another program has set. None where the policy says to take no notice.
    pub(super) fn setup(&self, port: usize, adopted: Option<&Adopted>) -> Option<PortSetup> {
        let most = adopted.map_or(self.capacity, Adopted::most);
        (self.adopts(port) == Adopt::Cap).then(|| PortSetup {
            steps: Steps::tc(),
            counters: Counters::kernel(),
            cap_bps: most.min(self.capacity).bps(),
        })
    }

    fn adopts(&self, port: usize) -> Adopt {
        self.ports
            .get(port)
            .map(|(_, adopt)| *adopt)
            .unwrap_or_default()
    }
}
