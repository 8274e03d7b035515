//! The command line.

pub mod compare;
pub mod guest;
pub mod police;
pub mod runs;
pub mod tune;
pub mod vf;

use std::net::SocketAddr;
use std::ops::RangeBounds;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use nicety_guests::bundle::{MIRROR, check_mirror};
use nicety_host::fingerprint;
use nicety_model::plan::{Preset, parse_duration};
use nicety_model::run::Naming;
use nicety_model::{EngineChoice, Verdict};
use nicety_port::probes::Stamps;

/// Measures, tunes and polices the network path of virtual machines.
#[derive(Debug, Parser)]
#[command(name = "nicety", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 done with a negative answer (a cell failed, \
a result got worse); \
2 usage or bad input; 3 the environment lacks something; 4 interrupted (what was measured is kept).";

/// The jobs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Finds the highest rate a path carries with almost no loss, its latency, and what limits it.
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(BenchArgs),
    /// Judges new results against old ones: better, same, worse, or not to be told.
    #[command(after_help = compare::EXAMPLES)]
    Compare(compare::CompareArgs),
    /// Tells what can be measured here, and what each missing thing costs.
    #[command(after_help = PROBE_EXAMPLES)]
    Probe(ProbeArgs),
    /// Tells what this host, its interfaces and its virtual machines are made of.
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(InspectArgs),
    /// Finds what slows this host's network, changes it safely, and takes it back.
    #[command(subcommand, after_help = tune::EXAMPLES)]
    Tune(tune::TuneCommand),
    /// Shows and limits SR-IOV functions, taps, veths and macvtaps.
    #[command(subcommand, after_help = vf::EXAMPLES)]
    Vf(vf::VfCommand),
    /// Shares a link fairly among those who send over it.
    #[command(subcommand, after_help = police::EXAMPLES)]
    Police(police::PoliceCommand),
    /// Inside a guest: what the host sees of it, and a limit that it sets itself.
    #[command(subcommand, after_help = guest::EXAMPLES)]
    Guest(guest::GuestCommand),
    /// Renders the results of runs.
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
    /// Tells what a note or a problem means: its cause, its effect, and what to do.
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
    /// Keeps runs: lists them, shows how a cell changed over time, forgets old ones.
    #[command(after_help = runs::EXAMPLES)]
    Runs(runs::RunsArgs),
    /// Latency, transaction rate and throughput between two socket endpoints.
    #[command(subcommand, after_help = crate::sock::args::EXAMPLES)]
    Sock(crate::sock::args::SockJob),
    /// Boots a KVM host with an SR-IOV NIC in a box, for trying everything without the hardware.
    #[command(subcommand, after_help = crate::lab::args::ABOUT)]
    Lab(crate::lab::args::LabCommand),
    /// Prints the completions of a shell, as in: source <(nicety completions bash)
    Completions {
        /// bash, zsh, fish, elvish or powershell.
        #[arg(value_name = "SHELL", value_parser = shell, hide_possible_values = true)]
        shell: clap_complete::Shell,
    },
    /// Writes manual pages.
    #[command(hide = true)]
    Man {
        /// Directory for the pages.
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
    /// Plays a part inside a guest of nicety.
    #[command(hide = true)]
    GuestInit {
        /// The part.
        part: String,
    },
}

const BENCH_EXAMPLES: &str = "Examples:
  nicety bench                         a kernel bridge, seven frame sizes, 4 min
  nicety bench plans/bridge-default.toml --out runs/mine
  nicety bench --ports eth1,eth2       whatever lies between two interfaces
  nicety bench --preset std --time-box 2h plan.toml
  nicety bench --resume runs/mine      go on after Ctrl-C, even after kill -9
  nicety bench --json | jq '.cells[].throughput_fps'";

const INSPECT_EXAMPLES: &str = "Examples:
  nicety inspect                       CPUs, nodes, interfaces, interrupts, VMs, settings
  nicety inspect --json | jq '.interfaces[] | {name, numa_node, irqs}'
  nicety inspect --record host1        the same, kept as a tree of files
  nicety inspect --capture host1.json  the same in one file, to be sent; --sysroot reads both
  nicety inspect --sysroot host1       the recorded host, on any machine and without root
  nicety inspect --html host.html      as a picture, in which a misplaced interrupt is seen";

const PROBE_EXAMPLES: &str = "Examples:
  nicety probe                         on a new machine, before anything else
  nicety probe --quick                 in two seconds, without booting a kernel on KVM
  nicety probe --json | jq -r '.abilities[] | select(.answer == \"no\").remedy'

Engines and paths are tried in network namespaces that go with the program. Nothing is fetched,
installed or set; the kernel may load modules for what is tried.";

const REPORT_EXAMPLES: &str = "Examples:
  nicety report runs/mine                        the table again
  nicety report runs/mine --html report.html --csv cells.csv
  nicety report runs/mine --md -                 Markdown, to read at once
  nicety report runs/mine --junit cells.xml      for a build server";

const EXPLAIN_EXAMPLES: &str = "Examples:
  nicety explain                       every code in a line
  nicety explain N014
  nicety explain rests                 the same, by name
  nicety explain P014                  a problem: why something was skipped or refused
  nicety explain --json | jq -r '.notes[] | select(.severity == \"warning\").code'";

/// `nicety explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Code or name of a note or a problem; without one, all are listed.
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
    /// Print the pages as one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `nicety bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Plan to run; without one, a kernel bridge is measured with the seven sizes of RFC 2544.
    pub plan: Option<PathBuf>,
    /// Measure between two existing interfaces instead of a path made by nicety.
    #[arg(long, value_name = "A,B")]
    pub ports: Option<String>,
    /// What sends and counts: xdp (fastest, needs root), af_xdp (where the driver or the kernel
    /// does not have xdp's frames, needs root), pktgen (the kernel's own generator, where its module
    /// is loaded, needs root), af_packet, or auto, which takes the fastest that proves itself on the
    /// ports.
    #[arg(long, value_name = "NAME", default_value_t)]
    pub engine: EngineChoice,
    /// Whose time stamps latency is taken with: the kernel's always; with auto also those of the
    /// NICs of both ports where they have them, of probes sent beside the load; hardware insists on
    /// that, software leaves them alone.
    #[arg(long, value_name = "WHOSE", default_value_t)]
    pub stamps: Stamps,
    /// How the throughput is searched: quick, std, csit, rfc2544 or binary.
    #[arg(long, value_name = "NAME")]
    pub preset: Option<Preset>,
    /// Directory for the results; must be new or empty.
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub out: Option<PathBuf>,
    /// Go on with an interrupted run.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["plan", "ports", "preset", "seed"])]
    pub resume: Option<PathBuf>,
    /// Spend at most this long, where it matters most; says what was left out.
    #[arg(long, value_name = "DURATION", value_parser = time_box)]
    pub time_box: Option<Duration>,
    /// Seed of the random cell order, to repeat a run exactly.
    #[arg(long, value_name = "N", value_parser = seed)]
    pub seed: Option<u64>,
    /// Where QEMU and the kernel of guests (kind = "vm") are kept; without it
    /// $XDG_CACHE_HOME/nicety or ~/.cache/nicety. They are fetched once (150 MB), as for the lab.
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// The Debian mirror they are fetched from.
    #[arg(long, value_name = "URL", default_value = MIRROR, value_parser = check_mirror)]
    pub mirror: String,
    /// Show how far the run is on a page as well, at this address. Everybody who can reach it may
    /// look.
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, require_equals = true,
        default_missing_value = "127.0.0.1:9470", value_parser = port_or_address)]
    pub web: Option<SocketAddr>,
    /// Which results make the exit code 1.
    #[command(flatten)]
    pub demand: DemandArgs,
    /// Print the results as one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
    /// What the host is called.
    #[command(flatten)]
    pub naming: NamingArgs,
}

/// What a host is called in results and on pages.
#[derive(Debug, Args)]
pub struct NamingArgs {
    /// Name this host or run in results and on pages, beside the host's own name.
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub label: Option<String>,
    /// Leave the host's name out of results and pages, to publish them.
    #[arg(long)]
    pub no_hostname: bool,
}

impl NamingArgs {
    /// The name and label that results get.
    pub fn naming(&self) -> Naming {
        Naming {
            hostname: (!self.no_hostname).then(fingerprint::hostname).flatten(),
            label: self.label.clone(),
        }
    }
}

fn label(text: &str) -> Result<String, String> {
    let plain = !text.trim().is_empty() && text.chars().count() <= 80;
    match plain && !text.chars().any(char::is_control) {
        true => Ok(text.trim().to_owned()),
        false => Err("write 1 to 80 characters on one line".to_owned()),
    }
}

/// Which results make the exit code 1.
#[derive(Debug, Args)]
pub struct DemandArgs {
    /// Exit with 1 also when a result has one of these verdicts, as in noisy,unstable.
    #[arg(long, value_name = "VERDICTS", value_delimiter = ',', value_parser = verdict)]
    pub fail_on: Vec<Verdict>,
    /// Exit with 1 unless every cell has a result that is ok or wide.
    #[arg(long)]
    pub strict: bool,
}

/// `nicety inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// Read a recorded host below this directory, or in a captured file, instead of this one.
    #[arg(long, value_name = "DIR")]
    pub sysroot: Option<PathBuf>,
    /// Also write everything read to this new or empty directory.
    #[arg(long, value_name = "DIR", conflicts_with = "sysroot")]
    pub record: Option<PathBuf>,
    /// Also write everything read to this file, for --sysroot on another machine.
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    pub capture: Option<PathBuf>,
    /// Look on for this time first, 100ms to 1h, and tell what the counters did meanwhile; a recorded
    /// host has what was recorded.
    #[arg(long, value_name = "TIME", value_parser = window, conflicts_with = "sysroot")]
    pub window: Option<Duration>,
    /// Write a page that shows the host as a picture: who runs where, and what is misplaced.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub html: Option<PathBuf>,
    /// Print the facts as one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
    /// What the host is called.
    #[command(flatten)]
    pub naming: NamingArgs,
}

/// `nicety probe`.
#[derive(Debug, Args)]
pub struct ProbeArgs {
    /// Where QEMU and the kernel of guests are kept, if not in $XDG_CACHE_HOME/nicety or
    /// ~/.cache/nicety.
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Boot no kernel to see whether KVM works. All else takes two seconds, this up to 90.
    #[arg(long)]
    pub quick: bool,
    /// Print the answers as one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `nicety report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run directories.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Write the HTML report to this file; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write one row per cell as CSV; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write one row per guest of every cell whose path several share as CSV; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub guest_csv: Option<PathBuf>,
    /// Write what every path costs against the best as CSV; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub ranking_csv: Option<PathBuf>,
    /// Write one direction against both, by path and pins, as CSV; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub direction_csv: Option<PathBuf>,
    /// Write one row per repeat of a socket test as CSV; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub sock_csv: Option<PathBuf>,
    /// Write a Markdown table; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub md: Option<PathBuf>,
    /// Write JUnit XML, a test case per cell; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write metrics for Prometheus, by node_exporter's textfile collector; `-` is standard output.
    #[arg(long, value_name = "FILE", alias = "openmetrics")]
    pub prometheus: Option<PathBuf>,
    /// Which results make the exit code 1.
    #[command(flatten)]
    pub demand: DemandArgs,
    /// Print the run as one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `--fail-on`.
fn verdict(text: &str) -> Result<Verdict, String> {
    let words = || Verdict::WORDS.join(", ");
    Verdict::of(text).ok_or_else(|| format!("unknown verdict {text:?}; write one of {}", words()))
}

/// A duration that is `wrong` outside of the bounds.
fn time(text: &str, bounds: impl RangeBounds<Duration>, wrong: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    match bounds.contains(&time) {
        true => Ok(time),
        false => Err(format!("{text:?} {wrong}")),
    }
}

/// What has a text of its own; any other is `wrong`.
pub fn parsed<T: FromStr>(text: &str, wrong: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text:?} {wrong}"))
}

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// `--time-box`: less fits no trial.
fn time_box(text: &str) -> Result<Duration, String> {
    let wrong = "is too short to measure anything; write at least \"1s\"";
    time(text, SECOND.., wrong)
}

/// `--window`: long enough for a counter to move, and short enough to be waited for.
fn window(text: &str) -> Result<Duration, String> {
    time(text, SECOND / 10..=HOUR, "is not between 100ms and 1h")
}

/// A shell.
fn shell(text: &str) -> Result<clap_complete::Shell, String> {
    let wrong = "is no shell known here; write bash, zsh, fish, elvish or powershell";
    parsed(text, wrong)
}

/// `--seed`.
fn seed(text: &str) -> Result<u64, String> {
    let wrong = "is no seed; write a whole number, as printed with the results";
    parsed(text, wrong)
}

/// `--web`: a port alone is one of this host's loopback.
fn port_or_address(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<u16>() {
        Ok(port) => Ok(SocketAddr::from((std::net::Ipv4Addr::LOCALHOST, port))),
        Err(_) => listen(text),
    }
}

/// An address to listen on.
fn listen(text: &str) -> Result<SocketAddr, String> {
    let wrong = "is no address with a port; write one as in \"127.0.0.1:9471\" or \"[::]:9471\"";
    parsed(text, wrong)
}
