//! Socket workloads beside other programs: streams beside iperf3, request/response beside
//! sockperf's ping-pong, over the same veth pair, in turn, in the same run.
//!
//! `cargo bench -p nicety-benchmarks --bench sockets` prints a table and writes `bench/sockets.json` under the
//! target directory. Every program runs as a client process and a server process. Latency is
//! that of the full round trip. CPU time is that of the whole machine, read the same way for
//! all. `NICETY_BENCH_ROUNDS` and `NICETY_BENCH_WINDOW_MS` make it shorter.

// A benchmark is an edge: it prints, reads its environment and writes a file.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod peer;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nicety_account::workload::{Ends, result};
use nicety_benchmarks::figures::Figures;
use nicety_benchmarks::load::Begin;
use nicety_benchmarks::program::{Held, version};
use nicety_benchmarks::start::{is_asked_for, own_namespaces, setting};
use nicety_model::sock::{Ending, Family, SockSpec, SockTest};
use nicety_netdev::cpu_set;
use nicety_paths::{Between, Endpoints};
use nicety_socket::{Connection, Server, ServerConfig, Token};
use serde_json::{Map, Value, json};

/// Set for the copy of this program that is nicety's server: the address to listen on.
const SERVE: &str = "NICETY_BENCH_SOCK_SERVE";
const TOKEN: &str = "benchmark-token";
/// Request and response, in bytes: as small as sockperf's header allows, rounded up.
pub const MESSAGE: u32 = 64;
/// Datagrams of a stream.
pub const DATAGRAM: u32 = 1472;

/// What one run of one program gave.
#[derive(Debug, Default, Clone, Copy)]
pub struct Got {
    pub per_s: Option<f64>,
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    pub mbps: Option<f64>,
    /// Seconds the figures stand for.
    pub seconds: f64,
}

/// Which CPUs client and server may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pinning {
    /// The scheduler decides.
    Free,
    /// Both on one CPU: what the programs and the kernel's path cost, without waking another CPU.
    One,
}

impl Pinning {
    fn word(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::One => "one CPU",
        }
    }

    /// Pins the calling thread and all it starts.
    pub fn apply(self) -> Result<()> {
        if self == Self::One {
            let last = std::thread::available_parallelism()?.get() - 1;
            cpu_set::pin(None, &[u32::try_from(last)?])?;
        }
        Ok(())
    }
}

/// What is measured, and on which CPUs.
const TESTS: [(SockTest, Pinning); 6] = [
    (SockTest::TcpStream, Pinning::Free),
    (SockTest::UdpStream, Pinning::Free),
    (SockTest::TcpRr, Pinning::Free),
    (SockTest::UdpRr, Pinning::Free),
    (SockTest::TcpRr, Pinning::One),
    (SockTest::UdpRr, Pinning::One),
];

/// How figures of a test are named.
fn title((test, pinning): (SockTest, Pinning), who: &str) -> String {
    match pinning {
        Pinning::Free => format!("{test}/{who}"),
        Pinning::One => format!("{test} {}/{who}", pinning.word()),
    }
}

fn main() -> Result<()> {
    if let Some(at) = std::env::var_os(SERVE) {
        return serve(&at.to_string_lossy());
    }
    if !is_asked_for("sockets") {
        return Ok(());
    }
    own_namespaces()?;
    let rounds = setting("NICETY_BENCH_ROUNDS", 5_usize)?;
    let window = Duration::from_millis(setting("NICETY_BENCH_WINDOW_MS", 1000)?);
    let ends = Endpoints::build(Between::Veth)?;
    let mut figures = Figures::default();
    let mut versions = Map::new();
    for peer in peer::ALL {
        match version(peer, &["--version"]) {
            Ok(version) => drop(versions.insert(peer.to_owned(), json!(version))),
            Err(why) => figures.skip(peer, format!("{why:#}; Debian has it in package {peer}")),
        }
    }
    for number in 0..rounds {
        figures.next_round();
        round(number, &ends, window, &mut figures, &versions)?;
        eprintln!("round {} of {rounds} done", number + 1);
    }
    ratios(&mut figures);
    figures.finish("sockets", &versions)
}

/// Every test with nicety and its peer, by turns.
fn round(
    number: usize,
    ends: &Endpoints,
    window: Duration,
    figures: &mut Figures,
    versions: &Map<String, Value>,
) -> Result<()> {
    for (test, pinning) in TESTS {
        let peer = peer::of(test);
        let mut order = vec!["nicety", peer];
        if number % 2 == 1 {
            order.reverse();
        }
        order.retain(|who| *who == "nicety" || versions.contains_key(*who));
        for who in order {
            let name = title((test, pinning), who);
            let (begin, wall) = (Begin::now()?, Instant::now());
            let got = match who {
                "nicety" => nicety(ends, test, pinning, window),
                _ => peer::run(ends, test, pinning, window),
            };
            let busy_s = begin.load()?.busy * wall.elapsed().as_secs_f64();
            match got {
                Ok(got) => put(figures, &name, got, busy_s),
                Err(error) => figures.skip(name, format!("{error:#}")),
            }
        }
    }
    Ok(())
}

fn put(figures: &mut Figures, name: &str, got: Got, busy_s: f64) {
    let bytes = got.mbps.map(|mbps| mbps * 1e6 / 8.0 * got.seconds);
    for (what, value) in [
        ("per_s", got.per_s),
        ("p50_us", got.p50_us),
        ("p99_us", got.p99_us),
        ("mbps", got.mbps),
    ] {
        if let Some(value) = value {
            figures.put(format!("{name} {what}"), value);
        }
    }
    // Only of streams: sockperf's figures stand for a part of its run.
    if let Some(bytes) = bytes.filter(|bytes| *bytes > 0.0) {
        figures.put(format!("{name} CPU us/KB"), busy_s * 1e6 / (bytes / 1024.0));
    }
}

fn ratios(figures: &mut Figures) {
    for test in TESTS {
        let whats: &[&str] = if test.0.has_transactions() {
            &["per_s", "p50_us", "p99_us"]
        } else {
            &["mbps", "CPU us/KB"]
        };
        for what in whats {
            let name = |who: &str| format!("{} {what}", title(test, who));
            figures.ratio(None, &name("nicety"), &name(peer::of(test.0)));
        }
    }
}

/// The server's process.
fn serve(at: &str) -> Result<()> {
    let listen: SocketAddr = at.parse()?;
    let server = Server::bind(ServerConfig {
        listen,
        token: Token::new(TOKEN)?,
        threads: 1,
    })?;
    println!("{}", server.address()?);
    // Killed by its parent.
    server.run(&AtomicBool::new(false), &|_| ());
    Ok(())
}

fn nicety(ends: &Endpoints, test: SockTest, pinning: Pinning, window: Duration) -> Result<Got> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .env(SERVE, SocketAddr::new(ends.b.ipv4, 0).to_string())
        .stdout(Stdio::piped());
    let child = ends.b.ns.run(|| -> Result<Child> {
        pinning.apply()?;
        Ok(command.spawn()?)
    })??;
    let mut server = Held::killed(child);
    let out = server
        .child
        .stdout
        .take()
        .context("no output of the server")?;
    let mut address = String::new();
    BufReader::new(out).read_line(&mut address)?;
    let mut ask = SockSpec::new(test, window);
    if test.has_transactions() {
        ask.message_bytes = MESSAGE;
    }
    let found = ends.a.ns.run(|| -> Result<_> {
        pinning.apply()?;
        let mut connection = Connection::open(address.trim(), &Token::new(TOKEN)?, None)?;
        let ran = connection.run(&ask, 1, &AtomicBool::new(false), &mut |_| ())?;
        if ran.ending != Ending::Complete {
            bail!("{}: {:?}", ran.ending.word(), ran.client.faults);
        }
        let ends = Ends {
            path: "veth".to_owned(),
            family: Family::Ipv4,
            shared_host: true,
            ending: ran.ending,
            client: ran.client,
            server: ran.server,
        };
        Ok(result(&ask, 1, ends))
    })??;
    Ok(Got {
        per_s: found.transactions_per_s,
        p50_us: found.latency_us.map(|latency| latency.p50),
        p99_us: found.latency_us.map(|latency| latency.p99),
        mbps: found.goodput_mbps,
        seconds: found.elapsed_s,
    })
}
