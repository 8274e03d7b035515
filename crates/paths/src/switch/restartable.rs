//! A program of a switch that is killed and started again where its path is reset.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nicety_model::ResetKind;
use nicety_netdev::netns::NetNs;

use super::program::{Program, READY, Start};
use crate::error::PathError;
use crate::resettable::Resettable;
use crate::run_dir::RunDir;

/// The program, and what it was started with; killed when dropped.
#[derive(Debug)]
pub(super) struct Restartable {
    // Dropped in this order: the program before its directory.
    program: Mutex<Program>,
    name: &'static str,
    path: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
    ns: NetNs,
    cpus: Vec<u32>,
    dir: Arc<RunDir>,
}

impl Restartable {
    /// Starts it. The kernel kills it when this process ends.
    pub(super) fn start(start: &Start<'_>, dir: &Arc<RunDir>) -> Result<Self, PathError> {
        Ok(Self {
            program: Mutex::new(Program::start(start, dir)?),
            name: start.name,
            path: start.program.to_owned(),
            arguments: start.arguments.clone(),
            environment: start.environment.clone(),
            ns: start.ns.clone(),
            cpus: start.cpus.to_vec(),
            dir: Arc::clone(dir),
        })
    }

    /// The program that runs now.
    pub(super) fn program(&mut self) -> &mut Program {
        let program = self.program.get_mut();
        program.unwrap_or_else(PoisonError::into_inner)
    }

    /// Its process id.
    pub(super) fn id(&self) -> u32 {
        let program = self.program.lock();
        program.unwrap_or_else(PoisonError::into_inner).id()
    }
}

/// What it counted is gone then, and nobody waits for its sockets.
impl Resettable for Restartable {
    fn by(&self) -> ResetKind {
        ResetKind::ProgramRestart
    }

    fn limit(&self) -> Duration {
        READY
    }

    fn reset(&self) -> Result<(), PathError> {
        let start = Start {
            name: self.name,
            program: &self.path,
            arguments: self.arguments.clone(),
            environment: self.environment.clone(),
            ns: &self.ns,
            cpus: &self.cpus,
        };
        let program = self.program.lock();
        let mut program = program.unwrap_or_else(PoisonError::into_inner);
        program.kill();
        *program = Program::start(&start, &self.dir)?;
        Ok(())
    }
}
