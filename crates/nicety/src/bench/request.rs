//! From the command line to a checked plan and a place for its results.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use nicety_host::clock;
use nicety_model::EngineChoice;
use nicety_model::plan::Plan;
use nicety_model::shell;
use nicety_port::probes::Stamps;
use nicety_runner::{NewDir, Place};
use nicety_store::file;

use crate::cli::bench::BenchArgs;
use crate::exit::Failure;
use crate::{output, web, what};

/// Where runs go when `--out` does not say.
const RUNS: &str = "runs";

/// Wall time of the run without arguments. It is said to end in a few minutes: on a machine that is not
/// quiet something is left out.
const DEFAULT_RUN: Duration = Duration::from_secs(235);

/// What was asked for.
#[derive(Debug)]
pub struct Request {
    /// The run.
    pub run: nicety_runner::Request,
    /// Where browsers may ask how far the run is. Bound before a namespace is entered, where
    /// nobody could reach it.
    pub web: Option<TcpListener>,
}

/// Reads the plan and checks everything that can be checked without touching the host.
pub fn read(args: &BenchArgs) -> Result<Request, Failure> {
    let (plan, place, usual) = match &args.resume {
        Some(dir) => (recorded(dir)?, Place::Resume(dir.clone()), None),
        None => {
            let plan = asked(args)?;
            let dir = match &args.out {
                Some(dir) => NewDir::named(dir),
                None => NewDir::fresh(Path::new(RUNS), &plan).map_err(Failure::environment)?,
            };
            let drawn = || clock::unix_time().as_nanos() as u64 >> 8;
            let seed = args.seed.unwrap_or_else(drawn);
            let command = command(&dir.join(file::PLAN), seed, args.engine, args.stamps);
            let usual = (plan == Plan::default_bridge()).then_some(DEFAULT_RUN);
            (plan, Place::New { dir, seed, command }, usual)
        }
    };
    let run = nicety_runner::Request {
        plan,
        naming: args.naming.naming(),
        place,
        time_box: args.time_box.or(usual),
        engine: args.engine,
        stamps: args.stamps,
    };
    Ok(Request {
        run,
        web: args.listen.map(listen).transpose()?,
    })
}

/// Listens for browsers, and says where.
fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    let listener = web::bind(address, "--listen")?;
    let at = listener.local_addr().map_err(Failure::environment)?;
    output::say(&format!("http://{at}/ shows how far the run is"));
    Ok(listener)
}

/// The plan the flags ask for.
fn asked(args: &BenchArgs) -> Result<Plan, Failure> {
    let mut plan = what::plan(&args.what)?;
    if let Some(preset) = args.preset {
        plan = plan.with_preset(preset);
    }
    if let Some(fate) = args.fate {
        plan = plan.with_fate(fate);
    }
    Ok(plan)
}

/// The plan of a run directory.
fn recorded(dir: &Path) -> Result<Plan, Failure> {
    let contents = nicety_store::RunContents::read(dir).map_err(Failure::usage)?;
    let name = dir.join(file::PLAN);
    Plan::parse(&name.display().to_string(), &contents.plan_toml).map_err(Failure::usage)
}

/// The command line that repeats a run.
pub fn command(plan_file: &Path, seed: u64, engine: EngineChoice, stamps: Stamps) -> String {
    let seed = seed.to_string();
    let (engine, stamps) = (engine.to_string(), stamps.to_string());
    let usual = [EngineChoice::Auto.to_string(), Stamps::Auto.to_string()];
    let file = plan_file.display().to_string();
    let mut words = vec!["nicety", "bench", &file, "--seed", &seed];
    for ((option, value), usual) in [("--engine", &engine), ("--stamps", &stamps)]
        .into_iter()
        .zip(&usual)
    {
        if value != usual {
            words.extend([option, value]);
        }
    }
    shell::command(words)
}
