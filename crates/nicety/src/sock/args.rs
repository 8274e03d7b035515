//! The command line of `nicety sock`.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use nicety_model::PathSpec;
use nicety_model::plan::parse_duration;
use nicety_model::sock::SockTest;
use nicety_runner::sock::PORT;
use nicety_runner::sock::local::{Way, ends_here};

use crate::cli::output::FormatArgs;
use crate::cli::{heading, words};

/// Examples below the help of `nicety sock`.
pub const EXAMPLES: &str = "Examples:
  nicety sock tcp_rr                               over a veth pair made for it, 5 s
  nicety sock tcp_rr,tcp_stream -t 30s             one after the other
  nicety sock udp_rr --path bridge --size 1,64,1024
  nicety sock tcp_stream --path tunnel,encapsulation=gre
  nicety sock tcp_stream --parallel 1,4 --confidence 95,5
  nicety sock tcp_rr --saturate                    more pairs until the rate stops growing
  nicety sock tcp_rr --pin 0 --server-pin 1        each end on a CPU of its own
  nicety sock udp_rr --rate 5000                   open loop: latency from the intended time
  nicety sock serve --listen 192.0.2.7             on the far host; prints a token
  NICETY_TOKEN=TOKEN nicety sock tcp_rr 192.0.2.7";

const SERVE_EXAMPLES: &str = "Examples:
  nicety sock serve --listen 192.0.2.7             on the far host; prints a token
  nicety sock serve --listen :: --pin 2,3";

const USAGE: &str = "nicety sock [OPTIONS] <TESTS> [HOST]
       nicety sock serve [OPTIONS]";

/// `nicety sock`.
#[derive(Debug, Args)]
#[command(subcommand_negates_reqs = true, override_usage = USAGE)]
pub struct SockArgs {
    /// The server, instead of tests.
    #[command(subcommand)]
    pub job: Option<SockJob>,
    /// The tests.
    #[command(flatten)]
    pub tests: TestArgs,
}

/// What is no test.
#[derive(Debug, Subcommand)]
pub enum SockJob {
    /// Serve tests of other hosts.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArgs),
}

/// Tests, and how they run.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Tests; several with commas run one after the other.
    #[arg(required = true, value_parser = words::SOCK_TESTS, help_heading = heading::WHAT)]
    pub tests: Option<Tests>,
    /// Host where `nicety sock serve` runs, with its port unless that is 12866. Without it, both ends run
    /// here, in network namespaces of their own.
    #[arg(value_name = "HOST", value_parser = server, help_heading = heading::WHAT)]
    pub to: Option<String>,
    /// Read the token from this file, which only its owner may read (mode 0600).
    #[arg(long, value_name = "FILE", requires = "to", help_heading = heading::WHAT)]
    pub token_file: Option<PathBuf>,
    /// Put this between the two namespaces: veth for a pair of them, or a path as in a plan, with its keys
    /// behind commas. Without guests, and without interfaces that exist already.
    #[arg(
        long,
        value_name = "KIND",
        value_parser = way,
        default_value = "veth",
        conflicts_with = "to",
        help_heading = heading::WHAT
    )]
    pub path: Way,
    /// Send this many bytes per request, response, write or datagram; a list runs one test each.
    /// Default: 1 for requests, 1472 for udp_stream, 131072 for TCP streams.
    #[arg(long = "size", value_name = "BYTES", value_delimiter = ',', help_heading = heading::HOW)]
    pub message_bytes: Vec<u32>,
    /// Run this many flows at once; a list runs one test each.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1", help_heading = heading::HOW)]
    pub parallel: Vec<u32>,
    /// Run a test for this long.
    #[arg(short = 't', long = "for", value_name = "TIME", value_parser = parse_duration, default_value = "5s", help_heading = heading::HOW)]
    pub time: Duration,
    /// Send this many transactions or datagrams per second over all flows, on a fixed schedule.
    /// Latency counts from the intended time.
    #[arg(long, value_name = "N", help_heading = heading::HOW)]
    pub rate: Option<f64>,
    /// Repeat until the interval of LEVEL per cent (90, 95, 99) is at most WIDTH per cent wide, or
    /// --repeats is reached.
    #[arg(long, value_name = "LEVEL,WIDTH", value_parser = confidence, help_heading = heading::HOW)]
    pub confidence: Option<(u32, f64)>,
    /// Repeat every test this often. With --confidence, at most this often (3 to 30, default 10).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = heading::HOW)]
    pub repeats: Option<u32>,
    /// Add flows until the rate stops growing, up to the largest of --parallel or 512, and show the
    /// curve.
    #[arg(long, conflicts_with_all = ["confidence", "rate"], help_heading = heading::HOW)]
    pub saturate: bool,
    /// Use IPv6.
    #[arg(long, help_heading = heading::HOW)]
    pub ipv6: bool,
    /// Use at most this many worker threads per end. Default: one per CPU.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = heading::HOW)]
    pub threads: Option<u16>,
    /// Pin the client's workers to these CPUs in turn; one worker each unless --threads is given.
    #[arg(long, value_name = "CPUS", value_delimiter = ',', help_heading = heading::HOW)]
    pub pin: Vec<u32>,
    /// Pin the server's workers to these CPUs, where both ends run here.
    #[arg(
        long,
        value_name = "CPUS",
        value_delimiter = ',',
        conflicts_with = "to",
        help_heading = heading::HOW
    )]
    pub server_pin: Vec<u32>,
    /// Try MSG_ZEROCOPY in TCP streams.
    #[arg(long, help_heading = heading::HOW)]
    pub zerocopy: bool,
    /// Send one datagram of udp_stream per system call, without UDP_SEGMENT and UDP_GRO.
    #[arg(long, help_heading = heading::HOW)]
    pub no_offload: bool,
    /// The format on standard output.
    #[command(flatten)]
    pub format: FormatArgs,
    /// Write the JSON object to this file too.
    #[arg(short, long, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub out: Option<PathBuf>,
}

/// `nicety sock serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Listen at this address of the host, with a port where it is not 12866. Default: 127.0.0.1.
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = listen, default_value = "127.0.0.1", hide_default_value = true, help_heading = heading::WHAT)]
    pub listen: SocketAddr,
    /// Read the token from this file, which only its owner may read (mode 0600).
    #[arg(long, value_name = "FILE", help_heading = heading::WHAT)]
    pub token_file: Option<PathBuf>,
    /// Use at most this many worker threads per test. Default: one per CPU.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = heading::HOW)]
    pub threads: Option<u16>,
    /// Pin the workers to these CPUs in turn; one worker each unless --threads is given.
    #[arg(long, value_name = "CPUS", value_delimiter = ',', help_heading = heading::HOW)]
    pub pin: Vec<u32>,
}

/// Tests in the order in which they run.
#[derive(Debug, Clone)]
pub struct Tests(pub Vec<SockTest>);

/// A host without a port has the usual one.
fn server(text: &str) -> Result<String, String> {
    if SockTest::of(text).is_some() {
        return Err(format!(
            "{text} is a test; write several tests with commas, as in tcp_rr,{text}"
        ));
    }
    Ok(match text.parse::<Ipv6Addr>() {
        Ok(address) => format!("[{address}]:{PORT}"),
        Err(_) if text.contains(':') && !text.ends_with(']') => text.to_owned(),
        Err(_) => format!("{text}:{PORT}"),
    })
}

fn listen(text: &str) -> Result<SocketAddr, String> {
    let at = |address: IpAddr| SocketAddr::new(address, PORT);
    let address = text.parse().map(at).or_else(|_| text.parse());
    address.map_err(|_| {
        format!("{text:?} is not an address; write one as in 192.0.2.7, [2001:db8::7]:9000 or ::")
    })
}

fn way(text: &str) -> Result<Way, String> {
    if text == "veth" {
        return Ok(Way::Veth);
    }
    let path: PathSpec = text.parse().map_err(|error| {
        format!("{error}; write veth or a path of a plan, as in tunnel,encapsulation=gre")
    })?;
    if ends_here(&path) {
        Ok(Way::Path(path))
    } else {
        Err(format!(
            "a path of kind {} needs a plan; write it with [[sockets]] and run nicety bench",
            path.kind()
        ))
    }
}

fn confidence(text: &str) -> Result<(u32, f64), String> {
    let parsed = text
        .split_once(',')
        .and_then(|(level, width)| Some((level.trim().parse().ok()?, width.trim().parse().ok()?)));
    parsed.ok_or_else(|| format!("{text:?} is not a level and width; write as in 95,2"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_a_port_has_the_usual_one() {
        for (text, at) in [
            ("far", "far:12866"),
            ("192.0.2.7:9", "192.0.2.7:9"),
            ("2001:db8::7", "[2001:db8::7]:12866"),
            ("[2001:db8::7]", "[2001:db8::7]:12866"),
            ("[2001:db8::7]:9", "[2001:db8::7]:9"),
        ] {
            assert_eq!(server(text), Ok(at.to_owned()));
        }
    }
}
