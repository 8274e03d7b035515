//! Limits that other programs have set at the ports of a policy.

use std::cell::RefCell;
use std::collections::BTreeMap;

use nicety_model::BitRate;
use nicety_netdev::netns::NetNs;
use nicety_netdev::shaper::{Face, Survey};
use nicety_police::Policy;
use nicety_police::adopt::{self, Adopted, Unknown};
use nicety_police::controller::PortSetup;
use nicety_police::driver::Steps;
use nicety_police::meter::Counters;
use nicety_police::policy::Adopt;

use crate::Error;
use crate::adopt::Host;

/// What is known of the ports, as it was when filters were looked at last.
#[derive(Debug)]
pub(super) struct Theirs {
    host: Host,
    /// What the policy says of each port, by its number.
    ports: Vec<Adopt>,
    capacity: BitRate,
    found: RefCell<BTreeMap<usize, Found>>,
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
    fn of(what: Result<Adopted, Unknown>, adopt: Adopt) -> Self {
        match (what, adopt) {
            (Ok(adopted), Adopt::Cap) => match adopted.bars() {
                Some(why) => Self::Refused(Box::new(Err(why))),
                None => Self::Adopted(adopted),
            },
            (what, _) => Self::Refused(Box::new(what)),
        }
    }

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
        let ports = tenants
            .iter()
            .flat_map(|tenant| tenant.ports.iter().map(|_| tenant.adopt));
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
                let sends = adopt::look(index, &host).sends;
                found.extend(sends.map(|what| (port, Found::of(what, self.adopts(port)))));
            }
        }
        self.found.replace(found);
    }

    /// What another program has set at a port.
    pub(super) fn at(&self, port: usize) -> Found {
        let found = self.found.borrow();
        found.get(&port).cloned().unwrap_or(Found::Nothing)
    }

    /// Whether a limit may be set beside filters of others at a port.
    pub(super) fn is_adopting(&self, port: usize) -> bool {
        matches!(self.found.borrow().get(&port), Some(Found::Adopted(_)))
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
        self.ports.get(port).copied().unwrap_or_default()
    }
}
