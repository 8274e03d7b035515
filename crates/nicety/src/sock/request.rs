//! From the command line to checked tests, to results on the screen.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use nicety_model::SCHEMA;
use nicety_model::plan::HowOften;
use nicety_model::sock::{Ending, Family, SockReport, SockSpec, SockTest};
use nicety_socket::{Token, check_cpus};
use nicety_workload::Steps;

use crate::bench::signals::Signals;
use crate::exit::{Exit, Failure};
use crate::output;

use super::args::{PathKind, TestArgs, threads_on};
use super::{failure, local, series};

/// Most repeats of `--confidence` when `--repeats` does not say.
const REPEATS: u32 = 10;
/// Most pairs of `--saturate` when `--parallel` does not say.
const PAIRS: u32 = 512;

/// Where the server is.
#[derive(Debug)]
pub enum Server {
    /// Here, behind a path made for it.
    Local(PathKind),
    /// Somewhere else.
    Remote(String, Token),
}

/// Checked wishes.
#[derive(Debug)]
pub struct Request {
    /// Server.
    pub server: Server,
    /// One test after another.
    pub asks: Vec<SockSpec>,
    /// How often each of them.
    pub how_often: HowOften,
    /// The same as a machine that nothing was told yet.
    pub steps: Steps,
    /// IP version; absent when the server's name decides.
    pub family: Option<Family>,
    /// Worker threads of the client.
    pub threads: usize,
    /// Worker threads of a server here.
    pub server_threads: usize,
    /// CPUs of the client's workers.
    pub cpus: Vec<u32>,
    /// CPUs of the workers of a server here.
    pub server_cpus: Vec<u32>,
    json: bool,
    out: Option<PathBuf>,
}

/// Checks everything that can be checked before anything is made.
pub fn read(test: SockTest, args: &TestArgs) -> Result<Request, Failure> {
    let sizes = match args.message_bytes.as_slice() {
        [] => vec![test.default_message_bytes()],
        sizes => sizes.to_vec(),
    };
    let most = args.parallel.iter().copied().max().unwrap_or(1);
    let pairs = match args.saturate {
        true => vec![if most > 1 { most } else { PAIRS }],
        false => args.parallel.clone(),
    };
    let mut asks = Vec::new();
    for message_bytes in sizes {
        for parallel in &pairs {
            let ask = SockSpec {
                message_bytes,
                parallel: *parallel,
                rate_per_s: args.rate,
                zero_copy: args.zerocopy,
                offload: !args.no_offload,
                ..SockSpec::new(test, args.time)
            };
            ask.check().map_err(Failure::usage)?;
            asks.push(ask);
        }
    }
    for cpus in [&args.pin, &args.server_pin] {
        check_cpus(cpus).map_err(Failure::usage)?;
    }
    let how_often = match (args.confidence, args.saturate) {
        (Some((level_percent, width_percent)), _) => HowOften::Until {
            level_percent,
            width_percent,
            most: args.repeats.unwrap_or(REPEATS),
        },
        (None, true) => HowOften::Saturate(pairs[0]),
        (None, false) => HowOften::Times(args.repeats.unwrap_or(1)),
    };
    let steps = Steps::new(how_often);
    let steps = steps.map_err(|e| Failure::usage(anyhow!("--confidence: {e}")))?;
    let server = match (&args.to, &args.token) {
        (Some(to), Some(token)) => Server::Remote(to.clone(), token.clone()),
        _ => Server::Local(args.path),
    };
    let family = match (&server, args.ipv6) {
        (_, true) => Some(Family::Ipv6),
        (Server::Local(_), false) => Some(Family::Ipv4),
        (Server::Remote(..), false) => None,
    };
    Ok(Request {
        server,
        asks,
        how_often,
        steps,
        family,
        threads: threads_on(args.threads, &args.pin),
        server_threads: threads_on(args.threads, &args.server_pin),
        cpus: args.pin.clone(),
        server_cpus: args.server_pin.clone(),
        json: args.json,
        out: args.out.clone(),
    })
}

/// Runs the tests and prints what came out.
pub fn run(request: &Request, signals: &Signals) -> Result<Exit, Failure> {
    // Before the tests: whoever cannot write has measured for nothing.
    let file = request.out.as_ref().map(|path| {
        std::fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))
    });
    let file = file.transpose().map_err(Failure::usage)?;
    let done = match &request.server {
        Server::Local(path) => local::run(request, *path, signals)?,
        Server::Remote(to, token) => series::run(request, to, to, token, signals),
    };
    let report = SockReport {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        series: done.series,
        notes: done.notes,
    };
    print(request, &report, file)?;
    if signals.stopped() {
        return Ok(Exit::Interrupted);
    }
    if let Some(error) = done.error {
        return Err(failure(error));
    }
    let results = report.series.iter().flat_map(|series| &series.results);
    let endings: Vec<Ending> = results.map(|result| result.ending).collect();
    if endings.contains(&Ending::PeerLost) {
        return Err(Failure::environment(anyhow!(
            "the server went away during the test; the figures are those of the time until then"
        )));
    }
    Ok(match endings.contains(&Ending::Faulty) {
        true => Exit::Negative,
        false => Exit::Done,
    })
}

fn print(
    request: &Request,
    report: &SockReport,
    file: Option<std::fs::File>,
) -> Result<(), Failure> {
    use nicety_report::{json, table};
    if report.series.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    let written = match request.json {
        true => json::pretty("sock", report, &mut out),
        false => table(report, &mut out, output::table_options()),
    };
    written.map_err(Failure::environment)?;
    // Nobody reads a closed standard output.
    let _ = out.flush();
    if let Some(mut file) = file {
        json::pretty("sock", report, &mut file).map_err(Failure::environment)?;
    }
    Ok(())
}
