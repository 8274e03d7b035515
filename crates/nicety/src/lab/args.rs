//! The command line of `nicety lab`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use nicety_guests::bundle::{MIRROR, check_mirror};
use nicety_lab::setup::LabRequest;
use nicety_lab::spec::memory_mib;
use nicety_model::path::VmAccel;

use crate::cli::parsed;

/// The jobs.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Boots the lab, runs a command in it, and ends with the command's exit code.
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Gives a terminal in the lab.
    Shell(ShellArgs),
    /// Boots the lab and leaves it running.
    Up(UpArgs),
    /// Ends the lab that was left running.
    Down,
    /// Fetches QEMU and the kernel, and says what there is.
    Fetch(MachineArgs),
}

/// What the lab is.
pub const ABOUT: &str = "The lab is a virtual machine that looks like a KVM host with an Intel 82576: \
/dev/kvm, vhost-net, Open vSwitch, macvtap, VLANs, an IOMMU, and two ports (eth0, eth1) joined by \
a cable, with 7 virtual functions each. It sees the host's files. What it writes is forgotten, but \
for what goes to ./runs, or to the directory named with --out. \
Rates of functions are kept by the lab, on interfaces, in place of the emulated chip; not in guests. \
QEMU and a kernel are fetched from Debian packages once (150 MB). Needs no root.";

const RUN_EXAMPLES: &str = "Examples:
  nicety lab run -- ip -br link
  nicety lab run --cpus 4 --memory 8G -- sh -c 'echo 7 > /sys/class/net/eth0/device/sriov_numvfs'
  nicety lab run -- nicety bench plan.toml
  nicety lab run --out vf -- nicety bench --out vf plan.toml";

/// The machine.
#[derive(Debug, Args)]
pub struct MachineArgs {
    /// Virtual CPUs; without it as many as the host has, 2 to 8.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub cpus: Option<u16>,
    /// Memory, as 4G or 2048M; without it 4G.
    #[arg(long, value_name = "SIZE", value_parser = memory_mib)]
    pub memory: Option<u32>,
    /// How its instructions run: kvm, tcg, or auto: kvm where a kernel boots on it, else tcg.
    #[arg(long, value_name = "HOW", value_parser = accel)]
    pub accel: Option<VmAccel>,
    /// Where QEMU and the kernel are kept; without it $XDG_CACHE_HOME/nicety or ~/.cache/nicety.
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// The Debian mirror they are fetched from.
    #[arg(long, value_name = "URL", default_value = MIRROR, value_parser = check_mirror)]
    pub mirror: String,
}

impl MachineArgs {
    /// Whether a machine of a certain kind was asked for.
    pub fn given(&self) -> bool {
        self.cpus.is_some() || self.memory.is_some() || self.accel.is_some()
    }
}

impl From<&MachineArgs> for LabRequest {
    fn from(args: &MachineArgs) -> Self {
        Self {
            cpus: args.cpus,
            memory_mib: args.memory,
            accel: args.accel.unwrap_or(VmAccel::Auto),
            cache: args.cache.clone(),
            mirror: args.mirror.clone(),
        }
    }
}

fn accel(text: &str) -> Result<VmAccel, String> {
    parsed(text, "is no accelerator; write auto, kvm or tcg")
}

/// `nicety lab run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The machine.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Directory of the host in which the command may write, made when missing; without it ./runs.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Boot a new lab even when one was left running.
    #[arg(long)]
    pub fresh: bool,
    /// Pass this variable of the environment too; a list, or once for each. Without it the command gets
    /// those for languages, terminals and nicety, and no others.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub env: Vec<OsString>,
    /// Socket that nicety police has made for a guest: the lab is that guest, see nicety guest.
    #[arg(long, value_name = "SOCKET")]
    pub guest_channel: Option<PathBuf>,
    /// The command and its arguments.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `nicety lab shell`.
#[derive(Debug, Args)]
pub struct ShellArgs {
    /// The machine.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Boot a new lab even when one was left running.
    #[arg(long)]
    pub fresh: bool,
    /// Pass this variable of the environment too; a list, or once for each. Without it the command gets
    /// those for languages, terminals and nicety, and no others.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub env: Vec<OsString>,
}

/// `nicety lab up`.
#[derive(Debug, Args)]
pub struct UpArgs {
    /// The machine.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Print what runs as one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}
