//! A program that takes a CPU for a while, again and again.
//!
//! The path's threads are the kernel's: no signal stops them. A thread of real-time priority on the
//! same CPU does, from a process of its own, since nicety takes its own process for the tester.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nicety_host::child;
use nicety_testkit::runner::Skip;

use crate::commands::number;

/// Argument with which this program is the one that takes a CPU.
pub const TAKE: &str = "--take-this-cpu";
/// How long it takes the CPU, and how often.
pub const HOG_TIME: Duration = Duration::from_millis(5);
pub const EVERY: Duration = Duration::from_millis(100);

/// The program: takes its CPU until its input ends. Prints for how long it had it, and how long it ran.
pub fn take() {
    static ENDED: AtomicBool = AtomicBool::new(false);
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        ENDED.store(true, Ordering::Relaxed);
    });
    let started = Instant::now();
    let (mut busy, mut next) = (Duration::ZERO, started);
    while !ENDED.load(Ordering::Relaxed) {
        let from = Instant::now();
        while from.elapsed() < HOG_TIME {}
        busy += from.elapsed();
        next += EVERY;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    println!(
        "taken {} of {}",
        busy.as_micros(),
        started.elapsed().as_micros()
    );
}

/// Starts it on `cpu`.
fn start(cpu: u32) -> Result<Child, Skip> {
    let mut command = Command::new("chrt");
    command
        .args(["--fifo", "1", "taskset", "--cpu-list", &cpu.to_string()])
        .arg(std::env::current_exe().unwrap())
        .arg(TAKE)
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let child = child::spawn(command);
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
pub fn beside<T>(cpu: u32, trial: impl FnOnce() -> T) -> Result<(T, f64), Skip> {
    let child = start(cpu)?;
    std::thread::sleep(EVERY * 2);
    let result = trial();
    Ok((result, end(child)?))
}
