//! The paths under measurement: made when a cell asks for one, and kept where making them takes
//! seconds. Guests that are not being measured stand still meanwhile.

use nicety_guests::devices::MEMORY_MIB;
use nicety_host::placement::Placement;
use nicety_model::path::VmParams;
use nicety_model::{CellKey, FrameSize, PathSpec};
use nicety_paths::{Path, Pausable, memory};
use nicety_port::Stop;
use nicety_search::keep::{Keep, is_short};

use crate::builder;
use crate::event::Observer;
use crate::guests::Guests;
use crate::links;
use crate::setup_error::SetupError;

/// Paths of one run, of which one works at a time.
pub struct Paths {
    guests: Guests,
    /// Largest frame of the plan: guests carry them all.
    largest: Option<FrameSize>,
    now: Option<Built>,
    /// Guests that stand still, the one that was measured last at the end.
    aside: Vec<Built>,
    /// Name of the last path that could not be had, until its cell has come.
    failed: Option<(String, SetupError)>,
}

struct Built {
    name: String,
    keep: Keep,
    /// The host's port whose virtual functions it has.
    pf: Option<String>,
    path: Box<dyn Path>,
}

/// Lets a path stand still, where that can be.
fn pauses(built: &Built) -> bool {
    built.path.pausable().is_some_and(Pausable::pause)
}

/// Lets it go on.
fn resumes(built: &Built) -> bool {
    built.path.pausable().is_some_and(Pausable::resume)
}

impl Paths {
    /// None yet.
    pub fn new(guests: Guests, largest: Option<FrameSize>) -> Self {
        Self {
            guests,
            largest,
            now: None,
            aside: Vec::new(),
            failed: None,
        }
    }

    /// The path of a cell. `observer` is told what takes time.
    ///
    /// # Errors
    /// When it cannot be had.
    pub fn get(
        &mut self,
        key: &CellKey,
        placement: &Placement,
        stop: &Stop,
        observer: &dyn Observer,
    ) -> Result<&dyn Path, SetupError> {
        let name = key.path_name();
        if let Some((failed, error)) = self.failed.take()
            && failed == name
        {
            return Err(error);
        }
        let keep = Keep::of(key);
        // A guest or switch that has died since says so when its counters are read.
        let same = |built: &Built| {
            keep != Keep::Never
                && (&built.name, built.keep) == (&name, keep)
                && built.path.counters().is_ok()
        };
        if !self.now.as_ref().is_some_and(same) {
            self.put_aside();
            let found = self.aside.iter().position(|built| built.name == name);
            let found = found.map(|at| self.aside.remove(at));
            let found = found.filter(|built| resumes(built) && same(built));
            self.now = Some(match found {
                Some(built) => built,
                None => {
                    self.make_room(key.path.vm());
                    let pf = key.path.vm().and_then(|vm| vm.pf.clone());
                    let path = self.build(key, placement, stop, observer)?;
                    Built {
                        name,
                        keep,
                        pf,
                        path,
                    }
                }
            });
        }
        match &self.now {
            Some(now) => Ok(now.path.as_ref()),
            None => Err(nicety_paths::PathError::Stopped.into()),
        }
    }

    /// The path that works now.
    pub fn now(&self) -> Option<&dyn Path> {
        self.now.as_ref().map(|now| now.path.as_ref())
    }

    /// Refuses what a look at this machine rules out, in no time: nothing is started.
    ///
    /// # Errors
    /// As those of [`Paths::get`], as far as they can be known beforehand.
    pub fn check(&self, key: &CellKey, placement: &Placement) -> Result<(), SetupError> {
        let largest = self.largest.unwrap_or(key.frame_size_bytes);
        match &key.path {
            PathSpec::Vm(vm) => self.guests.check(vm, largest, placement)?,
            _ => builder::check(key, placement)?,
        }
        Ok(())
    }

    fn build(
        &mut self,
        key: &CellKey,
        placement: &Placement,
        stop: &Stop,
        observer: &dyn Observer,
    ) -> Result<Box<dyn Path>, SetupError> {
        if let PathSpec::Vm(vm) = &key.path {
            let largest = self.largest.unwrap_or(key.frame_size_bytes);
            let built = self.guests.path(vm, largest, placement, stop, observer);
            return Ok(built?);
        }
        if let PathSpec::Ports { a, b } = &key.path {
            links::wait_here(a, b, stop, observer)?;
        }
        builder::path(key, placement)
    }

    /// Lets the path of the last cell stand still, or removes it where that cannot be.
    fn put_aside(&mut self) {
        let stands = |built: &Built| built.keep == Keep::Run && pauses(built);
        self.aside.extend(self.now.take().filter(stands));
    }

    /// Removes what is in the way of a new path: guests on virtual functions of the same port, and
    /// those not measured for longest when memory is short.
    fn make_room(&mut self, vm: Option<&VmParams>) {
        let pf = vm.and_then(|vm| vm.pf.as_deref());
        self.aside
            .retain(|built| pf.is_none() || built.pf.as_deref() != pf);
        let wanted = u64::from(vm.map_or(1, |vm| vm.config().vms)) * u64::from(MEMORY_MIB);
        while !self.aside.is_empty() && is_short(memory::available_mib(), wanted) {
            self.aside.remove(0);
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

    /// Does not keep the path of the last cell: it was reset, and is made anew for whoever wants it.
    pub fn forget(&mut self) {
        if let Some(now) = &mut self.now {
            now.keep = Keep::Never;
        }
    }

    /// Gives up what is not worth keeping, or is not quiet, before something else is measured.
    pub fn rest(&mut self) {
        self.now = self.now.take().filter(|now| now.keep.is_quiet());
    }
}
