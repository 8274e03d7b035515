//! Which engine measures what: chosen once per size and direction, on the path itself.

use std::collections::BTreeMap;

use nicety_host::placement::Placement;
use nicety_model::{CellKey, Direction, FrameSize, LimitKey, PathSpec};
use nicety_paths::Path;
use nicety_port::af_packet::TrafficSpec;
use nicety_port::auto::{Choice, self_check};
use nicety_port::{Engine, Stop, pktgen};

use super::links;
use super::setup::{self, SetupError};

/// An engine on two ports.
pub struct Opened {
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// Why it is not the fastest, and where it works other than the placement says.
    pub notes: Vec<String>,
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
    /// What was taken for a size and direction (see [`Engines::limit_key`]).
    taken: BTreeMap<LimitKey, Choice>,
    /// Why not an engine, by its name, kind of path, size and direction; empty when it passed.
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

    /// The engine that cells of `path` get whatever is fastest: where their frames are to be spread
    /// over receive queues of the host, `af_packet`. Others send on the queue of their CPU, or on
    /// the first. A cell that names one queue is compared with those of several.
    pub fn bound(&self, path: &PathSpec) -> Option<Choice> {
        path.named_host_queues()
            .filter(|_| self.choice == Choice::Auto)
            .map(|_| Choice::AfPacket)
    }

    /// Why cells of `path` cannot be measured with the engine that was asked for.
    ///
    /// # Errors
    /// [`SetupError::OneQueue`].
    pub fn check(&self, path: &PathSpec) -> Result<(), SetupError> {
        match (path.named_host_queues(), self.choice) {
            (None | Some(1), _) | (_, Choice::Auto | Choice::AfPacket) => Ok(()),
            (Some(queues), engine) => Err(SetupError::OneQueue { engine, queues }),
        }
    }

    /// Key of the tester's limit for a cell.
    pub fn limit_key(&self, key: &CellKey) -> LimitKey {
        limit_key(key.frame_size_bytes, key.direction, self.bound(&key.path))
    }

    /// Finds out which engine cells like `key` get, so that the tester's limit can be measured
    /// with it. An engine that cannot be had says so when its cell comes.
    pub fn decide(
        &mut self,
        path: &dyn Path,
        key: &CellKey,
        placement: &Placement,
        say: &dyn Fn(&str),
    ) {
        let _ = self.open(path, key, placement, say);
    }

    /// Opens the engine of a cell on both ports of `path`. `say` is told what takes time.
    ///
    /// # Errors
    /// When the ports cannot be opened, or the engine that was asked for fails its self-check.
    pub fn open(
        &mut self,
        path: &dyn Path,
        key: &CellKey,
        placement: &Placement,
        say: &dyn Fn(&str),
    ) -> Result<Opened, SetupError> {
        self.check(&key.path)?;
        let bound = self.bound(&key.path);
        let mut opened = self.open_bound(path, setup::traffic(key, path), bound, placement, say)?;
        if let Some(choice) = bound {
            opened.notes.push(format!(
                "engine of the cells with host_queues: {choice}, the only one that sends a frame to the receive queue that its flow has"
            ));
        }
        Ok(opened)
    }

    /// Opens the engine on both ports of `path`: `bound`, or that of other cells.
    ///
    /// # Errors
    /// As those of [`Engines::open`].
    pub fn open_bound(
        &mut self,
        path: &dyn Path,
        traffic: TrafficSpec,
        bound: Option<Choice>,
        placement: &Placement,
        say: &dyn Fn(&str),
    ) -> Result<Opened, SetupError> {
        let limit = limit_key(traffic.frame_size, traffic.direction, bound);
        let wanted = self.taken.get(&limit).copied().unwrap_or(self.choice);
        let (engine, taken, note) = match bound.unwrap_or(self.choice) {
            Choice::Auto => self.fastest(wanted, path, traffic, placement, say)?,
            choice => (
                self.one(choice, path, traffic, placement, say)?,
                choice,
                None,
            ),
        };
        let limited = *self.taken.entry(limit).or_insert(taken);
        Ok(Opened {
            engine,
            notes: note
                .into_iter()
                .chain(receives_elsewhere(taken, placement))
                .collect(),
            as_limited: limited == taken,
        })
    }

    /// The first in [`order`] that works here.
    fn fastest(
        &mut self,
        wanted: Choice,
        path: &dyn Path,
        traffic: TrafficSpec,
        placement: &Placement,
        say: &dyn Fn(&str),
    ) -> Result<Taken, SetupError> {
        let (veths, pktgen) = (setup::on_veths(path)?, pktgen::there());
        let mut taken = None;
        for choice in order(wanted, veths, pktgen) {
            let key = found_key(*choice, path, traffic);
            if self.found.get(&key).is_some_and(|why| !why.is_empty()) {
                continue;
            }
            match self.one(*choice, path, traffic, placement, say) {
                Ok(engine) => {
                    taken = Some((engine, *choice));
                    break;
                }
                Err(error) => {
                    self.found.insert(key, error.to_string());
                }
            }
        }
        let (engine, taken) = match taken {
            Some(taken) => taken,
            None => {
                let engine = self.one(Choice::AfPacket, path, traffic, placement, say)?;
                (engine, Choice::AfPacket)
            }
        };
        // Also those that were refused when the choice was made for this size and direction.
        let refused: Vec<_> = order(Choice::Auto, veths, pktgen)
            .iter()
            .take_while(|choice| **choice != taken)
            .filter_map(|choice| {
                let why = self.found.get(&found_key(*choice, path, traffic))?;
                (!why.is_empty()).then(|| (*choice, why.clone()))
            })
            .collect();
        Ok((engine, taken, note(taken, &refused)))
    }

    /// One engine; those that not every driver bears out are checked once per kind of path, size
    /// and direction.
    fn one(
        &mut self,
        choice: Choice,
        path: &dyn Path,
        traffic: TrafficSpec,
        placement: &Placement,
        say: &dyn Fn(&str),
    ) -> Result<Box<dyn Engine>, SetupError> {
        let mut engine: Box<dyn Engine> = match choice {
            Choice::Xdp => Box::new(setup::xdp(path, traffic, placement)?),
            Choice::AfXdp => Box::new(setup::af_xdp(path, traffic, placement)?),
            Choice::Pktgen => Box::new(setup::pktgen(path, traffic, placement)?),
            Choice::AfPacket | Choice::Auto => {
                Box::new(setup::af_packet(path, traffic, placement)?)
            }
        };
        let ports = path.ports().each_ref();
        links::wait(&ports.map(|p| (&p.ns, p.name.as_str())), &self.stop, say)?;
        let key = found_key(choice, path, traffic);
        let checked = !matches!(choice, Choice::AfPacket | Choice::Auto);
        if checked && !self.found.contains_key(&key) {
            self_check(engine.as_mut(), &self.stop)?;
            self.found.insert(key, String::new());
        }
        Ok(engine)
    }
}

/// Key of the limit of `engine`, or of the one that was taken for most cells.
fn limit_key(frame_size: FrameSize, direction: Direction, engine: Option<Choice>) -> LimitKey {
    LimitKey {
        frame_size,
        direction,
        engine: engine.and_then(Choice::name),
    }
}

/// What to try before `af_packet`, the fastest first, once `wanted` was taken for the size and
/// direction (`auto` if nothing was). Between veths `af_xdp` sends faster than `af_packet` and
/// measures slower, because the path has to give every frame back: see
/// `docs/methodology/engines.md`. The kernel's pktgen is tried where it is loaded.
fn order(wanted: Choice, veths: bool, pktgen: bool) -> &'static [Choice] {
    match wanted {
        Choice::AfPacket => &[],
        Choice::AfXdp => &[Choice::AfXdp],
        Choice::Pktgen => &[Choice::Pktgen],
        Choice::Xdp | Choice::Auto if veths => &[Choice::Xdp],
        Choice::Xdp | Choice::Auto if pktgen => &[Choice::Xdp, Choice::AfXdp, Choice::Pktgen],
        Choice::Xdp | Choice::Auto => &[Choice::Xdp, Choice::AfXdp],
    }
}

/// Why it is not a faster one.
fn note(taken: Choice, refused: &[(Choice, String)]) -> Option<String> {
    let whys: Vec<_> = refused
        .iter()
        .map(|(choice, why)| format!("the faster {choice} was not taken: {why}"))
        .collect();
    (!whys.is_empty()).then(|| format!("engine: {taken}; {}", whys.join("; ")))
}

/// Where frames are counted by a program: on the CPU that delivers to the port, whoever was meant to.
fn receives_elsewhere(taken: Choice, placement: &Placement) -> Option<String> {
    let by_program = matches!(taken, Choice::Xdp | Choice::Pktgen);
    (by_program && !placement.shared).then(|| {
        format!(
            "engine {taken}: frames are counted by a program on the CPU that delivers to the port, \
             which is the path's own between veths and where its interrupts go for a NIC; between \
             veths it also makes the socket buffer of every frame, which af_packet makes on the \
             tester's CPU. The path's rate has these costs in it: with af_packet, as an ordinary \
             user has it, it can be up to a quarter higher"
        )
    })
}

/// The same ports: paths made here are alike, existing ones have names.
fn found_key(choice: Choice, path: &dyn Path, traffic: TrafficSpec) -> String {
    let ([a, b], kind) = (path.ports(), path.facts().kind);
    let (size, direction) = (traffic.frame_size, traffic.direction);
    format!("{choice} {kind} {},{} {size} {direction}", a.name, b.name)
}

#[cfg(test)]
mod tests {
    use nicety_model::path::VmParams;

    use super::*;

    #[test]
    fn faster_engines_come_first() {
        use Choice::{AfPacket, AfXdp, Auto, Pktgen, Xdp};
        for (wanted, veths, expected) in [
            (Auto, true, &[Xdp][..]),
            (Auto, false, &[Xdp, AfXdp]),
            (Xdp, true, &[Xdp]),
            (Xdp, false, &[Xdp, AfXdp]),
            (AfXdp, true, &[AfXdp]),
            (AfXdp, false, &[AfXdp]),
            (AfPacket, false, &[]),
        ] {
            assert_eq!(order(wanted, veths, false), expected, "{wanted} {veths}");
        }
        // Where pktgen is loaded it comes after those, and never between veths.
        assert_eq!(order(Auto, false, true), [Xdp, AfXdp, Pktgen]);
        assert_eq!(order(Auto, true, true), [Xdp]);
        assert_eq!(order(Pktgen, false, true), [Pktgen]);
    }

    #[test]
    fn several_queues_of_the_host_need_the_engine_that_spreads_frames() {
        let path = |host_queues: Option<u32>| {
            PathSpec::Vm(VmParams {
                host_queues,
                ..VmParams::default()
            })
        };
        let engines = |choice| Engines::new(choice, Stop::default());
        let auto = engines(Choice::Auto);
        assert_eq!(auto.bound(&path(None)), None);
        for queues in [1, 4] {
            assert_eq!(auto.bound(&path(Some(queues))), Some(Choice::AfPacket));
            assert!(auto.check(&path(Some(queues))).is_ok());
            let named = engines(Choice::AfPacket);
            assert_eq!(named.bound(&path(Some(queues))), None);
            assert!(named.check(&path(Some(queues))).is_ok());
        }
        let xdp = engines(Choice::Xdp);
        assert!(xdp.check(&path(None)).is_ok() && xdp.check(&path(Some(1))).is_ok());
        let error = xdp.check(&path(Some(4))).unwrap_err();
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
            (Choice::Xdp, "no".to_owned()),
            (Choice::AfXdp, "never".to_owned()),
        ];
        assert_eq!(note(Choice::Xdp, &[]), None);
        assert_eq!(
            note(Choice::AfPacket, &refused).unwrap(),
            "engine: af_packet; the faster xdp was not taken: no; the faster af_xdp was not \
             taken: never"
        );
    }
}
