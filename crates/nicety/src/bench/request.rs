//! From the command line to a checked plan and a place for its results.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow};
use nicety_model::plan::{Plan, Preset};
use nicety_search::default_loss_ratio;

use crate::cli::BenchArgs;
use crate::exit::Failure;

/// Where runs go when `--out` does not say.
const RUNS: &str = "runs";

/// A run that is asked for.
#[derive(Debug)]
pub struct Request {
    /// What to measure.
    pub plan: Plan,
    /// Where the results go.
    pub place: Place,
    /// Seed of the cell order; drawn when absent.
    pub seed: Option<u64>,
    /// Wall time for the whole run.
    pub time_box: Option<Duration>,
    /// One JSON object instead of the table.
    pub json: bool,
}

/// A new run directory, or one to go on with.
#[derive(Debug)]
pub enum Place {
    /// To be made.
    New(PathBuf),
    /// Holds an interrupted run.
    Resume(PathBuf),
}

/// Reads the plan and checks everything that can be checked without touching the host.
pub fn read(args: &BenchArgs) -> Result<Request, Failure> {
    let (plan, place) = match &args.resume {
        Some(dir) => (recorded(dir)?, Place::Resume(dir.clone())),
        None => {
            let plan = asked(args)?;
            let place = match &args.out {
                Some(dir) => dir.clone(),
                None => fresh(&plan)?,
            };
            (plan, Place::New(place))
        }
    };
    Ok(Request {
        plan,
        place,
        seed: args.seed,
        time_box: args.time_box,
        json: args.json,
    })
}

/// The plan the flags ask for.
fn asked(args: &BenchArgs) -> Result<Plan, Failure> {
    let mut plan = match &args.plan {
        None => Plan::default_bridge(),
        Some(file) => parse(file)?,
    };
    if let Some(ports) = &args.ports {
        plan = plan
            .with_ports(ports)
            .map_err(|error| Failure::usage(anyhow!("--ports {ports}: {error}")))?;
    }
    if let Some(preset) = args.preset {
        plan = plan.with_preset(preset);
    }
    Ok(plan)
}

fn parse(file: &Path) -> Result<Plan, Failure> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the plan {}", file.display()))
        .map_err(Failure::usage)?;
    Plan::parse(&file.display().to_string(), &text).map_err(Failure::usage)
}

/// The plan of a run directory.
fn recorded(dir: &Path) -> Result<Plan, Failure> {
    let contents = nicety_store::RunContents::read(dir).map_err(Failure::usage)?;
    let name = dir.join("plan.toml");
    Plan::parse(&name.display().to_string(), &contents.plan_toml).map_err(Failure::usage)
}

/// A directory name nobody uses yet.
fn fresh(plan: &Plan) -> Result<PathBuf, Failure> {
    let name = nicety_store::run_dir_name(SystemTime::now(), &plan.name);
    nicety_store::new_dir(Path::new(RUNS), &name).map_err(Failure::environment)
}

/// Loss goal of a plan.
pub fn loss_goal(plan: &Plan) -> f64 {
    plan.search
        .loss_ratio
        .unwrap_or_else(|| default_loss_ratio(plan.search.preset))
}

/// The command line that repeats a run.
pub fn command(plan_file: &Path, preset: Preset, seed: u64) -> String {
    let _ = preset;
    format!("nicety bench {} --seed {seed}", plan_file.display())
}
