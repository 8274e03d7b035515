//! From the command line to a checked plan and a place for its results.

use std::net::{SocketAddr, TcpListener};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::anyhow;
use nicety_model::plan::{Plan, PortsError};
use nicety_port::auto::Choice;
use nicety_port::probes::Stamps;
use nicety_search::{DEFAULT_LOSS_RATIO, default_loss_ratio};

use crate::cli::BenchArgs;
use crate::exit::Failure;
use crate::{output, web};

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
    /// What sends and counts.
    pub engine: Choice,
    /// Whose time stamps latency is taken with.
    pub stamps: Stamps,
    /// Where QEMU and a kernel are kept; the user's own cache when absent.
    pub cache: Option<PathBuf>,
    /// Debian mirror they are fetched from.
    pub mirror: String,
    /// One JSON object instead of the table.
    pub json: bool,
    /// Where browsers may ask how far the run is. Bound before a namespace is entered, where
    /// nobody could reach it.
    pub web: Option<TcpListener>,
}

/// A new run directory, or one to go on with.
#[derive(Debug)]
pub enum Place {
    /// To be made.
    New(NewDir),
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
                Some(dir) => NewDir::named(dir),
                None => NewDir::fresh(&plan)?,
            };
            (plan, Place::New(place))
        }
    };
    Ok(Request {
        plan,
        place,
        seed: args.seed,
        time_box: args.time_box,
        engine: args.engine,
        stamps: args.stamps,
        cache: args.cache.clone(),
        mirror: args.mirror.clone(),
        json: args.json,
        web: args.web.map(listen).transpose()?,
    })
}

/// Listens for browsers, and says where.
fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    let listener = web::bind(address, "--web")?;
    let at = listener.local_addr().map_err(Failure::environment)?;
    output::say(&format!("http://{at}/ shows how far the run is"));
    Ok(listener)
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
            .map_err(|error| Failure::usage(anyhow!("--ports {ports}: {}", with_fix(&error))))?;
    }
    if let Some(preset) = args.preset {
        plan = plan.with_preset(preset);
    }
    Ok(plan)
}

/// What is wrong with `--ports`, and what to do.
fn with_fix(error: &PortsError) -> String {
    match error {
        PortsError::NotTwo(_) => {
            "not two interfaces; write both with a comma between them, as in eth1,eth2".to_owned()
        }
        PortsError::Same(_) => "a path needs two different interfaces; name another one".to_owned(),
        other => format!("{other}; write names that `ip link` shows"),
    }
}

fn parse(file: &Path) -> Result<Plan, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::usage(anyhow!(
            "cannot read the plan {}: {error}; name a TOML file, or leave it out for the default",
            file.display()
        ))
    })?;
    Plan::parse(&file.display().to_string(), &text).map_err(Failure::usage)
}

/// The plan of a run directory.
fn recorded(dir: &Path) -> Result<Plan, Failure> {
    let contents = nicety_store::RunContents::read(dir).map_err(Failure::usage)?;
    let name = dir.join("plan.toml");
    Plan::parse(&name.display().to_string(), &contents.plan_toml).map_err(Failure::usage)
}

/// Where a new run goes. What was made for it is taken away again when the run did not begin.
#[derive(Debug)]
pub struct NewDir {
    path: PathBuf,
    /// Directories made here, innermost first.
    made: Vec<PathBuf>,
}

impl NewDir {
    /// The directory of `--out`, not made yet.
    fn named(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            made: Vec::new(),
        }
    }

    /// Makes a directory with a name nobody uses yet.
    fn fresh(plan: &Plan) -> Result<Self, Failure> {
        let runs = Path::new(RUNS);
        let new_root = !runs.exists();
        let name = nicety_store::run_dir_name(SystemTime::now(), &plan.name);
        let path = nicety_store::new_dir(runs, &name).map_err(Failure::environment)?;
        let mut made = vec![path.clone()];
        if new_root {
            made.push(runs.to_owned());
        }
        Ok(Self { path, made })
    }
}

impl Deref for NewDir {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl Drop for NewDir {
    fn drop(&mut self) {
        for dir in &self.made {
            // Refused where something is in it: the run began, or somebody else's did.
            let _ = std::fs::remove_dir(dir);
        }
    }
}

/// Loss goal of a plan.
pub fn loss_goal(plan: &Plan) -> f64 {
    plan.search.loss_ratio.unwrap_or_else(|| {
        plan.search
            .preset
            .map_or(DEFAULT_LOSS_RATIO, default_loss_ratio)
    })
}

/// The command line that repeats a run.
pub fn command(plan_file: &Path, seed: u64, engine: Choice, stamps: Stamps) -> String {
    let file = plan_file.display().to_string();
    // For a shell: a quote inside single quotes ends them, stands escaped, and begins them anew.
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,".contains(c);
    let file = match file.chars().all(plain) {
        true => file,
        false => format!("'{}'", file.replace('\'', "'\\''")),
    };
    let engine = match engine {
        Choice::Auto => String::new(),
        asked => format!(" --engine {asked}"),
    };
    let stamps = match stamps {
        Stamps::Auto => String::new(),
        asked => format!(" --stamps {asked}"),
    };
    format!("nicety bench {file} --seed {seed}{engine}{stamps}")
}
