//! What happens in a run, for whoever shows it.

use std::time::Duration;

use nicety_guests::{ProofWait, bundle};
use nicety_model::goal::GoalBounds;
use nicety_model::path::VmNic;
use nicety_model::probe::Area;
use nicety_model::run::CellSummary;
use nicety_model::{CellResult, Direction, Fps, Purpose, SearchBounds, TrialRecord};

use crate::sock;

/// Something that happened.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// QEMU and a kernel are being fetched.
    Fetching(bundle::Progress<'a>),
    /// That is over.
    Fetched,
    /// A NIC was set back to what it was before a run that was killed, or could not be.
    Restored(&'a str),
    /// Something that takes time begins between cells.
    Stage(Stage<'a>),
    /// The whole run is expected to take so much longer.
    Left(Duration),
    /// A visit of a cell begins.
    Cell {
        /// Its name.
        name: &'a str,
        /// Whether it is a visit of the control cell.
        control: bool,
    },
    /// A trial of the visit begins.
    Trial {
        /// The cell's name.
        cell: &'a str,
        /// Whether it is a visit of the control cell.
        control: bool,
        /// Number in the visit, from 1.
        index: u32,
        /// Why.
        purpose: Purpose,
        /// Load per direction.
        load: Fps,
        /// What the search knows.
        bounds: SearchBounds,
        /// The same for each of several loss goals, strictest first.
        goals: &'a [GoalBounds],
    },
    /// That trial ended.
    Tried {
        /// What became of its frames.
        trial: &'a TrialRecord,
        /// Whether its loss is within the goal, as the search judges it; `None` where it does not count.
        within: Option<bool>,
        /// What the search knows now.
        bounds: SearchBounds,
        /// The same for each of several loss goals.
        goals: &'a [GoalBounds],
    },
    /// A visit of a cell ended.
    Visited {
        /// Its result.
        result: &'a CellResult,
        /// What all visits of the cell come to, where they make one result, and how many are planned.
        so_far: Option<(&'a CellSummary, u32)>,
    },
    /// Cells cannot be measured here, all for one reason.
    Skipped {
        /// Their names.
        cells: &'a [String],
        /// What is wrong.
        reason: &'a str,
    },
    /// A socket test.
    Socket(sock::Event<'a>),
}

/// What is done between cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stage<'a> {
    /// The tester is measured without a path.
    Tester {
        /// Frame size, or the mix: `64 bytes`, `imix:simple`.
        size: &'a str,
        /// Direction.
        direction: Direction,
    },
    /// The link of a port is waited for.
    Link {
        /// The port.
        port: &'a str,
        /// Longest wait.
        at_most: Duration,
    },
    /// A frame is waited for that comes through an existing path.
    Through {
        /// Its ports.
        ports: [&'a str; 2],
        /// Longest wait.
        at_most: Duration,
    },
    /// Something is tried to see whether it works here.
    Trying(Area, &'a str),
    /// A kernel is booted to see whether KVM works. A run is told once, `probe` every 20 ms.
    Accelerator(ProofWait),
    /// Guests boot.
    Boot {
        /// How many.
        guests: u32,
        /// Their network interface.
        nic: VmNic,
        /// Virtual CPUs of each.
        vcpus: u32,
        /// How their instructions run: `KVM` or `TCG`.
        accelerator: &'static str,
    },
}

/// Sees what happens. Called from the thread that runs.
pub trait Observer {
    /// Something happened.
    fn on(&self, event: Event<'_>);
}

impl<F: Fn(Event<'_>)> Observer for F {
    fn on(&self, event: Event<'_>) {
        self(event);
    }
}
