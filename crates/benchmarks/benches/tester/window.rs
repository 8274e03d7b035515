//! One measured window: somebody sends, the kernel counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use nicety_benchmarks::start::go_on;
use nicety_model::Fps;
use nicety_paths::PathPort;
use nicety_port::{EngineReport, PortError, Stop, TrialOrder};

use super::arrivals::Arrivals;
use super::peer::Running;
use super::stage::{BoxedEngine, Counters};

/// Longest time from start to the first frames: testpmd sets up its memory first.
const START: Duration = Duration::from_secs(5);
/// Frames after which somebody counts as sending: more than any chatter.
const STARTED: u64 = 20;
/// How long nicety sends before the window opens.
const SETTLE: Duration = Duration::from_millis(150);
/// More than any engine sends.
pub const FLAT_OUT: Fps = Fps(20e6);

/// Somebody who sends until told to stop.
pub enum Source {
    Nicety {
        stop: Arc<AtomicBool>,
        thread: JoinHandle<(BoxedEngine, Result<EngineReport, PortError>)>,
    },
    Peer(Running),
}

impl Source {
    /// Lets nicety's engine send until stopped, five seconds at most.
    pub fn nicety(mut engine: BoxedEngine, load: Fps, trial: u8) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Stop::shared(Arc::clone(&stop));
        let order = order(load, Duration::from_secs(5), trial);
        let thread = std::thread::spawn(move || {
            let report = engine.trial(&order, &asked);
            (engine, report)
        });
        Self::Nicety { stop, thread }
    }

    fn settle(&self) -> Duration {
        match self {
            Self::Nicety { .. } => SETTLE,
            Self::Peer(running) => running.settle,
        }
    }

    fn check(&mut self) -> Result<()> {
        match self {
            Self::Nicety { thread, .. } if thread.is_finished() => bail!("ended by itself"),
            Self::Nicety { .. } => Ok(()),
            Self::Peer(running) => running.check(),
        }
    }

    /// Stops sending. nicety's engine comes back with its own account.
    pub fn end(self) -> Result<Option<(BoxedEngine, EngineReport)>> {
        match self {
            Self::Peer(running) => {
                drop(running);
                Ok(None)
            }
            Self::Nicety { stop, thread } => {
                stop.store(true, Ordering::Relaxed);
                let (engine, report) = thread.join().map_err(|_| anyhow!("the engine died"))?;
                Ok(Some((engine, report?)))
            }
        }
    }
}

/// One trial of nicety's engine.
pub fn order(load: Fps, duration: Duration, trial: u8) -> TrialOrder {
    TrialOrder {
        load,
        duration,
        then: None,
        drain_max: Duration::from_millis(500),
        drain_quiet: Duration::from_millis(40),
        trial,
        rest: None,
        catch_up: load == FLAT_OUT,
        numbers: false,
    }
}

/// What the kernel counted.
#[derive(Debug)]
pub struct Seen {
    pub offered_fps: f64,
    pub arrived_fps: f64,
    /// What arrived from when the window opened, at the port that was to be watched.
    pub arrivals: Option<Result<Arrivals>>,
}

/// Waits for frames of `source`, then counts for `window`, and keeps what arrives at `watched`.
pub fn measure(
    source: &mut Source,
    counters: &Counters,
    window: Duration,
    watched: Option<&PathPort>,
    interrupted: &AtomicBool,
) -> Result<Seen> {
    let idle = counters.read()?;
    let until = Instant::now() + START;
    loop {
        source.check()?;
        if counters.read()?.offered >= idle.offered + STARTED {
            break;
        }
        if Instant::now() > until {
            bail!("sent nothing within {} s", START.as_secs());
        }
        nap(Duration::from_millis(20), interrupted)?;
    }
    nap(source.settle(), interrupted)?;
    // Not earlier: emptying it while frames arrive could take as long as they do.
    let arrivals = watched.map(Arrivals::open);
    let before = counters.read()?;
    nap(window, interrupted)?;
    let after = counters.read()?;
    source.check()?;
    let seconds = (after.at - before.at).as_secs_f64();
    Ok(Seen {
        offered_fps: (after.offered - before.offered) as f64 / seconds,
        arrived_fps: (after.arrived - before.arrived) as f64 / seconds,
        arrivals,
    })
}

/// Sleeps in small pieces, so that Ctrl-C is heard.
fn nap(time: Duration, interrupted: &AtomicBool) -> Result<()> {
    let until = Instant::now() + time;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        go_on(interrupted)?;
        sleep(left.min(Duration::from_millis(100)));
    }
    Ok(())
}
