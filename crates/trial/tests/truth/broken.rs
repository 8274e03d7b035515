//! What ends a trial before its time.

use std::time::{Duration, Instant};

use nicety_model::{Direction, Fps, Validity};
use nicety_netdev::link::{LinkChange, Links};
use nicety_netdev::netns::NetNs;
use nicety_paths::Path;
use nicety_port::Stop;
use nicety_testkit::runner::Skip;
use nicety_trial::{TrialError, Trials};

use crate::stage::{Tester, bridge, first, run_checked, spec, traffic};

const LOAD: Fps = Fps(5_000.0);
/// Length of a trial that is not to reach its end.
const LONG: Duration = Duration::from_secs(60);

/// Waits until frames of a trial arrive at `interface`.
fn wait_for_frames(links: &Links, interface: &str) {
    let frames = || links.get(interface).unwrap().counters.rx_packets;
    let (before, started) = (frames(), Instant::now());
    while frames() < before + 200 && started.elapsed() < LONG {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Frames of a trial of [`LONG`].
fn frames() -> u64 {
    LOAD.frames_in(LONG.as_secs_f64())
}

fn links(ns: &NetNs) -> Links {
    Links::open(ns).unwrap()
}

/// Runs a trial and lets `port` go in the middle of it.
fn going(tester: Tester, port: usize, go: fn(&Links, &str)) -> Result<(), Skip> {
    let path = bridge();
    let mut engine = tester.open(&path, traffic(Direction::Uni))?;
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    first(&mut trials);
    let (mine, far) = (&path.ports()[port], &path.ports()[1]);
    let record = std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_for_frames(&links(&far.ns), &far.name);
            go(&links(&mine.ns), &mine.name);
        });
        trials.run(&spec(LOAD, frames()), &Stop::default()).unwrap()
    });
    let why = why(&record.validity);
    assert_eq!(
        why,
        format!(
            "{}: the interface went down or away during the trial; bring it back and run again",
            mine.name
        )
    );
    assert!(
        record.wall_s < LONG.as_secs_f64() / 2.0,
        "{}",
        record.wall_s
    );
    assert_eq!(record.frames, nicety_model::FrameCounts::default());
    // A second try must not take the dead port for a path that loses everything.
    let next = trials.run(&spec(LOAD, 100), &Stop::default()).unwrap();
    assert!(self::why(&next.validity).contains(&mine.name), "{next:?}");
    Ok(())
}

/// One line that says what broke.
fn why(validity: &Validity) -> &str {
    let Validity::Broken { why } = validity else {
        panic!("{validity:?}");
    };
    assert!(!why.contains('\n'), "{why}");
    why
}

fn down(links: &Links, name: &str) {
    let down = LinkChange {
        up: Some(false),
        ..LinkChange::default()
    };
    links.change(name, &down).unwrap();
}

fn remove(links: &Links, name: &str) {
    links.delete(name).unwrap();
}

pub fn ports(tester: Tester) -> Result<(), Skip> {
    for port in [0, 1] {
        going(tester, port, down)?;
        going(tester, port, remove)?;
    }
    Ok(())
}

pub fn stopped(tester: Tester) -> Result<(), Skip> {
    let path = bridge();
    let mut engine = tester.open(&path, traffic(Direction::Bi))?;
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    first(&mut trials);
    let (stop, started) = (Stop::default(), Instant::now());
    let far = &path.ports()[1];
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_for_frames(&links(&far.ns), &far.name);
            stop.stop();
        });
        trials.run(&spec(LOAD, frames()), &stop)
    });
    assert!(matches!(result, Err(TrialError::Interrupted)), "{result:?}");
    assert!(started.elapsed() < LONG / 2);
    // What the next trial sees is its own.
    let record = run_checked(&mut trials, LOAD, 1_000);
    assert_eq!((record.frames.duplicate, record.frames.foreign), (0, 0));
    let lost: u64 = record.loss_ledger.iter().map(|entry| entry.frames).sum();
    assert_eq!(record.frames.lost, lost);
    Ok(())
}
