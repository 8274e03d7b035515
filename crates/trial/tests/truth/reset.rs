//! How long no frame passes when a path is reset: a bridge that is down for a known time, or for good, and
//! switches that are killed and started again.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use nicety_model::{Direction, Fps, Outage, Purpose, ResetKind, TrialRecord};
use nicety_netdev::link::{LinkChange, Links};
use nicety_netdev::net_error::NetError;
use nicety_paths::counters::PathCounters;
use nicety_paths::path::PathFacts;
use nicety_paths::{
    BridgePath, Datapath, DpdkSpec, OvsPath, OvsSpec, Path, PathError, Resettable, RigSpec,
    TestpmdPath, Vdev,
};
use nicety_port::Stop;
use nicety_testkit::runner::Skip;
use nicety_trial::{TrialError, TrialSpec, Trials};

use crate::calm::tried;
use crate::stage::{Tester, bridge, first, path_cpus, run_checked, size, spec, traffic};

const LOAD: Fps = Fps(5_000.0);
/// Time for which the bridge is held down.
const HELD: Duration = Duration::from_millis(120);
/// Tries, of which one has to be as long as the bridge was down.
const TRIES: usize = 3;
/// What waits in the path's rings and threads meanwhile, in seconds.
const BESIDE_S: f64 = 0.01;

/// A bridge that a reset holds down.
struct Held {
    path: BridgePath,
    links: Links,
    /// Whether it comes up again.
    returns: bool,
    /// Shortest and longest time that the last reset can have taken.
    took: Mutex<(f64, f64)>,
}

impl Held {
    fn new(returns: bool) -> Self {
        let path = bridge();
        Self {
            links: Links::open(path.dut()).unwrap(),
            path,
            returns,
            took: Mutex::default(),
        }
    }

    fn set(&self, up: bool) -> Result<(Instant, Instant), PathError> {
        let change = LinkChange {
            up: Some(up),
            ..LinkChange::default()
        };
        let begun = Instant::now();
        self.links.change("br0", &change)?;
        Ok((begun, Instant::now()))
    }
}

impl Path for Held {
    fn facts(&self) -> &PathFacts {
        self.path.facts()
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        self.path.counters()
    }

    fn resettable(&self) -> Option<&dyn Resettable> {
        Some(self)
    }
}

impl Resettable for Held {
    fn by(&self) -> ResetKind {
        ResetKind::BridgeDownUp
    }

    fn limit(&self) -> Duration {
        if self.returns { HELD * 10 } else { HELD * 4 }
    }

    fn reset(&self) -> Result<(), PathError> {
        let down = self.set(false)?;
        if self.returns {
            std::thread::sleep(HELD);
            let up = self.set(true)?;
            let shortest = up.0 - down.1;
            let longest = up.1 - down.0;
            *self.took.lock().unwrap() = (shortest.as_secs_f64(), longest.as_secs_f64());
        }
        Ok(())
    }
}

fn asked(limit: Duration) -> TrialSpec {
    TrialSpec {
        purpose: Purpose::Reset,
        duration: limit,
        ..spec(LOAD, 0)
    }
}

fn reset(trials: &mut Trials<'_>, limit: Duration) -> TrialRecord {
    trials.run(&asked(limit), &Stop::default()).unwrap()
}

/// What was lost is what the bridge was down for.
pub fn known_outage(tester: Tester) -> Result<(), Skip> {
    let held = Held::new(true);
    let mut engine = tester.open(&held, traffic(Direction::Uni))?;
    let mut trials = Trials::new(engine.as_mut(), &held, 0);
    first(&mut trials);
    tried(TRIES, Duration::from_secs_f64(BESIDE_S), || {
        let record = reset(&mut trials, held.limit());
        let outage = record.outage.unwrap();
        assert!(outage.back, "{outage:?}");
        assert_eq!(outage.by, ResetKind::BridgeDownUp);
        assert_eq!(outage.limit_s, held.limit().as_secs_f64());
        assert!(outage.frames <= record.frames.lost, "{record:?}");
        let (shortest, longest) = *held.took.lock().unwrap();
        let as_long = |s: f64| (shortest - BESIDE_S..=longest + BESIDE_S).contains(&s);
        if as_long(outage.outage_s) && outage.by_loss_s <= longest + BESIDE_S {
            return Ok(Some(()));
        }
        Err(format!("{outage:?}: down for {shortest} s to {longest} s"))
    })?;
    // The path carries frames as before.
    run_checked(&mut trials, LOAD, 500);
    Ok(())
}

/// A path that does not come back ends the trial at its limit, and says so.
pub fn no_return() -> Result<(), Skip> {
    let held = Held::new(false);
    let mut engine = Tester::AfPacket.open(&held, traffic(Direction::Uni))?;
    let mut trials = Trials::new(engine.as_mut(), &held, 0);
    first(&mut trials);
    let begun = Instant::now();
    let outage = reset(&mut trials, held.limit()).outage.unwrap();
    assert!(!outage.back, "{outage:?}");
    // It waits for all of its limit, on a busy machine longer; how much of that is outage depends on when the path went.
    assert!(begun.elapsed() >= held.limit(), "{outage:?}");
    assert!(outage.frames > 0, "{outage:?}");
    // A user who stops it waits for neither limit nor result.
    let stop = Stop::default();
    stop.stop();
    let stopped = trials.run(&asked(Duration::from_secs(600)), &stop);
    assert!(
        matches!(stopped, Err(TrialError::Interrupted)),
        "{stopped:?}"
    );
    Ok(())
}

/// The path's own reset of a bridge: frames pass again, both ways.
pub fn own_reset() -> Result<(), Skip> {
    let path = bridge();
    let outage = comes_back(&path, ResetKind::BridgeDownUp, Direction::Bi)?;
    println!("{outage:?}");
    Ok(())
}

/// Open vSwitch and testpmd are away for as long as their start takes, and then forward as before.
pub fn restarted() -> Result<(), Skip> {
    let rig = || RigSpec {
        path_cpus: path_cpus(),
        largest_frame: size(1518),
        queues: 1,
    };
    let lacking = |error: PathError| match error {
        PathError::NotInstalled { .. } | PathError::NoKernelSupport { .. } => {
            Skip(error.to_string())
        }
        error => panic!("{error}"),
    };
    let cpus = vec![path_cpus().first().copied().unwrap_or(0)];
    let ovs = OvsPath::build(&OvsSpec {
        rig: rig(),
        datapath: Some(Datapath::Userspace),
        tagged: false,
        cpus: cpus.clone(),
    });
    let outage = comes_back(
        &ovs.map_err(lacking)?,
        ResetKind::ProgramRestart,
        Direction::Uni,
    )?;
    println!("ovs: {outage:?}");
    // A program that starts has to load its files first.
    assert!(outage.outage_s > 0.005, "{outage:?}");
    let testpmd = TestpmdPath::build(&DpdkSpec {
        rig: rig(),
        vdev: Vdev::AfPacket,
        cores: 1,
        cpus,
    });
    let outage = comes_back(
        &testpmd.map_err(lacking)?,
        ResetKind::ProgramRestart,
        Direction::Uni,
    )?;
    println!("testpmd: {outage:?}");
    assert!(outage.outage_s > 0.005, "{outage:?}");
    Ok(())
}

/// Resets a path, sees frames pass again, and more of them in a trial behind it.
fn comes_back(path: &dyn Path, by: ResetKind, direction: Direction) -> Result<Outage, Skip> {
    let mut engine = Tester::AfPacket.open(path, traffic(direction))?;
    let resettable = path.resettable().unwrap();
    let mut trials = Trials::new(engine.as_mut(), path, 0);
    first(&mut trials);
    let record = reset(&mut trials, resettable.limit());
    let outage = record.outage.unwrap();
    assert!(outage.back && outage.by == by, "{outage:?}");
    assert!(outage.outage_s < outage.limit_s, "{outage:?}");
    // Frames are sent for 0.3 s before the reset and 0.3 s behind the outage.
    let passed = record.frames.received as f64 / record.streams.len() as f64;
    assert!(passed > LOAD.0 * 0.3, "{record:?}");
    Ok(outage)
}
