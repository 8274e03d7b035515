//! The command line of `nicety lab`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use nicety_guests::bundle::KernelWish;
use nicety_lab::setup::LabRequest;
use nicety_lab::spec::memory_mib;
use nicety_model::path::VmAccel;

use crate::cli::{heading, words};

/// The jobs.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Run a command in the lab, and end with its exit code.
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Open a terminal in the lab.
    #[command(after_help = SHELL_EXAMPLES)]
    Shell(ShellArgs),
    /// End the lab that was kept.
    #[command(after_help = DOWN_EXAMPLES)]
    Down,
    /// Fetch QEMU and the kernel, for a machine that will be offline.
    #[command(hide = true)]
    Fetch(MachineArgs),
}

/// What the lab is.
pub const ABOUT: &str = "The lab is a virtual machine that looks like a KVM host with an Intel 82576. It has \
/dev/kvm, vhost-net, Open vSwitch, macvtap, VLANs and an IOMMU. A cable joins its two ports, eth0 and \
eth1, which have 7 virtual functions each. The lab sees the host's files. It forgets what it writes, \
except in ./runs or the directory of --out. The emulated chip limits no rates, so the lab does it on the \
interfaces, and not inside guests. QEMU and a kernel are fetched from Debian packages once (150 MB). \
The lab needs no root.

Examples:
  nicety lab run -- ip -br link
  nicety lab run --keep -- nicety port list    leave it running for the next command
  nicety lab down
  nicety lab shell";

const RUN_EXAMPLES: &str = "Examples:
  nicety lab run -- ip -br link
  nicety lab run --keep --memory 8G -- uname -r
  nicety lab run --cpus 4 --memory 8G -- sh -c 'echo 7 > /sys/class/net/eth0/device/sriov_numvfs'
  nicety lab run -- nicety bench plan.toml
  nicety lab run --kernel build/out -- nicety bench plan.toml --json
  nicety lab run --kernel 6.12 -- uname -r
  nicety lab run -o vf -- nicety bench plan.toml -o vf";

const SHELL_EXAMPLES: &str = "Examples:
  nicety lab shell
  nicety lab shell --fresh --cpus 4";

const DOWN_EXAMPLES: &str = "Examples:
  nicety lab down";

/// The machine.
#[derive(Debug, Args)]
#[command(next_help_heading = heading::GUESTS)]
pub struct MachineArgs {
    /// Give the lab this many virtual CPUs. Default: as many as the host has, 2 to 8.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub cpus: Option<u16>,
    /// Give the lab this much memory, as 4G or 2048M. Default: 4G.
    #[arg(long, value_name = "SIZE", value_parser = memory_mib)]
    pub memory: Option<u32>,
    /// Run the lab's instructions this way. Default: auto.
    #[arg(long, value_name = "NAME", value_parser = words::ACCEL)]
    pub accel: Option<VmAccel>,
    /// Boot an installed kernel, as 6.12, or the one in a directory: boot/vmlinuz-RELEASE and
    /// lib/modules/RELEASE. Default: Debian's.
    #[arg(long, value_name = "VERSION|DIR", value_parser = kernel)]
    pub kernel: Option<KernelWish>,
}

/// `--kernel`: whether a kernel is there is seen later.
fn kernel(text: &str) -> Result<KernelWish, String> {
    Ok(KernelWish::read(text))
}

impl MachineArgs {
    /// Whether a machine of a certain kind was asked for.
    pub fn given(&self) -> bool {
        self.cpus.is_some()
            || self.memory.is_some()
            || self.accel.is_some()
            || self.kernel.is_some()
    }
}

impl From<&MachineArgs> for LabRequest {
    fn from(args: &MachineArgs) -> Self {
        Self {
            cpus: args.cpus,
            memory_mib: args.memory,
            accel: args.accel.unwrap_or(VmAccel::Auto),
            kernel: args.kernel.clone(),
        }
    }
}

/// `nicety lab run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The machine.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Let the command write to this directory of the host, made when missing. Default: ./runs.
    #[arg(short, long, value_name = "DIR", help_heading = heading::OUTPUT)]
    pub out: Option<PathBuf>,
    /// Boot a new lab even when one was kept.
    #[arg(long, help_heading = heading::GUESTS)]
    pub fresh: bool,
    /// Leave the lab running for the next lab run or lab shell, until lab down.
    #[arg(long, conflicts_with_all = ["fresh", "out", "channel"], help_heading = heading::GUESTS)]
    pub keep: bool,
    /// Make the lab a guest of nicety police: give it this socket of a guest, see nicety guest.
    #[arg(long, value_name = "SOCKET", help_heading = heading::GUESTS)]
    pub channel: Option<PathBuf>,
    /// The command and its arguments.
    #[arg(required = true, last = true, value_name = "COMMAND", help_heading = heading::WHAT)]
    pub command: Vec<OsString>,
}

/// `nicety lab shell`.
#[derive(Debug, Args)]
pub struct ShellArgs {
    /// The machine.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Boot a new lab even when one was kept.
    #[arg(long, help_heading = heading::GUESTS)]
    pub fresh: bool,
}
