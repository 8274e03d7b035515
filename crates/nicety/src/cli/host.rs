//! The command line of `nicety probe` and `nicety inspect`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::output::FormatArgs;
use super::{NamingArgs, heading, window};

/// Below the help of `nicety inspect`.
pub const INSPECT_EXAMPLES: &str = "Examples:
  nicety inspect                       CPUs, nodes, interfaces, interrupts, VMs, settings
  nicety inspect -j | jq '.interfaces[] | {name, numa_node, irqs}'
  nicety inspect -o host1.json         record the host in one file
  nicety inspect -o host1              record it as a tree of files
  nicety inspect --sysroot host1.json  read a recorded host, on any machine and without root
  nicety inspect --html host.html      draw the host; misplaced interrupts stand out";

/// Below the help of `nicety probe`.
pub const PROBE_EXAMPLES: &str = "Examples:
  nicety probe                         on a new machine, before anything else
  nicety probe --quick                 in two seconds, without booting a kernel on KVM
  nicety probe -j | jq -r '.abilities[] | select(.answer == \"no\").remedy'

The tests of engines and paths run in network namespaces of their own. They fetch, install and
change nothing; the kernel may load modules.";

/// `nicety inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// Read a recorded host: a captured file, or the directory of a record.
    #[arg(long, value_name = "PATH", help_heading = heading::WHAT)]
    pub sysroot: Option<PathBuf>,
    /// Watch the counters for this time first, 100ms to 1h, and show what they counted.
    #[arg(long, value_name = "TIME", value_parser = window, conflicts_with = "sysroot", help_heading = heading::HOW)]
    pub window: Option<Duration>,
    /// Record what is read: in one file where the name ends in .json, else as a tree of files.
    #[arg(short, long, value_name = "PATH", conflicts_with = "sysroot", help_heading = heading::OUTPUT)]
    pub out: Option<PathBuf>,
    /// Draw the host on a page: what runs on which CPU, and what is misplaced.
    #[arg(long, value_name = "FILE", conflicts_with = "json", help_heading = heading::OUTPUT)]
    pub html: Option<PathBuf>,
    /// The format on standard output.
    #[command(flatten)]
    pub format: FormatArgs,
    /// What the host is called.
    #[command(flatten)]
    pub naming: NamingArgs,
}

/// `nicety probe`.
#[derive(Debug, Args)]
pub struct ProbeArgs {
    /// Skip the test of KVM, which boots a kernel. All other tests take two seconds, this one up to 90.
    #[arg(long, help_heading = heading::HOW)]
    pub quick: bool,
    /// The format on standard output.
    #[command(flatten)]
    pub format: FormatArgs,
}
