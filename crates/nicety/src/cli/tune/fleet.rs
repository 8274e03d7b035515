//! `nicety tune fleet` on the command line.

use std::path::PathBuf;

use clap::Args;
use nicety_model::fleet::GroupBy;

use super::AskRecorded;
use crate::cli::output::FormatArgs;
use crate::cli::{heading, words};

/// Below the help of `nicety tune fleet`.
pub const EXAMPLES: &str = "Siblings are hosts that should be the same. A host that would be alone joins those \
that differ from it in their ports or in their role alone. Of two captures of one host the newer counts.

Exit codes: 0 all captures were read; 1 some could not be read; 2 none could be read, or wrong usage; 3 the output \
cannot be written.

Examples:
  nicety inspect --capture kvm01.json        on each host, as root
  nicety tune fleet captures/                the whole folder
  nicety tune fleet captures/ --html fleet.html
  nicety tune fleet kvm*.json --group-by name
  nicety tune fleet captures/ -j | jq -r '.hosts[] | select(.differs > 0).name'";

/// `nicety tune fleet`.
#[derive(Debug, Args)]
pub struct FleetArgs {
    /// Recorded hosts: files of nicety inspect --capture, directories of --record, or folders with these.
    #[arg(value_name = "CAPTURE", required = true, help_heading = heading::WHAT)]
    pub captures: Vec<PathBuf>,
    /// What the rules are asked.
    #[command(flatten)]
    pub ask: AskRecorded,
    /// Compare hosts that share these traits; several with commas.
    #[arg(long, value_name = "TRAITS", value_delimiter = ',', value_parser = words::GROUP_BY, default_value = "cpu,nic,role", help_heading = heading::HOW)]
    pub group_by: Vec<Option<GroupBy>>,
    /// The format on standard output.
    #[command(flatten)]
    pub format: FormatArgs,
    /// Write a page with filters to this file; `-` is standard output.
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub html: Option<PathBuf>,
}
