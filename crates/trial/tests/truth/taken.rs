//! Another program takes the path's CPU for 5 ms ten times per second. What the path forwards falls by
//! just that time, and what it loses meanwhile is known to be the program's doing.
//!
//! The path's threads are the kernel's: no signal stops them. A thread of real-time priority on the
//! same CPU does, from a process of its own, since nicety takes its own process for the tester.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nicety_model::{Direction, Fps, Purpose, TrialRecord};
use nicety_port::Stop;
use nicety_port::stalls::StallWatch;
use nicety_testkit::runner::Skip;
use nicety_trial::{TrialAsk, Trials};

use crate::commands::number;
use crate::stage::{Tester, ask, bridge, first, path_cpus, placement, traffic};

/// Argument with which this program is the one that takes a CPU.
pub const TAKE: &str = "--take-this-cpu";
/// How long it takes the CPU, and how often.
const TAKEN: Duration = Duration::from_millis(5);
const EVERY: Duration = Duration::from_millis(100);
/// Windows as long as that, so that each has one of these times in it. The typical window of 50 ms has
/// none or one, by chance.
const WINDOW: Duration = EVERY;
/// Frames that the path's first ring holds while its CPU is taken.
const RING: f64 = 256.0;

/// More than the path forwards.
const FLAT_OUT: Fps = Fps(3e6);
const TRIAL_S: f64 = 1.5;
/// How exactly what is left has to be found, and how far apart the path may be before and after.
const WITHIN: f64 = 0.03;
/// Share of the capacity at which nothing is lost but while the CPU is taken: the path works off a full
/// ring before the frames sent later than 2 ms after a stall arrive.
const LIGHT: f64 = 0.7;
/// Share of the loss that has to be told apart.
const TOLD: f64 = 0.9;
/// Tries: on a busy machine the path is another one from one second to the next, or other programs
/// take its CPU as well.
const TRIES: usize = 4;

/// The program: takes its CPU until its input ends. Prints for how long it had it, and how long it ran.
pub fn take() {
    static ENDED: AtomicBool = AtomicBool::new(false);
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        ENDED.store(true, Ordering::Relaxed);
    });
    let begun = Instant::now();
    let (mut taken, mut next) = (Duration::ZERO, begun);
    while !ENDED.load(Ordering::Relaxed) {
        let from = Instant::now();
        while from.elapsed() < TAKEN {}
        taken += from.elapsed();
        next += EVERY;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    println!("taken {} of {}", taken.as_micros(), begun.elapsed().as_micros());
}

/// Starts it on `cpu`.
fn start(cpu: u32) -> Result<Child, Skip> {
    let child = Command::new("chrt")
        .args(["--fifo", "1", "taskset", "--cpu-list", &cpu.to_string()])
        .arg(std::env::current_exe().unwrap())
        .arg(TAKE)
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    child.map_err(|error| Skip(format!("cannot run chrt: {error}")))
}

/// Ends it; the share of the time that it had.
fn end(child: Child) -> Result<f64, Skip> {
    let output = child.wait_with_output().unwrap();
    if !output.status.success() {
        return Err(Skip("no real-time priority for programs here".to_owned()));
    }
    let said = String::from_utf8(output.stdout).unwrap();
    Ok(number(&said, "taken") as f64 / number(&said, "of") as f64)
}

/// Runs `trial` while the program takes `cpu`; the share it had.
fn beside<T>(cpu: u32, trial: impl FnOnce() -> T) -> Result<(T, f64), Skip> {
    let child = start(cpu)?;
    std::thread::sleep(EVERY * 2);
    let result = trial();
    Ok((result, end(child)?))
}

fn trial(trials: &mut Trials<'_>, purpose: Purpose, load: Fps) -> TrialRecord {
    let ask = TrialAsk {
        purpose,
        window: Some(WINDOW),
        ..ask(load, load.frames_in(TRIAL_S))
    };
    trials.run(&ask, &Stop::default()).unwrap()
}

/// What the typical window forwards under overload: a cell's capacity.
fn capacity(trials: &mut Trials<'_>) -> f64 {
    let record = trial(trials, Purpose::WarmUp, FLAT_OUT);
    assert!(record.loss_ratio.0 > 0.01, "no overload: {:?}", record.frames);
    record.windows.unwrap().forwarding(1).unwrap().0
}

fn cpu_of_path() -> Result<u32, Skip> {
    let apart = path_cpus().first().copied();
    apart.ok_or_else(|| Skip("path and tester share a CPU here".to_owned()))
}

/// Under overload the ring is full when the CPU is taken, so it makes up for nothing: of what the path
/// forwards without the program, the share of the time that is left to it is left.
pub fn capacity_left(tester: Tester) -> Result<(), Skip> {
    let cpu = cpu_of_path()?;
    let path = bridge();
    let mut engine = tester.open(&path, traffic(Direction::Uni))?;
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    first(&mut trials);
    let mut seen = Vec::new();
    let mut before = capacity(&mut trials);
    for _ in 0..TRIES {
        let (under, share) = beside(cpu, || capacity(&mut trials))?;
        let after = capacity(&mut trials);
        println!("  {} before {before:.0} under {under:.0} after {after:.0} share {share:.4} ratio {:.4}", tester.word(), under / (f64::midpoint(before, after) * (1.0 - share)));
        let left = f64::midpoint(before, after) * (1.0 - share);
        assert!((0.045..0.06).contains(&share), "{share}");
        let same = (after / before - 1.0).abs() <= WITHIN;
        if same && (under / left - 1.0).abs() <= WITHIN {
            return Ok(());
        }
        seen.push((same, under / left));
        before = after;
    }
    let steady: Vec<_> = seen.iter().filter(|(same, _)| *same).collect();
    assert!(steady.is_empty(), "of what should be left: {steady:?}");
    Err(Skip(format!("the path's speed was another one each time: {seen:.3?}")))
}

/// Below the path's capacity frames are lost only while its CPU is taken, and are told apart.
pub fn loss_told(tester: Tester) -> Result<(), Skip> {
    if tester == Tester::AfPacket {
        return Err(Skip("its frames are not told apart by time".to_owned()));
    }
    let cpu = cpu_of_path()?;
    let watch = StallWatch::new(&placement().all_cpus()).map_err(|why| Skip(why.to_string()))?;
    let path = bridge();
    let mut engine = tester.open(&path, traffic(Direction::Uni))?;
    let cpus = path_cpus();
    let mut trials = Trials::new(engine.as_mut(), &path, 0)
        .path_on(&cpus)
        .watching(Some(&watch));
    first(&mut trials);
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let load = Fps(LIGHT * capacity(&mut trials));
        let (record, _) = beside(cpu, || trial(&mut trials, Purpose::Search, load))?;
        let stalls = record.stalls.unwrap();
        let times = TRIAL_S / EVERY.as_secs_f64();
        let each = load.0 * TAKEN.as_secs_f64() - RING;
        println!("  {} load {load} lost {} expect {:.0} {stalls:?} ratio {} {:?} windows {:?}", tester.word(), record.frames.lost, times * each, record.loss_ratio, record.validity, record.windows.as_ref().map(|w| &w.lost));
        // What was taken was lost and seen, whatever else happened.
        let lost = record.frames.lost as f64;
        assert!(lost > 0.8 * times * each, "{lost} of {times} times {each}");
        assert!(stalls.programs as f64 >= times - 1.0, "{stalls:?}");
        assert!(stalls.longest_s >= 0.9 * TAKEN.as_secs_f64(), "{stalls:?}");
        let told = stalls.lost as f64 / lost;
        if record.validity.is_valid() && told >= TOLD {
            return Ok(());
        }
        seen.push((told, record.loss_ledger));
    }
    panic!("told apart, of the loss: {seen:?}");
}
