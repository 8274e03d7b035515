//! The path under measurement: made when a cell asks for it. A guest, which takes seconds to
//! boot, is kept until another path is asked for.

use nicety_host::placement::Placement;
use nicety_model::plan::PathPlan;
use nicety_model::{CellKey, FrameSize};
use nicety_port::Stop;
use nicety_testbed::Path;

use super::guests::{self, Guests};
use super::setup::{self, SetupError};

/// Paths of one run, one at a time.
pub struct Paths {
    guests: Guests,
    /// Largest frame of the plan: kept paths carry them all.
    largest: Option<FrameSize>,
    now: Option<Now>,
    /// Name of the last path that could not be had, until its cell has come.
    failed: Option<(String, SetupError)>,
}

struct Now {
    /// Of a path that is kept.
    name: Option<String>,
    path: Box<dyn Path>,
}

impl Paths {
    /// None yet.
    pub fn new(guests: Guests, largest: Option<FrameSize>) -> Self {
        Self {
            guests,
            largest,
            now: None,
            failed: None,
        }
    }

    /// The path of a cell. `say` is told what takes time.
    ///
    /// # Errors
    /// When it cannot be had.
    pub fn get(
        &mut self,
        plan: &PathPlan,
        key: &CellKey,
        placement: &Placement,
        stop: &Stop,
        say: &dyn Fn(&str),
    ) -> Result<&dyn Path, SetupError> {
        let name = key.path_name();
        if let Some((failed, error)) = self.failed.take()
            && failed == name
        {
            return Err(error);
        }
        let keeps = guests::is_guest(plan);
        // A guest that has died since says so when its counters are read.
        let same = keeps
            && self
                .now
                .as_ref()
                .is_some_and(|now| now.name.as_ref() == Some(&name) && now.path.counters().is_ok());
        if !same {
            self.now = None;
            let path: Box<dyn Path> = match keeps {
                true => {
                    let largest = self.largest.unwrap_or(key.frame_size_bytes);
                    let built = self.guests.path(key, largest, placement, stop, say);
                    built?
                }
                false => setup::path(plan, key, placement)?,
            };
            self.now = Some(Now {
                name: keeps.then_some(name),
                path,
            });
        }
        match &self.now {
            Some(now) => Ok(now.path.as_ref()),
            None => Err(nicety_testbed::PathError::Stopped.into()),
        }
    }

    /// What guests are made of.
    pub fn guests(&mut self) -> &mut Guests {
        &mut self.guests
    }

    /// The path of `key` could not be had: its cell need not find out again.
    pub fn failed(&mut self, key: &CellKey, error: SetupError) {
        self.failed = Some((key.path_name(), error));
    }

    /// Gives up what is not worth keeping.
    pub fn rest(&mut self) {
        if self.now.as_ref().is_some_and(|now| now.name.is_none()) {
            self.now = None;
        }
    }
}
