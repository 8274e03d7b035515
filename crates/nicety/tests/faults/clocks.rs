//! The machine's clock is set in the middle of it: by ten seconds and by an hour, both ways.
//!
//! The test does not set it. It moves `CLOCK_REALTIME` of one program and its children, see `clock.c`; the other clocks
//! cannot be set on any machine. A program without a dynamic loader cannot be led so.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::bench::Bench;
use crate::campaign::{PATIENCE, Scene, row, same};
use crate::harness::{Call, alone, lines, once, own_namespaces};
use crate::police::Daemon;
use crate::settings::Apply;

/// Seconds ahead of the machine's clock, one after the other.
const STEPS: [i64; 6] = [10, -10, 0, 3600, -3600, 0];
const ACCIDENT: &str = "CLOCK_REALTIME set by 10 s and 1 h, both ways";

/// A clock that can be set.
struct Clock(TempDir);

impl Clock {
    fn new(test: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let (source, made) = (dir.path().join("clock.c"), dir.path().join("clock.so"));
        fs::write(&source, include_str!("clock.c")).unwrap();
        let cc = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&made, &source])
            .output();
        if !cfg!(target_arch = "x86_64") || !cc.is_ok_and(|cc| cc.status.success()) {
            println!("SKIP {test}: no C compiler for x86-64 here");
            return None;
        }
        let clock = Self(dir);
        clock.set(0);
        let now = || {
            let date = clock
                .of(crate::harness::call("date".as_ref(), ["+%s"]))
                .run();
            date.stdout.trim().parse::<i64>().unwrap()
        };
        let before = now();
        clock.set(36_000);
        let moved = now() - before;
        clock.set(0);
        assert!(
            (36_000..37_000).contains(&moved),
            "the clock was not moved: {moved}"
        );
        Some(clock)
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("ahead")
    }

    /// In place: programs have the file in their memory.
    fn set(&self, ahead: i64) {
        let mut file = fs::OpenOptions::new();
        let mut file = file
            .write(true)
            .create(true)
            .truncate(false)
            .open(self.file())
            .unwrap();
        std::io::Write::write_all(&mut file, &ahead.to_ne_bytes()).unwrap();
    }

    /// The program has this clock.
    fn of(&self, call: Call) -> Call {
        let preload = self.0.path().join("clock.so");
        call.env("LD_PRELOAD", preload.to_str().unwrap())
            .env("NICETY_TEST_CLOCK", self.file().to_str().unwrap())
    }
}

#[test]
fn the_clock_is_set_under_police() {
    let _alone = alone();
    let test = "the_clock_is_set_under_police";
    if !once(test) {
        return;
    }
    let (Some(clock), Some(scene)) = (Clock::new(test), Daemon::new(test)) else {
        return;
    };
    let before = scene.state();
    let mut daemon = scene.0.daemon_with(&[], |call| clock.of(call));
    let periods = || scene.0.status()["periods"].as_u64().unwrap();
    for ahead in STEPS {
        clock.set(ahead);
        let begun = periods();
        daemon.until("two more periods", |_| periods() >= begun + 2);
    }
    let limited = scene.0.lab.sh("tc qdisc show | grep -c 'tbf 6e63' || true");
    assert_eq!(limited.trim(), "3", "{}", daemon.stderr());
    let status = scene.0.status();
    assert_eq!(status["errors"], 0, "{status}");
    daemon.signal(Signal::TERM);
    daemon.wait().assert_code(0);
    same(&before, &scene.state(), test);
    row(
        "police run",
        ACCIDENT,
        STEPS.len(),
        "periods go on, limits stay, all as before at the end",
    );
}

#[test]
fn the_clock_is_set_under_a_guard() {
    let _alone = alone();
    let test = "the_clock_is_set_under_a_guard";
    if !once(test) {
        return;
    }
    let (Some(clock), Some(scene)) = (Clock::new(test), Apply::new(test)) else {
        return;
    };
    let before = scene.state();
    let apply = |within| {
        clock
            .of(scene.apply(within))
            .run()
            .assert_code(0)
            .stdout
            .clone()
    };
    // Ahead: it is not undone early, and can still be confirmed.
    apply("60s");
    for ahead in STEPS {
        clock.set(ahead);
        sleep(Duration::from_millis(150));
    }
    clock.set(3600);
    assert_ne!(before, scene.state(), "undone early");
    clock.of(scene.tune(&["confirm"])).run().assert_code(0);
    scene.recover();
    same(&before, &scene.state(), test);
    // Behind: it is undone all the same.
    apply("2s");
    clock.set(-3600);
    let end = std::time::Instant::now() + PATIENCE;
    while scene.state() != before && std::time::Instant::now() < end {
        sleep(Duration::from_millis(100));
    }
    same(&before, &scene.state(), test);
    row(
        "tune apply",
        ACCIDENT,
        STEPS.len(),
        "the guard undoes neither early nor late",
    );
}

#[test]
fn the_clock_is_set_under_bench() {
    let _alone = alone();
    let test = "the_clock_is_set_under_bench";
    if !once(test) || !own_namespaces(test) {
        return;
    }
    let Some(clock) = Clock::new(test) else {
        return;
    };
    let scene = Bench::new("af_packet");
    let running = clock.of(scene.call()).start();
    for ahead in STEPS.into_iter().cycle().take(2 * STEPS.len()) {
        sleep(Duration::from_millis(400));
        clock.set(ahead);
    }
    let ended = running.end_when(|| scene.settled(), PATIENCE, Signal::TERM);
    assert!(matches!(ended.code(), 0 | 1 | 4), "{ended:?}");
    let trials = lines(&scene.dir.path().join("run/trials.jsonl"));
    assert!(!trials.is_empty(), "{ended:?}");
    for trial in &trials {
        let wall = trial["wall_s"].as_f64().unwrap();
        assert!((0.0..60.0).contains(&wall), "{trial}");
        if let Some(latency) = trial.get("latency_us") {
            let [min, max] = ["min", "max"].map(|key| latency[key].as_f64().unwrap());
            assert!(min >= 0.0 && max < 9e6, "{trial}");
        }
    }
    scene.recover();
    scene.state();
    row(
        "bench",
        ACCIDENT,
        2 * STEPS.len(),
        &format!("no time of {} trials is off", trials.len()),
    );
}
