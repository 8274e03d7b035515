//! The path under measurement: made when a cell asks for it. What takes seconds to start, a guest or
//! a switch that is a program, is kept until another path is asked for.

use nicety_host::placement::Placement;
use nicety_model::plan::{PathPlan, SwitchKind};
use nicety_model::{CellKey, FrameSize};
use nicety_port::Stop;
use nicety_testbed::Path;

use super::guests::Guests;
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
    name: String,
    keep: Keep,
    /// Largest payload it carries.
    mtu: u32,
    path: Box<dyn Path>,
}

/// How long a path is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// It is made in no time: every cell has its own.
    Cell,
    /// From cell to cell, but not beside a tester that is measured alone: its threads may poll.
    Cells,
    /// All the time.
    Always,
}

fn keep(plan: &PathPlan) -> Keep {
    match plan {
        PathPlan::Vm { .. } => Keep::Always,
        PathPlan::Switch {
            kind: SwitchKind::Ovs | SwitchKind::OvsDpdk | SwitchKind::Testpmd,
            ..
        } => Keep::Cells,
        _ => Keep::Cell,
    }
}

/// Smallest MTU of paths that are made here: frames up to 1518 bytes share one.
const MTU: u32 = 1500;

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
        let keep = keep(plan);
        let largest = match keep {
            Keep::Always => self.largest.unwrap_or(key.frame_size_bytes),
            Keep::Cell | Keep::Cells => key.frame_size_bytes,
        };
        let mtu = largest.mtu_needed().max(MTU);
        // A guest or program that has died since says so when its counters are read.
        let same = keep != Keep::Cell
            && self.now.as_ref().is_some_and(|now| {
                now.name == name && now.mtu == mtu && now.path.counters().is_ok()
            });
        if !same {
            self.now = None;
            let path = match keep {
                Keep::Always => self.guests.path(key, largest, placement, stop, say)?,
                Keep::Cell | Keep::Cells => setup::path(plan, key, placement)?,
            };
            self.now = Some(Now {
                name,
                keep,
                mtu,
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
        if self
            .now
            .as_ref()
            .is_some_and(|now| now.keep != Keep::Always)
        {
            self.now = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::Plan;

    use super::{Keep, keep};

    #[test]
    fn what_takes_seconds_to_start_is_kept() {
        for (kind, expected) in [
            ("bridge", Keep::Cell),
            ("vlan-bridge", Keep::Cell),
            ("ovs", Keep::Cells),
            ("ovs-dpdk", Keep::Cells),
            ("testpmd", Keep::Cells),
            ("vm", Keep::Always),
        ] {
            let plan = Plan::parse("plan.toml", &format!("[[path]]\nkind = \"{kind}\"\n"));
            assert_eq!(keep(&plan.unwrap().paths[0]), expected, "{kind}");
        }
    }
}
