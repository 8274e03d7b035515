//! What was seen of all ports.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use nicety_netdev::shaper::Survey;
use nicety_police::adopt::Way;
use nicety_police::liveness::Silence;
use nicety_police::received;
use nicety_police::snapshot::{Place, Snapshot};
use nicety_police::totals::Total;
use nicety_police::{PortName, Sample, Seen};

use super::links::Interfaces;
use crate::functions::Nic;
use crate::totals::owner_sent;

/// All ports at one moment.
pub struct Look {
    /// None where the kernel has not answered.
    pub(super) survey: Option<Arc<Survey>>,
    pub(super) at: Duration,
    /// Of interfaces that are not as they were, by the number of the port.
    pub(super) snapshots: BTreeMap<usize, Snapshot>,
    /// What they receive, where that is limited.
    pub(super) received: BTreeMap<usize, Snapshot>,
    /// None where the kernel has not answered.
    pub(super) nics: BTreeMap<String, Option<Arc<Nic>>>,
    /// For how long it has not, by NIC, where that is long; of the interfaces without a name.
    pub(super) silences: BTreeMap<Option<String>, Silence>,
}

impl Look {
    pub(super) fn new(interfaces: Option<Interfaces>) -> Self {
        let (survey, at, snapshots, received) = match interfaces {
            Some(all) => (Some(all.survey), all.at, all.snapshots, all.received),
            None => (None, Duration::ZERO, Vec::new(), Vec::new()),
        };
        Self {
            survey,
            at,
            snapshots: snapshots.into_iter().collect(),
            received: received.into_iter().collect(),
            nics: BTreeMap::new(),
            silences: BTreeMap::new(),
        }
    }

    /// What is seen now of an interface where nothing has happened since it was seen last; none when
    /// something may have.
    pub fn still(&self, (index, seen): (u32, Seen)) -> Option<Seen> {
        let sample = seen.sample.map(|sample| Sample {
            at: self.at,
            ..sample
        });
        self.survey
            .as_ref()?
            .is_still(index)
            .then_some(Seen { sample, ..seen })
    }

    /// One port, by its number and name; taken out.
    pub fn take(&mut self, way: Way, number: usize, port: &PortName) -> Snapshot {
        match way {
            Way::Sends => self.take_sent(number, port),
            Way::Receives => self.take_received(number, port),
        }
    }

    fn take_received(&mut self, number: usize, port: &PortName) -> Snapshot {
        match port {
            PortName::Interface(_) => self.received.remove(&number).unwrap_or_else(|| {
                Snapshot::silent(self.silences.get(&None).map(ToString::to_string))
            }),
            PortName::Vf { .. } => Snapshot::without(Place::Unfit(received::no_function(port))),
            PortName::Named(_) => Snapshot::without(Place::Gone),
        }
    }

    fn take_sent(&mut self, number: usize, port: &PortName) -> Snapshot {
        let silent = |group: &Option<String>| {
            Snapshot::silent(self.silences.get(group).map(ToString::to_string))
        };
        match port {
            PortName::Interface(_) => match self.snapshots.remove(&number) {
                Some(snapshot) => snapshot,
                None => silent(&None),
            },
            PortName::Vf { pf, vf } => match self.nics.get(pf) {
                Some(Some(nic)) => nic.snapshot(*vf),
                Some(None) | None => silent(&Some(pf.clone())),
            },
            PortName::Named(_) => Snapshot::without(Place::Gone),
        }
    }

    /// What an interface has counted, seen from its owner; none for functions.
    pub fn offered(&self, port: &PortName) -> Option<Total> {
        let PortName::Interface(name) = port else {
            return None;
        };
        self.survey.as_ref()?.face(name).map(owner_sent)
    }

    /// A NIC that has answered.
    pub fn nic(&self, name: &str) -> Option<&Nic> {
        self.nics.get(name)?.as_deref()
    }

    /// All that have.
    pub fn nics(&self) -> impl Iterator<Item = &Nic> {
        self.nics.values().filter_map(Option::as_deref)
    }

    /// There is an interface of that name.
    pub fn has(&self, interface: &str) -> bool {
        let survey = self.survey.as_ref();
        survey.is_some_and(|survey| survey.face(interface).is_some())
    }
}
