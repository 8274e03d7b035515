//! The command line of `nicety sock`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use nicety_model::plan::parse_duration;
use nicety_model::sock::SockTest;
use nicety_runner::sock::PORT;
use nicety_socket::Token;

/// Examples below the help of `nicety sock`.
pub const EXAMPLES: &str = "Examples:
  nicety sock tcp_rr                               over a veth pair made for it, 5 s
  nicety sock udp_rr --path bridge --message-bytes 1,64,1024
  nicety sock tcp_stream --parallel 1,4 --confidence 95,5
  nicety sock tcp_rr --saturate                    more pairs until the rate stops growing
  nicety sock tcp_rr --pin 0 --server-pin 1        each end on a CPU of its own
  nicety sock udp_rr --rate 5000                   open loop: latency from the intended time
  nicety sock serve --listen 192.0.2.7             on the far host; prints a token
  NICETY_TOKEN=TOKEN nicety sock tcp_rr --to 192.0.2.7:12866";

/// The tests, and the server for them.
#[derive(Debug, Subcommand)]
pub enum SockJob {
    /// Request and response on one TCP connection.
    #[command(name = "tcp_rr", after_help = EXAMPLES)]
    TcpRr(TestArgs),
    /// Request and response in UDP datagrams; lost ones are counted, not waited for.
    #[command(name = "udp_rr", after_help = EXAMPLES)]
    UdpRr(TestArgs),
    /// Connect, request, response, close.
    #[command(name = "tcp_crr", after_help = EXAMPLES)]
    TcpCrr(TestArgs),
    /// Bulk data from here to the server.
    #[command(name = "tcp_stream", after_help = EXAMPLES)]
    TcpStream(TestArgs),
    /// Bulk data from the server to here.
    #[command(name = "tcp_maerts", after_help = EXAMPLES)]
    TcpMaerts(TestArgs),
    /// Datagrams from here to the server.
    #[command(name = "udp_stream", after_help = EXAMPLES)]
    UdpStream(TestArgs),
    /// Waits for tests from other hosts.
    #[command(after_help = EXAMPLES)]
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

/// What nicety puts between the endpoints it makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PathKind {
    /// One veth pair.
    Veth,
    /// A kernel bridge.
    Bridge,
}

/// A test.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Server of another host, as `nicety sock serve` printed it; without it both ends run here,
    /// in namespaces of their own.
    #[arg(long, value_name = "HOST:PORT")]
    pub to: Option<String>,
    /// Token that the server printed. Other users see it among the arguments: NICETY_TOKEN and
    /// --token-file hide it.
    #[arg(long, value_parser = Token::new, requires = "to")]
    pub token: Option<Token>,
    /// File with the token, which only its owner can read (mode 0600).
    #[arg(long, value_name = "FILE", requires = "to", conflicts_with = "token")]
    pub token_file: Option<PathBuf>,
    /// What lies between the two namespaces.
    #[arg(
        long,
        value_name = "KIND",
        value_enum,
        default_value = "veth",
        conflicts_with = "to"
    )]
    pub path: PathKind,
    /// Bytes of a request, response, write or datagram; a list runs one test each. Default 1 for
    /// request/response, 1472 for udp_stream, 131072 for TCP streams.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub message_bytes: Vec<u32>,
    /// Flows at once; a list runs one test each.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1")]
    pub parallel: Vec<u32>,
    /// Length of a test.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "5s")]
    pub time: Duration,
    /// Transactions or datagrams per second over all flows, on schedule whatever the answers do;
    /// latency counts from the intended time.
    #[arg(long, value_name = "N")]
    pub rate: Option<f64>,
    /// Repeat until the interval of LEVEL per cent (90, 95, 99) is at most WIDTH per cent of the
    /// mean wide, or --repeats is reached.
    #[arg(long, value_name = "LEVEL,WIDTH", value_parser = confidence)]
    pub confidence: Option<(u32, f64)>,
    /// Repeats of every test; with --confidence the most of them (3 to 30, default 10).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
    /// Raise the number of flows until the rate stops growing, to the largest of --parallel or
    /// 512; shows the curve.
    #[arg(long, conflicts_with_all = ["confidence", "rate"])]
    pub saturate: bool,
    /// Use IPv6.
    #[arg(long)]
    pub ipv6: bool,
    /// Worker threads of an end at most; default one per CPU.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// CPUs of the client's workers in turn; one worker each unless --threads says otherwise.
    #[arg(long, value_name = "CPUS", value_delimiter = ',')]
    pub pin: Vec<u32>,
    /// CPUs of the server's workers, where both ends run here.
    #[arg(
        long,
        value_name = "CPUS",
        value_delimiter = ',',
        conflicts_with = "to"
    )]
    pub server_pin: Vec<u32>,
    /// Try MSG_ZEROCOPY where this end sends a TCP stream.
    #[arg(long)]
    pub zerocopy: bool,
    /// One datagram per system call, instead of UDP_SEGMENT and UDP_GRO.
    #[arg(long)]
    pub no_offload: bool,
    /// Print the results as one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
    /// Write the JSON object to this file too.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// `nicety sock serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Address to listen on; others than this host can only reach an address of an interface.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub listen: IpAddr,
    /// Port of the control connection; data ports are chosen by the kernel.
    #[arg(long, default_value_t = PORT)]
    pub port: u16,
    /// What clients must know, 8 to 128 characters; made up and printed when absent. Other users see
    /// it among the arguments: NICETY_TOKEN and --token-file hide it.
    #[arg(long, value_parser = Token::new)]
    pub token: Option<Token>,
    /// File with the token, which only its owner can read (mode 0600).
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    pub token_file: Option<PathBuf>,
    /// Worker threads of a test at most; default one per CPU.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// CPUs of the workers in turn; one worker each unless --threads says otherwise.
    #[arg(long, value_name = "CPUS", value_delimiter = ',')]
    pub pin: Vec<u32>,
}

fn confidence(text: &str) -> Result<(u32, f64), String> {
    let parsed = text
        .split_once(',')
        .and_then(|(level, width)| Some((level.trim().parse().ok()?, width.trim().parse().ok()?)));
    parsed.ok_or_else(|| format!("{text:?} is no level and width; write as in 95,2"))
}
