//! What following frames costs inside a guest: time of its virtual CPU and time on the way for each frame, at a rate that
//! it carries with ease.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use nicety_fate::inside::Agent;
use nicety_fate::{Fates, Hops};
use nicety_guests::{Accelerator, Bundle, BundleSpec, Purpose as For, init};
use nicety_model::path::{VmAccel, VmConfig};
use nicety_model::{Direction, FateOf, Fps, PathSpec, Purpose};
use nicety_netdev::link::Mac;
use nicety_paths::{Pausable, VmPath, VmSpec};
use nicety_port::Stop;
use nicety_testkit::runner::Skip;
use nicety_trial::{TrialSpec, Trials};

use crate::stage::{self, Tester};
use crate::tester_ports;
use nicety_benchmarks::figures::Figures;

/// Frames per second, also under emulation, and of a trial.
const LOAD: Fps = Fps(2_000.0);
const FRAMES: u64 = 4_000;
/// A boot under emulation.
const BOOT: Duration = Duration::from_secs(120);
/// What a trial carries, and how figures are named.
const WITH: [(&str, bool, bool); 3] = [
    ("plain", false, false),
    ("followed", true, false),
    ("hops", true, true),
];

/// Plays the guest's first process, which is this program.
#[allow(clippy::print_stderr, reason = "the guest's console")]
pub fn play() -> ExitCode {
    let agent = RefCell::new(Agent::default());
    let work = |question| {
        let answer = agent.borrow_mut().answer(&question);
        answer.unwrap_or(question)
    };
    let Err(error) = init::run(&|_, _| Err("no server here".to_owned()), &work);
    eprintln!("nicety: the guest's first process: {error}");
    init::power_off();
    ExitCode::FAILURE
}

/// A path through a guest, and how it runs.
pub fn boot() -> Result<(VmPath, Accelerator), Skip> {
    let skip = |error: &dyn std::fmt::Display| Skip(error.to_string());
    let cache = std::env::var_os("NICETY_TEST_LAB_CACHE").map_or_else(
        || Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab"),
        PathBuf::from,
    );
    let spec = BundleSpec {
        cache,
        purpose: For::Guests,
    };
    let bundle = Bundle::get(&spec, &mut |_| ()).map_err(|error| skip(&error))?;
    let accelerator = Accelerator::choose(VmAccel::Auto, &bundle, &mut |_| {
        std::ops::ControlFlow::Continue(())
    });
    let accelerator = accelerator.map_err(|error| skip(&error))?;
    let path = VmPath::build(&machine(), &bundle, &accelerator, &|| false);
    let path = path.map_err(|error| skip(&error))?;
    stand_still(&path, true)?;
    Ok((path, accelerator))
}

fn machine() -> VmSpec {
    let words = [("kind", "vm"), ("nic", "virtio-net")];
    let words = words.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let ask: VmConfig = PathSpec::try_from(&words.into_iter().collect())
        .unwrap()
        .vm()
        .unwrap()
        .config();
    let stations = [0x0a, 0x0b].map(|port| Mac([0x02, 0x4e, 0, 0, 0, port]));
    VmSpec {
        ask,
        largest_frame: stage::size(1518),
        path_cpus: stage::path_cpus(),
        switch_cpus: Vec::new(),
        stations: vec![stations],
        neighbours: 0,
        tester_cpus: Vec::new(),
        boot_limit: BOOT,
    }
}

/// A guest takes CPU time though nothing is sent.
fn stand_still(path: &VmPath, still: bool) -> Result<(), Skip> {
    let done = if still { path.pause() } else { path.resume() };
    let done = done.then_some(());
    done.ok_or_else(|| Skip("the guest cannot be stopped and go on".to_owned()))
}

/// One round of all, in turning order. The guest goes on for it.
pub fn measure(path: &VmPath, round: u32, figures: &mut Figures) -> Result<(), Skip> {
    stand_still(path, false)?;
    let measured = all(path, round, figures);
    stand_still(path, true)?;
    measured
}

fn all(path: &VmPath, round: u32, figures: &mut Figures) -> Result<(), Skip> {
    // The order of one round is that of the one before, begun one later.
    for turn in 0..WITH.len() {
        let (word, follows, hops) = WITH[(turn + round as usize) % WITH.len()];
        run(path, word, [follows, hops], figures)?;
    }
    let median = |what: &str, with: &str| figures.latest(&name(what, with));
    let mut costs = Vec::new();
    for (word, ..) in &WITH[1..] {
        for what in [CPU, WAY] {
            if let (Some(with), Some(without)) = (median(what, word), median(what, "plain")) {
                costs.push((name(what, &format!("{word} adds")), with - without));
            }
        }
    }
    for (name, cost) in costs {
        figures.put(name, cost);
    }
    Ok(())
}

const CPU: &str = "µs of the virtual CPU per frame";
const WAY: &str = "median way of a frame, µs";

fn name(what: &str, with: &str) -> String {
    format!("guest: {what}, {with}")
}

fn run(
    path: &VmPath,
    word: &str,
    [follows, hops]: [bool; 2],
    figures: &mut Figures,
) -> Result<(), Skip> {
    let traffic = stage::traffic(Direction::Uni);
    let mut engine = Tester::AfPacket.open(path, traffic)?;
    let ports = tester_ports(path, engine.as_ref());
    let skip = |why: nicety_fate::Refusal| Skip(why.to_string());
    let fates = follows.then(|| Fates::new(traffic.frame_size, 1, ports.clone()));
    let mut fates = fates.transpose().map_err(skip)?;
    let hops = hops.then(|| Hops::new(1, ports)).transpose();
    let mut hops = hops.map_err(skip)?;
    let mut trials = Trials::new(engine.as_mut(), path, 0)
        .noting(fates.as_mut())
        .hopping(hops.as_mut());
    stage::first(&mut trials);
    let spec = TrialSpec {
        purpose: Purpose::Fate {
            of: FateOf::Latency,
        },
        ..stage::spec(LOAD, FRAMES)
    };
    let record = trials
        .run(&spec, &Stop::default())
        .map_err(|error| Skip(error.to_string()))?;
    if let Some(note) = record.notes.first() {
        return Err(Skip(note.to_string()));
    }
    let busy = record
        .cpu
        .as_ref()
        .and_then(|cpu| cpu.who.get("guest/vcpu0"));
    let busy = busy.ok_or_else(|| Skip("the guest's CPU is not told".to_owned()))?;
    figures.put(name(CPU, word), busy * 1e6 / LOAD.0);
    if let Some(latency) = &record.latency_us {
        figures.put(name(WAY, word), latency.p50);
    }
    let lost = record.frames.lost as f64 / record.frames.sent.max(1) as f64;
    figures.put(name("lost share", word), lost);
    let told = record.fate.as_ref().and_then(|fate| fate.hops.as_ref());
    if let Some(told) = told {
        let inside = told.hops.iter().any(|hop| hop.to.contains("guest"));
        let followed = if inside { told.frames as f64 } else { 0.0 };
        let share = followed / record.frames.received.max(1) as f64;
        figures.put(name("share of frames followed through it", word), share);
    }
    Ok(())
}
