//! Which engine measures what: chosen once per size and direction, on the path itself.

use std::collections::BTreeMap;

use nicety_host::placement::Placement;
use nicety_model::plan::PathPlan;
use nicety_model::{CellKey, Direction, FrameSize};
use nicety_port::af_packet::TrafficSpec;
use nicety_port::auto::{Choice, self_check};
use nicety_port::{Engine, Stop};
use nicety_testbed::Path;

use super::setup::{self, SetupError};

/// An engine on two ports.
pub struct Opened {
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// Why it is not the fastest, in one sentence.
    pub note: Option<String>,
    /// Whether it is the one that the tester's limit is measured with.
    pub as_limited: bool,
}

/// An engine, which one it is, and why not the faster one.
type Taken = (Box<dyn Engine>, Choice, Option<String>);

/// The user's choice and what came of it.
#[derive(Debug)]
pub struct Engines {
    choice: Choice,
    stop: Stop,
    /// What was taken for a size and direction (see [`setup::limit_key`]).
    taken: BTreeMap<String, Choice>,
    /// Why not the faster engine, by kind of path, size and direction; empty when it passed.
    found: BTreeMap<String, String>,
}

impl Engines {
    /// Engines by `choice`.
    pub fn new(choice: Choice, stop: Stop) -> Self {
        Self {
            choice,
            stop,
            taken: BTreeMap::new(),
            found: BTreeMap::new(),
        }
    }

    /// Finds out which engine cells like `key` get, so that the tester's limit can be measured
    /// with it. A path that cannot be had says so when its cell comes.
    pub fn decide(&mut self, plan: &PathPlan, key: &CellKey, placement: &Placement) {
        if let Ok(path) = setup::path(plan, key.frame_size_bytes, placement) {
            let _ = self.open(path.as_ref(), setup::traffic(key), placement);
        }
    }

    /// Opens the engine on both ports of `path`.
    ///
    /// # Errors
    /// When the ports cannot be opened, or the engine that was asked for fails its self-check.
    pub fn open(
        &mut self,
        path: &dyn Path,
        traffic: TrafficSpec,
        placement: &Placement,
    ) -> Result<Opened, SetupError> {
        let limit = setup::limit_key(traffic.frame_size, traffic.direction);
        let wanted = self.taken.get(&limit).copied().unwrap_or(self.choice);
        let (engine, taken, note) = match wanted {
            Choice::AfPacket => (self.af_packet(path, traffic, placement)?, wanted, None),
            Choice::Xdp if self.choice == Choice::Xdp => {
                (self.xdp(path, traffic, placement)?, wanted, None)
            }
            Choice::Xdp | Choice::Auto => self.fastest(path, traffic, placement)?,
        };
        let limited = *self.taken.entry(limit).or_insert(taken);
        Ok(Opened {
            engine,
            note,
            as_limited: limited == taken,
        })
    }

    fn fastest(
        &mut self,
        path: &dyn Path,
        traffic: TrafficSpec,
        placement: &Placement,
    ) -> Result<Taken, SetupError> {
        let key = found_key(path, traffic.frame_size, traffic.direction);
        let why = match self.found.get(&key) {
            Some(why) if !why.is_empty() => why.clone(),
            _ => match self.xdp(path, traffic, placement) {
                Ok(engine) => return Ok((engine, Choice::Xdp, None)),
                Err(error) => {
                    let why = error.to_string();
                    self.found.insert(key, why.clone());
                    why
                }
            },
        };
        let engine = self.af_packet(path, traffic, placement)?;
        let note = format!("engine: af_packet; the faster xdp was not taken: {why}");
        Ok((engine, Choice::AfPacket, Some(note)))
    }

    /// The `xdp` engine, checked once per kind of path, size and direction.
    fn xdp(
        &mut self,
        path: &dyn Path,
        traffic: TrafficSpec,
        placement: &Placement,
    ) -> Result<Box<dyn Engine>, SetupError> {
        let mut engine = setup::xdp(path, traffic, placement)?;
        let key = found_key(path, traffic.frame_size, traffic.direction);
        if !self.found.contains_key(&key) {
            self_check(&mut engine, &self.stop)?;
            self.found.insert(key, String::new());
        }
        Ok(Box::new(engine))
    }

    fn af_packet(
        &self,
        path: &dyn Path,
        traffic: TrafficSpec,
        placement: &Placement,
    ) -> Result<Box<dyn Engine>, SetupError> {
        Ok(Box::new(setup::af_packet(path, traffic, placement)?))
    }
}

/// The same ports: paths made here are alike, existing ones have names.
fn found_key(path: &dyn Path, size: FrameSize, direction: Direction) -> String {
    let [a, b] = path.ports();
    format!("{} {},{} {size} {direction}", path.kind(), a.name, b.name)
}
