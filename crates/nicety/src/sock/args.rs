//! The command line of `nicety sock`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use nicety_model::PathSpec;
use nicety_model::plan::parse_duration;
use nicety_model::sock::SockTest;
use nicety_runner::sock::PORT;
use nicety_runner::sock::local::{Way, ends_here};
use nicety_socket::Token;

use crate::cli::heading;
use crate::cli::output::FormatArgs;

/// Examples below the help of `nicety sock`.
pub const EXAMPLES: &str = "Examples:
  nicety sock tcp_rr                               over a veth pair made for it, 5 s
  nicety sock udp_rr --path bridge --message-bytes 1,64,1024
  nicety sock tcp_stream --path tunnel,encapsulation=gre
  nicety sock tcp_stream --parallel 1,4 --confidence 95,5
  nicety sock tcp_rr --saturate                    more pairs until the rate stops growing
  nicety sock tcp_rr --pin 0 --server-pin 1        each end on a CPU of its own
  nicety sock udp_rr --rate 5000                   open loop: latency from the intended time
  nicety sock serve --listen 192.0.2.7             on the far host; prints a token
  NICETY_TOKEN=TOKEN nicety sock tcp_rr --to 192.0.2.7:12866";

const RR_EXAMPLES: &str = "Examples:
  nicety sock tcp_rr                               over a veth pair made for it, 5 s
  nicety sock tcp_rr -t 30s --confidence 95,5
  nicety sock tcp_rr --saturate                    more pairs until the rate stops growing
  nicety sock tcp_rr --pin 0 --server-pin 1        each end on a CPU of its own
  NICETY_TOKEN=TOKEN nicety sock tcp_rr --to 192.0.2.7:12866";

const UDP_RR_EXAMPLES: &str = "Examples:
  nicety sock udp_rr --path bridge --message-bytes 1,64,1024
  nicety sock udp_rr --rate 5000                   open loop: latency from the intended time";

const CRR_EXAMPLES: &str = "Examples:
  nicety sock tcp_crr --parallel 1,4,16";

const STREAM_EXAMPLES: &str = "Examples:
  nicety sock tcp_stream --parallel 1,4 --confidence 95,5
  nicety sock tcp_stream --zerocopy -j";

const MAERTS_EXAMPLES: &str = "Examples:
  nicety sock tcp_maerts
  nicety sock tcp_maerts --to 192.0.2.7:12866 --token-file token";

const UDP_STREAM_EXAMPLES: &str = "Examples:
  nicety sock udp_stream --message-bytes 1472
  nicety sock udp_stream --rate 50000 --no-offload";

const SERVE_EXAMPLES: &str = "Examples:
  nicety sock serve --listen 192.0.2.7             on the far host; prints a token
  nicety sock serve --listen :: --pin 2,3";

/// The tests, and the server for them.
#[derive(Debug, Subcommand)]
pub enum SockJob {
    /// Send requests and wait for responses, on one TCP connection per flow.
    #[command(name = "tcp_rr", after_help = RR_EXAMPLES)]
    TcpRr(TestArgs),
    /// Send requests and wait for responses in UDP datagrams. Lost ones are counted.
    #[command(name = "udp_rr", after_help = UDP_RR_EXAMPLES)]
    UdpRr(TestArgs),
    /// Connect, send a request, wait for the response, close.
    #[command(name = "tcp_crr", after_help = CRR_EXAMPLES)]
    TcpCrr(TestArgs),
    /// Send bulk data to the server.
    #[command(name = "tcp_stream", after_help = STREAM_EXAMPLES)]
    TcpStream(TestArgs),
    /// Receive bulk data from the server.
    #[command(name = "tcp_maerts", after_help = MAERTS_EXAMPLES)]
    TcpMaerts(TestArgs),
    /// Send datagrams to the server.
    #[command(name = "udp_stream", after_help = UDP_STREAM_EXAMPLES)]
    UdpStream(TestArgs),
    /// Serve tests of other hosts.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArgs),
}

impl SockJob {
    /// The test with its parameters; whatever is none comes back.
    pub fn test(&self) -> Result<(SockTest, &TestArgs), &Self> {
        match self {
            Self::TcpRr(args) => Ok((SockTest::TcpRr, args)),
            Self::UdpRr(args) => Ok((SockTest::UdpRr, args)),
            Self::TcpCrr(args) => Ok((SockTest::TcpCrr, args)),
            Self::TcpStream(args) => Ok((SockTest::TcpStream, args)),
            Self::TcpMaerts(args) => Ok((SockTest::TcpMaerts, args)),
            Self::UdpStream(args) => Ok((SockTest::UdpStream, args)),
            Self::Serve(_) => Err(self),
        }
    }
}

/// A test.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Test against this server, as `nicety sock serve` printed it. Without it, both ends run here, in
    /// network namespaces of their own.
    #[arg(long, value_name = "HOST:PORT", help_heading = heading::WHAT)]
    pub to: Option<String>,
    /// Show the server this token, which it printed. Other users see it among the arguments; NICETY_TOKEN
    /// and --token-file hide it.
    #[arg(long, value_parser = Token::new, requires = "to", help_heading = heading::WHAT)]
    pub token: Option<Token>,
    /// Read the token from this file, which only its owner may read (mode 0600).
    #[arg(long, value_name = "FILE", requires = "to", conflicts_with = "token", help_heading = heading::WHAT)]
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
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = heading::HOW)]
    pub message_bytes: Vec<u32>,
    /// Run this many flows at once; a list runs one test each.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1", help_heading = heading::HOW)]
    pub parallel: Vec<u32>,
    /// Run a test for this long.
    #[arg(short, long, value_name = "DURATION", value_parser = parse_duration, default_value = "5s", help_heading = heading::HOW)]
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
    /// Try MSG_ZEROCOPY where this end sends a TCP stream.
    #[arg(long, help_heading = heading::HOW)]
    pub zerocopy: bool,
    /// Send one datagram per system call, without UDP_SEGMENT and UDP_GRO.
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
    /// Listen on this address. Other hosts reach only an address of an interface.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", help_heading = heading::WHAT)]
    pub listen: IpAddr,
    /// Use this port for control connections. The kernel chooses data ports.
    #[arg(long, default_value_t = PORT, help_heading = heading::WHAT)]
    pub port: u16,
    /// Require this token of clients, 8 to 128 characters. Without it, one is made up and printed. Other
    /// users see it among the arguments; NICETY_TOKEN and --token-file hide it.
    #[arg(long, value_parser = Token::new, help_heading = heading::WHAT)]
    pub token: Option<Token>,
    /// Read the token from this file, which only its owner may read (mode 0600).
    #[arg(long, value_name = "FILE", conflicts_with = "token", help_heading = heading::WHAT)]
    pub token_file: Option<PathBuf>,
    /// Use at most this many worker threads per test. Default: one per CPU.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = heading::HOW)]
    pub threads: Option<u16>,
    /// Pin the workers to these CPUs in turn; one worker each unless --threads is given.
    #[arg(long, value_name = "CPUS", value_delimiter = ',', help_heading = heading::HOW)]
    pub pin: Vec<u32>,
}

fn way(text: &str) -> Result<Way, String> {
    if text == "veth" {
        return Ok(Way::Veth);
    }
    let path: PathSpec = text.parse().map_err(|error| {
        format!("{error}; write veth or a path of a plan, as in tunnel,encapsulation=gre")
    })?;
    match ends_here(&path) {
        true => Ok(Way::Path(path)),
        false => Err(format!(
            "a path of kind {} needs a plan; write it with [[sockets]] and run nicety bench",
            path.kind()
        )),
    }
}

fn confidence(text: &str) -> Result<(u32, f64), String> {
    let parsed = text
        .split_once(',')
        .and_then(|(level, width)| Some((level.trim().parse().ok()?, width.trim().parse().ok()?)));
    parsed.ok_or_else(|| format!("{text:?} is no level and width; write as in 95,2"))
}
