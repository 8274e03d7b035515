//! `nicety police` on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use nicety_model::bill::Month;
use nicety_model::{BitRate, BitRateError};

use super::output::{FormatArgs, JsonArgs};
use super::state::StateArgs;
use super::{NamingArgs, heading};
use crate::web::{ListenAt, TlsFiles};

/// Below the help of `nicety police`.
pub const EXAMPLES: &str = "Examples:
  nicety police run policy.toml --dry-run    what it would do; changes nothing
  nicety police run policy.toml              share the link until Ctrl-C, then put everything back
  nicety police status                       what every tenant sends, wants and may send
  nicety police status blue                  what limits blue
  nicety police bill                         what every tenant has used this month
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

const RUN_EXAMPLES: &str = "Examples:
  nicety police run policy.toml --dry-run
  nicety police run policy.toml --listen 127.0.0.1:9471   with a live page and metrics
  nicety police run policy.toml -o friday    record it; nicety report friday draws it";

const STATUS_EXAMPLES: &str = "Examples:
  nicety police status
  nicety police status blue                  what blue has, and what limits it, in one line
  nicety police status eth0/vf3              the tenant of a port
  nicety police status --format csv --no-header
  nicety police status --cluster             all hosts that share totals
  nicety police status -j | jq '.tenants[].rate_bps'

Exit code 3: no daemon runs.";

const FORGET_EXAMPLES: &str = "Examples:
  nicety police forget kvm17

Make sure first that the host is off: what it holds is given to others.
Exit code 1: the host runs, or there is no such host.";

const BILL_EXAMPLES: &str = "Examples:
  nicety police bill                         this month, every tenant
  nicety police bill blue --month 2026-10
  nicety police bill --samples --format csv >november.csv
  nicety police bill --store postgres://db/nicety --group-by host

The daemon keeps samples while its policy has [bills].";

const IMPORT_EXAMPLES: &str = "Examples:
  nicety police import                       what libvirt, Proxmox and others limit here, as a policy
  nicety police import --rate 10gbit -o policy.toml
  nicety police import vnet0 vnet1           of these ports only
  nicety police import -j | jq '.limits[]'

Exit code 1: nobody limits what a port sends.";

const RELOAD_EXAMPLES: &str = "Examples:
  nicety police reload

Exit code 1: the daemon refuses the policy and goes on with the old one.";

const RESTORE_EXAMPLES: &str = "Examples:
  nicety police restore";

/// The parts.
#[derive(Debug, Subcommand)]
pub enum PoliceCommand {
    /// Share a link as a policy says, until it is stopped.
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Show what the running daemon sees and does.
    #[command(after_help = STATUS_EXAMPLES)]
    Status(StatusArgs),
    /// Show what tenants have sent and received in a month, with the 95th percentile.
    #[command(after_help = BILL_EXAMPLES)]
    Bill(BillArgs),
    /// Write a policy from the limits that other programs have set at ports of this host.
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(ImportArgs),
    /// Tell the running daemon to read its policy again.
    #[command(after_help = RELOAD_EXAMPLES)]
    Reload(AskArgs),
    /// Tell the running daemon to resolve port names again.
    #[command(hide = true)]
    Poke(PokeArgs),
    /// Restore the limits that a killed daemon found and left changed.
    #[command(after_help = RESTORE_EXAMPLES)]
    Restore(AskArgs),
    /// Remove a host that is gone for good from the cluster, so that others get its shares.
    #[command(after_help = FORGET_EXAMPLES)]
    Forget(ForgetArgs),
    /// Lower ports when the daemon does not renew its orders in time; the daemon starts it.
    #[command(hide = true)]
    Guard,
}

/// `nicety police run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The policy.
    #[arg(help_heading = heading::WHAT)]
    pub policy: PathBuf,
    /// Print every period what would be done; change nothing.
    #[arg(long, help_heading = heading::HOW)]
    pub dry_run: bool,
    /// Leave the last limits when stopped.
    #[arg(long, conflicts_with = "dry_run", help_heading = heading::HOW)]
    pub keep: bool,
    /// Start although a port of the policy is missing.
    #[arg(long, help_heading = heading::HOW)]
    pub absent_ok: bool,
    /// Refuse names that do not resolve to an interface, as libvirt:web01/net0 of a machine that is shut off.
    #[arg(long, conflicts_with = "absent_ok", help_heading = heading::HOW)]
    pub strict: bool,
    /// Stop after this many periods.
    #[arg(long = "count", value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = heading::HOW)]
    pub periods: Option<u64>,
    /// Where the journals are.
    #[command(flatten)]
    pub state: StateArgs,
    /// Serve a live page and metrics at an address, or at a socket as in unix:/run/nicety/http.sock. Behind it may
    /// stand token-file=FILE (clients must know the token), cert=FILE,key=FILE (HTTPS) and name=NAME (a name of
    /// this host that browsers may use; may be repeated), as in 0.0.0.0:9471,cert=web.pem,key=web.key.
    #[arg(long, value_name = "WHERE", value_parser = served, conflicts_with = "dry_run", help_heading = heading::OUTPUT)]
    pub listen: Option<Listen>,
    /// Record every period in this new directory; nicety report draws it.
    #[arg(short, long, value_name = "DIR", conflicts_with = "dry_run", help_heading = heading::OUTPUT)]
    pub out: Option<PathBuf>,
    /// Print one JSON object per period; needs --dry-run.
    #[arg(short, long, requires = "dry_run", help_heading = heading::OUTPUT)]
    pub json: bool,
    /// What the host is called.
    #[command(flatten)]
    pub naming: NamingArgs,
}

/// Where and how the live page is served.
#[derive(Debug, Clone)]
pub struct Listen {
    /// Where.
    pub at: ListenAt,
    /// File of the token that clients must know.
    pub token_file: Option<PathBuf>,
    /// Files of a certificate and its key.
    pub tls: Option<TlsFiles>,
    /// Names of this host that browsers may use.
    pub names: Vec<String>,
}

fn served(text: &str) -> Result<Listen, String> {
    let mut parts = text.split(',');
    let at = parts.next().unwrap_or_default().parse()?;
    let (mut token_file, mut certificate, mut key, mut names) = (None, None, None, Vec::new());
    for part in parts {
        let (word, value) = part.split_once('=').unwrap_or((part, ""));
        match word {
            "token-file" => token_file = Some(PathBuf::from(value)),
            "cert" => certificate = Some(PathBuf::from(value)),
            "key" => key = Some(PathBuf::from(value)),
            "name" => names.push(value.to_owned()),
            _ => {
                return Err(format!(
                    "{part:?} does not belong to an address; write token-file=, cert=, key= or name="
                ));
            }
        }
    }
    let tls = match (certificate, key) {
        (Some(certificate), Some(key)) => Some(TlsFiles { certificate, key }),
        (None, None) => None,
        _ => return Err("cert= and key= need each other; write both".to_owned()),
    };
    Ok(Listen {
        at,
        token_file,
        tls,
        names,
    })
}

/// `nicety police status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Tell in one line what limits this tenant, or the tenant of this port: tap0, eth0/vf3,
    /// libvirt:web01/net0.
    #[arg(value_name = "TENANT", conflicts_with_all = ["cluster", "format"], help_heading = heading::WHAT)]
    pub name: Option<String>,
    /// Show the tenants of all hosts of the cluster, as etcd has them.
    #[arg(long, help_heading = heading::WHAT)]
    pub cluster: bool,
    /// Take the cluster from this policy. Default: /etc/nicety/policy.toml.
    #[arg(long, value_name = "FILE", requires = "cluster", help_heading = heading::WHAT)]
    pub policy: Option<PathBuf>,
    /// Where the daemon's state is.
    #[command(flatten)]
    pub state: StateArgs,
    /// The format on standard output.
    #[command(flatten)]
    pub format: FormatArgs,
}

/// `nicety police forget`.
#[derive(Debug, Args)]
pub struct ForgetArgs {
    /// Host, as nicety police status --cluster names it.
    #[arg(help_heading = heading::WHAT)]
    pub host: String,
    /// Take the cluster from this policy. Default: /etc/nicety/policy.toml.
    #[arg(long, value_name = "FILE", help_heading = heading::WHAT)]
    pub policy: Option<PathBuf>,
}

/// `nicety police bill`.
#[derive(Debug, Args)]
pub struct BillArgs {
    /// Tenants; all by default.
    #[arg(value_name = "TENANT", help_heading = heading::WHAT)]
    pub tenants: Vec<String>,
    /// Show this month, in UTC; the current one by default.
    #[arg(long, value_name = "YYYY-MM", help_heading = heading::WHAT)]
    pub month: Option<Month>,
    /// Show every host by itself.
    #[arg(long, value_name = "host", value_parser = ["host"], help_heading = heading::WHAT)]
    pub group_by: Option<String>,
    /// Show every sample of five minutes.
    #[arg(long, conflicts_with = "group_by", help_heading = heading::WHAT)]
    pub samples: bool,
    /// Read the samples in this store: a file, or postgres://HOST/DATABASE. Default: the daemon's own.
    #[arg(long, value_name = "WHERE", help_heading = heading::HOW)]
    pub store: Option<PathBuf>,
    /// Where the daemon's state is.
    #[command(flatten)]
    pub state: StateArgs,
    /// The format on standard output.
    #[command(flatten)]
    pub format: FormatArgs,
}

/// `nicety police import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Ports to look at; all of this network namespace by default.
    #[arg(value_name = "PORT", help_heading = heading::WHAT)]
    pub ports: Vec<String>,
    /// Set the rate of the shared link; the sum of the limits by default.
    #[arg(long, value_name = "RATE", value_parser = rate, help_heading = heading::WHAT)]
    pub rate: Option<BitRate>,
    /// Write the policy to this file, which must not exist; - is standard output.
    #[arg(short, long, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub out: Option<PathBuf>,
    /// JSON or text.
    #[command(flatten)]
    pub output: JsonArgs,
}

/// `nicety police reload` and `restore`.
#[derive(Debug, Args)]
pub struct AskArgs {
    /// Where the daemon's state is.
    #[command(flatten)]
    pub state: StateArgs,
    /// JSON or text.
    #[command(flatten)]
    pub output: JsonArgs,
}

/// `nicety police poke`.
#[derive(Debug, Args)]
pub struct PokeArgs {
    /// Where the daemon's state is.
    #[command(flatten)]
    pub state: StateArgs,
}

fn rate(text: &str) -> Result<BitRate, String> {
    text.parse()
        .map_err(|error: BitRateError| error.to_string())
}
