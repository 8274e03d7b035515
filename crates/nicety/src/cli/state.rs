//! Where journals and the daemon's state are, for every command that uses them.

use std::path::{Path, PathBuf};

use clap::Args;
use nicety_host::variable;
use nicety_tuner::{TuneError, Work, work};

use super::heading;
use crate::tune::events;

/// Stands for the usual directory where `--state` does not name one.
pub const VARIABLE: &str = "NICETY_STATE";

/// The police daemon's part of the usual directory.
const POLICE: &str = "police";

/// Where journals and state are.
#[derive(Debug, Clone, Args)]
pub struct StateArgs {
    /// Keep journals and state in this directory. Default: $NICETY_STATE, else /var/lib/nicety, for
    /// users $XDG_STATE_HOME/nicety; police uses its subdirectory police.
    #[arg(long, value_name = "DIR", help_heading = heading::HOW)]
    state: Option<PathBuf>,
}

impl StateArgs {
    /// The directory that `--state` names.
    pub fn given(&self) -> Option<&Path> {
        self.state.as_deref()
    }

    /// The directory of the journals, where one was asked for by option or variable.
    pub fn asked(&self) -> Option<PathBuf> {
        self.state.clone().or_else(named)
    }

    /// The police daemon's directory, whether it is there or not.
    pub fn police(&self) -> Result<PathBuf, TuneError> {
        self.state.clone().map_or_else(usual_police, Ok)
    }

    /// The state, locked, with every transaction that was left behind undone.
    pub fn begin(&self) -> Result<Work, TuneError> {
        Work::begin(self.asked().as_deref(), &mut events::say)
    }
}

/// The police daemon's directory where no option names one.
pub fn usual_police() -> Result<PathBuf, TuneError> {
    let usual = named().map_or_else(work::usual, Ok)?;
    Ok(usual.join(POLICE))
}

fn named() -> Option<PathBuf> {
    variable::named(VARIABLE).map(PathBuf::from)
}
