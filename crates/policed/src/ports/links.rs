//! Plain interfaces: their counters and limiters, asked by one thread.

mod limits;
mod snapshots;

use std::sync::Arc;
use std::time::Duration;

use nicety_host::journal::since_boot;
use nicety_model::BitRate;
use nicety_netdev::net_error::NetError;
use nicety_netdev::shaper::{Limits, Shape, Shapers, Survey, SurveyRequest};
use nicety_police::PortName;
use nicety_police::snapshot::Snapshot;

use super::theirs::{Theirs, Watch};

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

    /// All interfaces and what limits them.
    pub fn interfaces(&self) -> Result<Survey, NetError> {
        self.shapers.survey()
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
