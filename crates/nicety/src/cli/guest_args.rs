//! Where the parts of guests come from, for commands that boot some.

use std::path::PathBuf;

use clap::Args;
use nicety_guests::bundle::{MIRROR, check_mirror};
use nicety_runner::GuestSource;

use super::heading;

/// Flags for guests (kind = "vm").
#[derive(Debug, Args)]
#[command(next_help_heading = heading::GUESTS)]
pub struct GuestArgs {
    /// Keep QEMU and the kernel of guests (kind = "vm") here. They are fetched once (150 MB).
    /// Default: $XDG_CACHE_HOME/nicety, else ~/.cache/nicety.
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Fetch them from this Debian mirror.
    #[arg(long, value_name = "URL", default_value = MIRROR, value_parser = check_mirror)]
    pub mirror: String,
    /// Run guests that ask for it (vmm = "cloud-hypervisor") on this program. Default: the one in PATH.
    #[arg(long, value_name = "FILE")]
    pub vmm_path: Option<PathBuf>,
}

impl GuestArgs {
    /// For a run.
    pub fn source(&self) -> GuestSource {
        GuestSource {
            cache: self.cache.clone(),
            mirror: self.mirror.clone(),
            vmm: self.vmm_path.clone(),
        }
    }
}
