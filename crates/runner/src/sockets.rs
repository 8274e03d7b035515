//! The plan's socket tests: one path after another in random order, its tests in random order.

pub(crate) mod ends;
mod neighbours;
mod stage;

use nicety_account::workload::{Ends, Steps, result};
use nicety_host::placement::Placement;
use nicety_model::plan::{SockCell, SockClient};
use nicety_model::sock::{Ending as TestEnding, Family, Neighbours, SockSpec};
use nicety_model::{Coded, Plan, Problem, ProblemCode, Remedy};
use nicety_port::Stop;
use nicety_search::order::shuffled;
use nicety_search::time_box::SocketBox;
use nicety_socket::{Connection, Ran, SocketError};

use crate::bench::Bench;
use crate::ending::Ending;
use crate::error::RunError;
use crate::event::{self, Observer};
use crate::guests::Guests;
use crate::record::{Clock, Record};
use crate::setup_error::and_then;
use crate::sock::inside::ServeError;
use crate::sock::{Event, workers};
use stage::Stage;

/// What paths for sockets are made of.
pub(super) struct Making<'a> {
    placement: &'a Placement,
    guests: &'a mut Guests,
    /// Whether any test of the plan is over IPv6.
    ipv6: bool,
    stop: &'a Stop,
    observer: &'a dyn Observer,
}

impl<'a> Making<'a> {
    /// Paths of `plan`, made of what `bench` has.
    pub(super) fn of(plan: &Plan, bench: &'a mut Bench, observer: &'a dyn Observer) -> Self {
        let ipv6 = |cell: SockCell| cell.family == Family::Ipv6;
        Self {
            placement: &bench.machine.placement,
            guests: bench.paths.guests(),
            ipv6: plan.sock_cells().any(ipv6),
            stop: &bench.stop,
            observer,
        }
    }
}

/// What the socket tests of a run need.
pub(super) struct SocketRun<'a> {
    pub(super) making: Making<'a>,
    pub(super) record: &'a mut Record,
    pub(super) clock: Clock,
    /// When they have to be over.
    pub(super) time_box: SocketBox,
}

/// Why a test has no result, for a reason that says by itself what to do.
fn missing(error: impl Coded) -> Problem {
    lacks(error.code(), error.to_string(), &put_right())
}

/// The same of a path that failed.
pub(crate) fn failed(reason: impl std::fmt::Display) -> Problem {
    lacks(ProblemCode::PathFailed, reason.to_string(), &put_right())
}

fn lacks(code: ProblemCode, reason: impl Into<String>, remedy: &Remedy) -> Problem {
    Problem::new(code, reason).with(and_then(remedy))
}

fn put_right() -> Remedy {
    Remedy::here("put it right")
}

fn of_socket(error: SocketError) -> Problem {
    match error.remedy() {
        Some(remedy) => lacks(error.code(), error.what(), &remedy),
        None => missing(error),
    }
}

/// Of a server that could not be started.
fn of_server(error: ServeError) -> Problem {
    match error {
        ServeError::Socket(error) => of_socket(error),
        other => missing(other),
    }
}

/// How one cell went.
enum Went {
    Done,
    Missing(Problem),
    Interrupted,
}

/// Whether both run over the same path as built: a router is made for one IP version.
fn share_a_path(one: &SockCell, other: &SockCell) -> bool {
    one.path == other.path && (!one.path.is_routed() || one.family == other.family)
}

impl SocketRun<'_> {
    /// Runs every test that has no result yet.
    pub(super) fn all(&mut self) -> Result<Ending, RunError> {
        let seed = self.record.meta.seed;
        let mut paths: Vec<Vec<SockCell>> = Vec::new();
        for cell in self.record.plan.sock_cells() {
            match paths
                .iter_mut()
                .find(|cells| share_a_path(&cells[0], &cell))
            {
                Some(cells) => cells.push(cell),
                None => paths.push(vec![cell]),
            }
        }
        let mut ending = Ending::Complete;
        for at in shuffled(paths.len(), seed) {
            ending = ending.max(self.path(&paths[at], seed)?);
        }
        Ok(ending)
    }

    /// Runs the tests over one path.
    fn path(&mut self, cells: &[SockCell], seed: u64) -> Result<Ending, RunError> {
        let mut stage: Option<Result<Stage, Problem>> = None;
        let mut ending = Ending::Complete;
        for at in shuffled(cells.len(), seed) {
            let cell = &cells[at];
            let name = cell.name();
            let Some(mut steps) = self.steps(cell, &name) else {
                continue;
            };
            let not_now = if self.making.stop.is_set() {
                Ending::Interrupted
            } else if self.time_box.fits(cell, self.clock.elapsed_s()) {
                Ending::Complete
            } else {
                Ending::OutOfTime
            };
            let meta = &mut self.record.meta;
            if not_now != Ending::Complete {
                meta.left_out.push(name);
                ending = not_now;
                continue;
            }
            meta.skipped.retain(|skipped| skipped.cell != name);
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
                    self.record.meta.left_out.push(name);
                    ending = Ending::Interrupted;
                }
                Went::Missing(problem) => self.record.skip(name, problem),
            }
            self.record.save(self.clock)?;
        }
        if let Some(Ok(stage)) = stage {
            self.record.note(stage.notes);
        }
        Ok(ending)
    }

    /// The series of a cell with what earlier sessions measured of it; none when that is all.
    fn steps(&self, cell: &SockCell, name: &str) -> Option<Steps> {
        // The plan has been checked for what a series can be.
        let mut steps = Steps::new(cell.how_often).ok()?;
        let earlier = self
            .record
            .sockets
            .iter()
            .filter(|result| result.cell == name);
        earlier.for_each(|result| steps.observe(result.clone()));
        steps.next().map(|_| steps)
    }

    fn cell(
        &mut self,
        stage: &Stage,
        cell: &SockCell,
        steps: &mut Steps,
    ) -> Result<Went, RunError> {
        let name = cell.name();
        while let Some(step) = steps.next() {
            let fits = self.time_box.fits_again(cell, self.clock.elapsed_s());
            if step.repeat > 1 && !fits {
                let left_out = &mut self.record.meta.left_out;
                left_out.push(format!("{name} repeat {}", step.repeat));
                return Ok(Went::Done);
            }
            let ask = SockSpec {
                parallel: step.parallel.unwrap_or(cell.spec.parallel),
                ..cell.spec.clone()
            };
            self.show(Event::Begins {
                name: &name,
                step,
                duration: ask.duration(),
            });
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
            self.record.dir.append_socket(&result)?;
            self.show(Event::Ended {
                name: &name,
                step,
                result: &result,
            });
            self.record.sockets.push(result.clone());
            steps.observe(result);
        }
        Ok(Went::Done)
    }

    fn show(&self, event: Event<'_>) {
        self.making.observer.on(event::Event::Socket(event));
    }

    fn once(
        &self,
        stage: &Stage,
        cell: &SockCell,
        ask: &SockSpec,
    ) -> Result<(Ran, Option<Neighbours>), Problem> {
        let server = stage.server(cell)?;
        let stop = self.making.stop.flag();
        let threads = workers::threads_on(None, &cell.pin);
        let test = || -> Result<Ran, SocketError> {
            let mut connection = Connection::open(&server.address, &server.token, None)?;
            connection.pin(&cell.pin)?;
            connection.run(ask, threads, stop, &mut |_| ())
        };
        let run = || match cell.client {
            SockClient::Guest => stage.run_in_guest(&server, ask, stop),
            SockClient::Host => {
                let ran = stage.client.ns.run(test);
                let ran = ran.map_err(missing)?;
                ran.map_err(of_socket)
            }
        };
        let (ran, neighbours) = match (cell.neighbours, &stage.neighbours) {
            (0, _) => (run(), None),
            (_, Err(missing)) => return Err(missing.clone()),
            (wanted, Ok(pairs)) => {
                let pairs = pairs.get(..wanted as usize).ok_or_else(|| {
                    let most = pairs.len();
                    let what = format!("{most} is the most pairs of neighbours there is room for");
                    let problem = Problem::new(ProblemCode::NoNeighbours, what);
                    problem.with(format!("write neighbours = {most}"))
                })?;
                let (ran, sum) = neighbours::beside(pairs, cell.family, ask, &run)?;
                (ran, Some(sum))
            }
        };
        Ok((ran?, neighbours))
    }
}
