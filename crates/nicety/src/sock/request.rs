//! From the command line to checked tests, to results on the screen.

use std::path::PathBuf;

use anyhow::{Context, anyhow};
use nicety_account::workload::Steps;
use nicety_model::SCHEMA;
use nicety_model::plan::HowOften;
use nicety_model::sock::{Ending, Family, SockReport, SockSpec, SockTest};
use nicety_runner::sock;
use nicety_runner::sock::local::{self, Way};
use nicety_runner::sock::series;
use nicety_runner::sock::workers::threads_on;
use nicety_socket::{Token, check_cpus};

use crate::cli::output::FormatArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::signals::Signals;

use super::args::TestArgs;
use super::progress::Progress;
use super::token;

/// Most repeats of `--confidence` when `--repeats` does not say.
const REPEATS: u32 = 10;
/// Most pairs of `--saturate` when `--parallel` does not say.
const PAIRS: u32 = 512;

/// Where the server is.
#[derive(Debug)]
enum Place {
    /// Here, behind a path made for it.
    Local(Way),
    /// Somewhere else.
    Remote(String, Token),
}

/// Checked wishes.
#[derive(Debug)]
pub struct Request {
    tests: sock::Request,
    server: Place,
    format: FormatArgs,
    out: Option<PathBuf>,
}

/// Checks everything that can be checked before anything is made.
pub fn read(tests: &[SockTest], args: &TestArgs) -> Result<Request, Failure> {
    let most = args.parallel.iter().copied().max().unwrap_or(1);
    let pairs = if args.saturate {
        vec![if most > 1 { most } else { PAIRS }]
    } else {
        args.parallel.clone()
    };
    let mut asks = Vec::new();
    for test in tests {
        asks.extend(each(*test, &pairs, args)?);
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
    let server = match &args.to {
        Some(to) => {
            let token = token::given(args.token_file.as_deref())?;
            let token = token.ok_or_else(|| Failure::usage(anyhow!(token::MISSING)))?;
            Place::Remote(to.clone(), token)
        }
        None => Place::Local(args.path.clone()),
    };
    let family = match (&server, args.ipv6) {
        (_, true) => Some(Family::Ipv6),
        (Place::Local(_), false) => Some(Family::Ipv4),
        (Place::Remote(..), false) => None,
    };
    let tests = sock::Request {
        asks,
        how_often,
        steps,
        family,
        threads: threads_on(args.threads, &args.pin),
        server_threads: threads_on(args.threads, &args.server_pin),
        cpus: args.pin.clone(),
        server_cpus: args.server_pin.clone(),
    };
    Ok(Request {
        tests,
        server,
        format: args.format,
        out: args.out.clone(),
    })
}

/// A test with each message size and number of flows.
fn each(test: SockTest, pairs: &[u32], args: &TestArgs) -> Result<Vec<SockSpec>, Failure> {
    fits(test, args).map_err(|what| Failure::usage(anyhow!(what)))?;
    let sizes = match args.message_bytes.as_slice() {
        [] => vec![test.default_message_bytes()],
        sizes => sizes.to_vec(),
    };
    let mut asks = Vec::new();
    for message_bytes in sizes {
        for parallel in pairs {
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
    Ok(asks)
}

/// Whether the options mean something to the test.
fn fits(test: SockTest, args: &TestArgs) -> Result<(), String> {
    let tcp_stream = matches!(test, SockTest::TcpStream | SockTest::TcpMaerts);
    let (option, tests) = match test {
        _ if args.zerocopy && !tcp_stream => ("--zerocopy", "tcp_stream or tcp_maerts"),
        SockTest::UdpStream => return Ok(()),
        _ if args.no_offload => ("--no-offload", "udp_stream"),
        _ => return Ok(()),
    };
    Err(format!(
        "{option} does nothing for {test}; leave it out or run {tests} alone"
    ))
}

/// Runs the tests and prints what came out.
pub fn run(request: &Request, signals: &Signals) -> Result<Exit, Failure> {
    // Before the tests: whoever cannot write has measured for nothing.
    let file = request.out.as_ref().map(|path| {
        std::fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))
    });
    let file = file.transpose().map_err(Failure::usage)?;
    let (tests, stop) = (&request.tests, signals.stop());
    let progress = Progress::start(tests);
    let show = |event: sock::Event<'_>| progress.on(event);
    let done = match &request.server {
        Place::Local(way) => local::run(tests, way, &stop, &show).map_err(Failure::from),
        Place::Remote(to, token) => Ok(series::run(tests, to, (to, token), &stop, &show)),
    };
    progress.finish();
    let done = done?;
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
        return Err(error.into());
    }
    let results = report.series.iter().flat_map(|series| &series.results);
    let endings: Vec<Ending> = results.map(|result| result.ending).collect();
    if endings.contains(&Ending::PeerLost) {
        return Err(Failure::environment(anyhow!(
            "the server went away during the test; the figures are those of the time until then"
        )));
    }
    Ok(if endings.contains(&Ending::Faulty) {
        Exit::Negative
    } else {
        Exit::Done
    })
}

fn print(
    request: &Request,
    report: &SockReport,
    file: Option<std::fs::File>,
) -> Result<(), Failure> {
    use nicety_report::{json, tables_csv};
    if report.series.is_empty() {
        return Ok(());
    }
    output::report(
        &request.format,
        report,
        |out| json::pretty("sock", report, out),
        |out| tables_csv(report, out, true),
    )?;
    if let Some(mut file) = file {
        json::pretty("sock", report, &mut file).map_err(Failure::environment)?;
    }
    Ok(())
}
