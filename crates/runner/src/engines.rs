//! Which engine measures what: chosen once per size and direction, on the path itself.

use std::collections::{BTreeMap, BTreeSet};

use nicety_host::placement::Placement;
use nicety_model::note::{MachineNote, Refused};
use nicety_model::{
    CellKey, Direction, EngineChoice, EngineName, FrameSize, LimitKey, Note, Shape,
};
use nicety_packet::RunMark;
use nicety_paths::Path;
use nicety_port::af_packet::TrafficSpec;
use nicety_port::auto::self_check;
use nicety_port::{Engine, Stop, pktgen};
use nicety_search::engine::{self, order};

use crate::event::Observer;
use crate::links;
use crate::setup;
use crate::setup_error::SetupError;
use crate::through;

/// An engine on two ports.
pub struct Opened {
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// Why it is not the fastest, and where it works other than the placement says.
    pub notes: Vec<Note>,
    /// Whether it is the one that the tester's limit is measured with.
    pub as_limited: bool,
}

/// An engine, which one it is, and why not the faster one.
type Taken = (Box<dyn Engine>, EngineName, Option<MachineNote>);

/// An engine on the same ports: paths made here are alike, existing ones have names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Tried {
    engine: EngineName,
    kind: &'static str,
    ports: [String; 2],
    frame_size: FrameSize,
    direction: Direction,
    shape: Shape,
}

impl Tried {
    fn on(path: &dyn Path, traffic: TrafficSpec, engine: EngineName) -> Self {
        Self {
            engine,
            kind: path.facts().kind,
            ports: path.ports().each_ref().map(|port| port.name.clone()),
            frame_size: traffic.frame_size,
            direction: traffic.direction,
            shape: traffic.shape,
        }
    }
}

/// The user's choice and what came of it.
#[derive(Debug)]
pub struct Engines {
    choice: EngineChoice,
    stop: Stop,
    /// What all frames of the run have in common.
    mark: RunMark,
    /// What was taken for a size and direction (see [`Engines::limit_key`]).
    taken: BTreeMap<LimitKey, EngineName>,
    /// Engines that were tried, and why they do not work; `None` for those that do.
    tried: BTreeMap<Tried, Option<String>>,
    /// Ports of existing paths that were waited for; `None` where nobody waits.
    waited: Option<BTreeSet<[String; 2]>>,
}

impl Engines {
    /// Engines by `choice`.
    pub fn new(choice: EngineChoice, stop: Stop) -> Self {
        Self {
            choice,
            stop,
            mark: nicety_port::run_mark(),
            taken: BTreeMap::new(),
            tried: BTreeMap::new(),
            waited: None,
        }
    }

    /// Has an existing path waited for, once, until frames come through.
    #[must_use]
    pub fn waiting(mut self) -> Self {
        self.waited = Some(BTreeSet::new());
        self
    }

    /// Why a cell cannot be measured with the engine that was asked for.
    ///
    /// # Errors
    /// [`SetupError::OneQueue`], [`SetupError::NotSent`].
    pub fn check(&self, key: &CellKey) -> Result<(), SetupError> {
        if let Some(engine) = engine::sends_not(self.choice, &key.shape) {
            return Err(SetupError::NotSent { engine });
        }
        match engine::reaches_one_queue(self.choice, &key.path) {
            None => Ok(()),
            Some((engine, queues)) => Err(SetupError::OneQueue { engine, queues }),
        }
    }

    /// Key of the tester's limit for a cell.
    pub fn limit_key(&self, key: &CellKey) -> LimitKey {
        engine::limit_key(self.choice, key)
    }

    /// Finds out which engine cells like `key` get, so that the tester's limit can be measured
    /// with it. An engine that cannot be had says so when its cell comes.
    pub fn decide(
        &mut self,
        path: &dyn Path,
        key: &CellKey,
        placement: &Placement,
        observer: &dyn Observer,
    ) {
        let _ = self.open(path, key, placement, observer);
    }

    /// Opens the engine of a cell on both ports of `path`. `observer` is told what takes time.
    ///
    /// # Errors
    /// When the ports cannot be opened, or the engine that was asked for fails its self-check.
    pub fn open(
        &mut self,
        path: &dyn Path,
        key: &CellKey,
        placement: &Placement,
        observer: &dyn Observer,
    ) -> Result<Opened, SetupError> {
        self.check(key)?;
        if key.shape.vlan.is_some() && path.facts().vlan.is_some() {
            return Err(SetupError::TwoTags(key.path_name()));
        }
        let limit = self.limit_key(key);
        let traffic = setup::traffic(key, path);
        let mut opened = self.open_for(limit, path, traffic, placement, observer)?;
        if let Some(choice) = limit.engine {
            let engine = choice.to_string();
            opened.notes.push(if key.shape.is_plain() {
                MachineNote::EngineByQueues { engine }.into()
            } else {
                MachineNote::EngineByTraffic { engine }.into()
            });
        }
        Ok(opened)
    }

    /// Opens the engine of cells with this limit on both ports of `path`.
    ///
    /// # Errors
    /// As those of [`Engines::open`].
    pub fn open_for(
        &mut self,
        limit: LimitKey,
        path: &dyn Path,
        traffic: TrafficSpec,
        placement: &Placement,
        observer: &dyn Observer,
    ) -> Result<Opened, SetupError> {
        let traffic = TrafficSpec {
            mark: self.mark,
            ..traffic
        };
        let choice = limit.engine.map_or(self.choice, EngineChoice::Only);
        let (engine, taken, note) = match choice {
            EngineChoice::Auto => {
                let known = self.taken.get(&limit).copied();
                self.fastest(known, path, traffic, placement, observer)?
            }
            EngineChoice::Only(name) => {
                let engine = self.one(name, path, traffic, placement, observer)?;
                (engine, name, None)
            }
        };
        let limited = *self.taken.entry(limit).or_insert(taken);
        Ok(Opened {
            engine,
            notes: note
                .into_iter()
                .chain(receives_elsewhere(taken, placement))
                .map(Note::from)
                .collect(),
            as_limited: limited == taken,
        })
    }

    /// The first in [`order`] that works here; `known` was taken before.
    fn fastest(
        &mut self,
        known: Option<EngineName>,
        path: &dyn Path,
        traffic: TrafficSpec,
        placement: &Placement,
        observer: &dyn Observer,
    ) -> Result<Taken, SetupError> {
        let (veths, pktgen) = (setup::on_veths(path)?, pktgen::there());
        let mut taken = None;
        for name in order(known, veths, pktgen) {
            let key = Tried::on(path, traffic, *name);
            if self.tried.get(&key).is_some_and(Option::is_some) {
                continue;
            }
            match self.one(*name, path, traffic, placement, observer) {
                Ok(engine) => {
                    taken = Some((engine, *name));
                    break;
                }
                Err(error) => {
                    self.tried.insert(key, Some(error.to_string()));
                }
            }
        }
        let (engine, taken) = match taken {
            Some(taken) => taken,
            None => {
                let name = EngineName::AfPacket;
                (self.one(name, path, traffic, placement, observer)?, name)
            }
        };
        // Also those that were refused when the choice was made for this size and direction.
        let refused: Vec<_> = order(None, veths, pktgen)
            .iter()
            .take_while(|name| **name != taken)
            .filter_map(|name| {
                let why = self.tried.get(&Tried::on(path, traffic, *name))?;
                Some((*name, why.clone()?))
            })
            .collect();
        Ok((engine, taken, note(taken, &refused)))
    }

    /// One engine; those that not every driver bears out are checked once per kind of path, size
    /// and direction.
    fn one(
        &mut self,
        name: EngineName,
        path: &dyn Path,
        traffic: TrafficSpec,
        placement: &Placement,
        observer: &dyn Observer,
    ) -> Result<Box<dyn Engine>, SetupError> {
        let mut engine = setup::engine(name, path, traffic, placement)?;
        let ports = path.ports().each_ref();
        links::wait(
            &ports.map(|p| (&p.ns, p.name.as_str())),
            &self.stop,
            observer,
        )?;
        let names = ports.map(|port| port.name.clone());
        let waits = self.waited.as_mut().filter(|_| path.facts().existing_ports);
        if let Some(waited) = waits.filter(|waited| !waited.contains(&names)) {
            let names_of = ports.map(|port| port.name.as_str());
            through::wait(engine.as_mut(), names_of, &self.stop, observer)?;
            waited.insert(names);
        }
        let key = Tried::on(path, traffic, name);
        if name != EngineName::AfPacket && !self.tried.contains_key(&key) {
            self_check(engine.as_mut(), &self.stop)?;
            self.tried.insert(key, None);
        }
        Ok(engine)
    }
}

/// Why it is not a faster one.
fn note(taken: EngineName, refused: &[(EngineName, String)]) -> Option<MachineNote> {
    let one = |(choice, why): &(EngineName, String)| Refused {
        engine: choice.to_string(),
        why: why.clone(),
    };
    (!refused.is_empty()).then(|| MachineNote::EngineSlower {
        engine: taken.to_string(),
        refused: refused.iter().map(one).collect(),
    })
}

/// Where frames are counted by a program: on the CPU that delivers to the port, whoever was meant to.
fn receives_elsewhere(taken: EngineName, placement: &Placement) -> Option<MachineNote> {
    let by_program = matches!(taken, EngineName::Xdp | EngineName::Pktgen);
    (by_program && !placement.shared).then(|| MachineNote::EngineOnPathCpu {
        engine: taken.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use nicety_model::PathSpec;
    use nicety_model::path::VmParams;

    use super::*;

    #[test]
    fn an_engine_that_reaches_one_queue_says_what_to_do() {
        let path = PathSpec::Vm(VmParams {
            host_queues: Some(4),
            ..VmParams::default()
        });
        let xdp = EngineChoice::Only(EngineName::Xdp);
        let key = CellKey {
            path,
            frame_size_bytes: FrameSize::SMALLEST,
            direction: Direction::Uni,
            flows: 1,
            shape: nicety_model::Shape::default(),
        };
        let error = Engines::new(xdp, Stop::default()).check(&key).unwrap_err();
        assert!(error.rules_out());
        assert_eq!(
            (error.to_string().as_str(), error.remedy().as_str()),
            (
                "engine xdp reaches one of the host's 4 receive queues only",
                "measure with --engine af_packet, then go on with --resume, or write host_queues = 1 and start a new run"
            )
        );
    }

    #[test]
    fn every_refusal_is_said() {
        let refused = [
            (EngineName::Xdp, "no".to_owned()),
            (EngineName::AfXdp, "never".to_owned()),
        ];
        assert_eq!(note(EngineName::Xdp, &[]), None);
        assert_eq!(
            note(EngineName::AfPacket, &refused).unwrap().to_string(),
            "The engine is af_packet. The faster xdp was refused: no. The faster af_xdp was refused: \
             never."
        );
    }
}
