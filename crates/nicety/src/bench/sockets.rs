//! The plan's socket tests: one path after another in random order, its tests in random order.

mod neighbours;
mod stage;

use std::time::Instant;

use nicety_host::placement::Placement;
use nicety_model::cell::SkippedCell;
use nicety_model::plan::{SockCell, SockClient};
use nicety_model::sock::{Ending as TestEnding, Neighbours, SockResult, SockSpec};
use nicety_model::{PathSpec, Plan, Remedy};
use nicety_search::order::shuffled;
use nicety_socket::{Connection, Ran, SocketError};
use nicety_store::{RunDir, RunMeta};
use nicety_workload::{Ends, Steps, result};

use super::guests::Guests;
use super::progress::Progress;
use super::run::Ending;
use super::setup;
use super::signals::Signals;
use crate::exit::Failure;
use crate::sock::args;
use stage::Stage;

/// Seconds a test takes beyond its own time: namespaces, connections, reports.
const OVERHEAD_S: f64 = 0.3;

/// What paths for sockets are made of.
pub(super) struct Making<'a> {
    pub(super) plan: &'a Plan,
    pub(super) placement: &'a Placement,
    pub(super) guests: &'a mut Guests,
    pub(super) signals: &'a Signals,
    pub(super) progress: &'a Progress,
}

/// What the socket tests of a run need.
pub(super) struct SocketRun<'a> {
    pub(super) making: Making<'a>,
    pub(super) dir: &'a mut RunDir,
    pub(super) meta: &'a mut RunMeta,
    /// Results of earlier sittings; those of this one are added.
    pub(super) done: &'a mut Vec<SockResult>,
    pub(super) started: Instant,
    pub(super) elapsed_before: f64,
    /// When they have to be over, in seconds of the whole run.
    pub(super) until_s: Option<f64>,
}

/// Why a test has no result: what is missing and what to do.
#[derive(Debug, Clone)]
struct Missing {
    reason: String,
    remedy: String,
}

impl Missing {
    /// For a reason that says by itself what to do.
    fn of(reason: impl std::fmt::Display) -> Self {
        Self::with(reason.to_string(), &Remedy::here("put it right"))
    }

    fn with(reason: impl Into<String>, remedy: &Remedy) -> Self {
        Self {
            reason: reason.into(),
            remedy: setup::and_then(remedy),
        }
    }

    fn socket(error: &SocketError) -> Self {
        match error.remedy() {
            Some(remedy) => Self::with(error.what(), &remedy),
            None => Self::of(error),
        }
    }

    /// Of a server that could not be started.
    fn server(failure: &Failure) -> Self {
        match failure.error.downcast_ref::<SocketError>() {
            Some(error) => Self::socket(error),
            None => Self::of(failure),
        }
    }
}

/// How one cell went.
enum Went {
    Done,
    Missing(Missing),
    Interrupted,
}

impl SocketRun<'_> {
    /// Runs every test that has no result yet.
    pub(super) fn all(&mut self, seed: u64) -> Result<Ending, Failure> {
        let mut paths: Vec<(PathSpec, Vec<SockCell>)> = Vec::new();
        for cell in self.making.plan.sock_cells() {
            match paths.iter_mut().find(|(path, _)| *path == cell.path) {
                Some((_, cells)) => cells.push(cell),
                None => paths.push((cell.path.clone(), vec![cell])),
            }
        }
        let mut ending = Ending::Complete;
        for at in shuffled(paths.len(), seed) {
            let (_, cells) = &paths[at];
            ending = match (ending, self.path(cells, seed)?) {
                (Ending::Complete, then) => then,
                (before, Ending::Complete) => before,
                (_, then) => then,
            };
        }
        Ok(ending)
    }

    /// Runs the tests over one path.
    fn path(&mut self, cells: &[SockCell], seed: u64) -> Result<Ending, Failure> {
        let mut stage: Option<Result<Stage, Missing>> = None;
        let mut ending = Ending::Complete;
        for at in shuffled(cells.len(), seed) {
            let cell = &cells[at];
            let name = cell.name();
            let Some(mut steps) = self.steps(cell, &name) else {
                continue;
            };
            if self.making.signals.stopped() {
                self.meta.left_out.push(name);
                ending = Ending::Interrupted;
                continue;
            }
            if self
                .until_s
                .is_some_and(|until| self.elapsed_s() + OVERHEAD_S + cell.least_s() > until)
            {
                self.meta.left_out.push(name);
                ending = Ending::OutOfTime;
                continue;
            }
            self.meta.skipped.retain(|skipped| skipped.cell != name);
            let most = cells.iter().map(|cell| cell.neighbours).max().unwrap_or(0);
            let from_guest = cells.iter().any(|cell| cell.client == SockClient::Guest);
            let making = &mut self.making;
            let stage = stage.get_or_insert_with(|| Stage::build(making, cell, most, from_guest));
            let went = match stage {
                Ok(stage) => self.cell(stage, cell, &mut steps)?,
                Err(missing) => Went::Missing(missing.clone()),
            };
            match went {
                Went::Done => {}
                Went::Interrupted => {
                    self.meta.left_out.push(name);
                    ending = Ending::Interrupted;
                }
                Went::Missing(Missing { reason, remedy }) => {
                    self.meta.skipped.push(SkippedCell {
                        cell: name,
                        reason,
                        remedy,
                    });
                }
            }
            self.meta.elapsed_s = self.elapsed_s();
            self.dir.write_meta(self.meta).map_err(Failure::store)?;
        }
        if let Some(Ok(stage)) = stage {
            for note in stage.notes {
                if !self.meta.notes.contains(&note) {
                    self.meta.notes.push(note);
                }
            }
        }
        Ok(ending)
    }

    fn elapsed_s(&self) -> f64 {
        self.elapsed_before + self.started.elapsed().as_secs_f64()
    }

    /// The series of a cell with what earlier sittings measured of it; none when that is all.
    fn steps(&self, cell: &SockCell, name: &str) -> Option<Steps> {
        // The plan has been checked for what a series can be.
        let mut steps = Steps::new(cell.how_often).ok()?;
        let earlier = self.done.iter().filter(|result| result.cell == name);
        earlier.for_each(|result| steps.observe(result.clone()));
        steps.next().map(|_| steps)
    }

    fn cell(&mut self, stage: &Stage, cell: &SockCell, steps: &mut Steps) -> Result<Went, Failure> {
        let name = cell.name();
        while let Some(step) = steps.next() {
            let late = |until: f64| self.elapsed_s() + cell.spec.duration().as_secs_f64() > until;
            if step.repeat > 1 && self.until_s.is_some_and(late) {
                self.meta
                    .left_out
                    .push(format!("{name} repeat {}", step.repeat));
                return Ok(Went::Done);
            }
            let ask = SockSpec {
                parallel: step.parallel.unwrap_or(cell.spec.parallel),
                ..cell.spec.clone()
            };
            let what = match (step.parallel, step.repeat) {
                (Some(pairs), _) => format!("{name}, {pairs} pairs"),
                (None, 1) => name.clone(),
                (None, repeat) => format!("{name}, repeat {repeat}"),
            };
            self.making
                .progress
                .doing(&format!("{what}, {} s", ask.duration().as_secs_f64()));
            let mut went = self.once(stage, cell, &ask);
            if let Ok((ran, _)) = &went
                && ran.ending == TestEnding::PeerLost
            {
                // An overloaded guest may have missed the time for its report.
                went = self.once(stage, cell, &ask);
            }
            let (ran, neighbours) = match went {
                Ok(both) => both,
                Err(missing) => return Ok(Went::Missing(missing)),
            };
            match ran.ending {
                TestEnding::Interrupted => return Ok(Went::Interrupted),
                TestEnding::PeerLost => {
                    return Ok(Went::Missing(stage.lost()));
                }
                TestEnding::Complete | TestEnding::Faulty => {}
            }
            let ends = Ends {
                path: cell.path_name(),
                family: cell.family,
                shared_host: stage.shared_host,
                ending: ran.ending,
                client: ran.client,
                server: ran.server,
            };
            let mut result = result(&ask, step.repeat, ends);
            result.cell.clone_from(&name);
            result.neighbours = neighbours;
            self.dir.append_socket(&result).map_err(Failure::store)?;
            self.making
                .progress
                .line(&format!("{what}: {}", told(&result)));
            self.done.push(result.clone());
            steps.observe(result);
        }
        Ok(Went::Done)
    }

    fn once(
        &self,
        stage: &Stage,
        cell: &SockCell,
        ask: &SockSpec,
    ) -> Result<(Ran, Option<Neighbours>), Missing> {
        let server = stage.server(cell)?;
        let stop = self.making.signals.flag();
        let threads = args::threads_on(None, &cell.pin);
        let test = || -> Result<Ran, SocketError> {
            let mut connection = Connection::open(&server.address, &server.token, None)?;
            connection.pin(&cell.pin)?;
            connection.run(ask, threads, &stop, &mut |_| ())
        };
        let run = || match cell.client {
            SockClient::Guest => stage.run_in_guest(&server, ask, &stop),
            SockClient::Host => {
                let ran = stage.client.ns.run(test);
                let ran = ran.map_err(Missing::of)?;
                ran.map_err(|error| Missing::socket(&error))
            }
        };
        let (ran, neighbours) = match (cell.neighbours, &stage.neighbours) {
            (0, _) => (run(), None),
            (_, Err(missing)) => return Err(missing.clone()),
            (wanted, Ok(pairs)) => {
                let pairs = pairs.get(..wanted as usize).ok_or_else(|| Missing {
                    reason: format!(
                        "{} is the most pairs of neighbours there is room for",
                        pairs.len()
                    ),
                    remedy: format!("write neighbours = {}", pairs.len()),
                })?;
                let (ran, sum) = neighbours::beside(pairs, cell.family, ask, &run)?;
                (ran, Some(sum))
            }
        };
        Ok((ran?, neighbours))
    }
}

/// The figure of one result in words.
fn told(result: &SockResult) -> String {
    let figure = match (result.transactions_per_s, result.goodput_mbps) {
        (Some(rate), _) => format!("{rate:.0} transactions/s"),
        (None, Some(mbps)) => format!("{mbps:.0} Mbit/s"),
        (None, None) => "no result".to_owned(),
    };
    format!("{figure} ({})", result.ending.word())
}
