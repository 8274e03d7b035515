//! `nicety police` on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::NamingArgs;
use crate::web::ListenAt;

pub const EXAMPLES: &str = "Examples:
  nicety police run policy.toml --dry-run    what it would do; changes nothing
  nicety police run policy.toml              share the link until Ctrl-C, then put everything back
  nicety police run policy.toml --listen 127.0.0.1:9471   with a live page and metrics
  nicety police run policy.toml --out friday  record it; nicety report friday --html friday.html
  nicety police status                       what everybody sends, wants and may send
  nicety police explain blue                 what keeps blue from more
  nicety police reload                       take the policy as its file is now
  nicety police restore                      put back what a killed daemon has left

A policy:
  [link]
  capacity = \"1gbit\"          # of the shared link
  headroom = 0.03             # share of it left free; optional
  period = \"1s\"               # optional
  [[tenant]]
  name = \"blue\"
  ports = [\"tap0\", \"veth3\"]   # where blue sends
  weight = 2                  # optional, as are:
  guarantee = \"200mbit\"
  cap = \"800mbit\"
  burst = \"4ms\"";

/// The parts.
#[derive(Debug, Subcommand)]
pub enum PoliceCommand {
    /// Shares a link as a policy says, until it is stopped.
    Run(RunArgs),
    /// Tells what the running daemon sees and does; exit code 3 when none runs.
    Status(AskArgs),
    /// Tells in one line what keeps a tenant, or the tenant of a port, from more.
    Explain(ExplainArgs),
    /// Has the running daemon take its policy as the file is now; exit code 1 when it refuses it and
    /// goes on as before.
    Reload(AskArgs),
    /// Puts back the limits that a killed daemon found and left changed.
    Restore(AskArgs),
}

/// `nicety police run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The policy.
    pub policy: PathBuf,
    /// Tell every period what would be done; change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Leave the last limits when stopped.
    #[arg(long, conflicts_with = "dry_run")]
    pub keep: bool,
    /// Start although a port of the policy is not there yet.
    #[arg(long)]
    pub absent_ok: bool,
    /// With --dry-run: print one JSON object a period on standard output.
    #[arg(long, requires = "dry_run")]
    pub json: bool,
    /// Stop after so many periods.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub periods: Option<u64>,
    /// Serve a live page, /metrics for Prometheus and /health here, as in 127.0.0.1:9471, or on a socket
    /// as in unix:/run/nicety/http.sock. Everybody who can reach it may look.
    #[arg(long, value_name = "WHERE", conflicts_with = "dry_run")]
    pub listen: Option<ListenAt>,
    /// Serve only who shows the token in this file (mode 0600): as a bearer token, or as a password.
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub listen_token_file: Option<PathBuf>,
    /// Also answer requests for this host name; without it, for addresses, localhost and this host's name.
    #[arg(long, value_name = "NAME", requires = "listen")]
    pub listen_as: Vec<String>,
    /// Record every period in this new directory, which nicety report draws.
    #[arg(long, value_name = "DIR", conflicts_with = "dry_run")]
    pub out: Option<PathBuf>,
    /// Directory of the journal and state [default: police below /var/lib/nicety, for users
    /// below $XDG_STATE_HOME/nicety].
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// What the host is called.
    #[command(flatten)]
    pub naming: NamingArgs,
}

/// `nicety police status`, `reload` and `restore`.
#[derive(Debug, Args)]
pub struct AskArgs {
    /// Directory of the daemon's journal and state.
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Print one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `nicety police explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Tenant, or port: tap0, eth0/vf3.
    pub name: String,
    /// How to ask.
    #[command(flatten)]
    pub ask: AskArgs,
}
