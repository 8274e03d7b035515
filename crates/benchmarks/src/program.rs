//! Programs: what a call takes, which version it is, and processes that end with a value.

use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

/// What a call took.
#[derive(Debug, Clone, Copy)]
pub struct Spent {
    pub ms: f64,
    /// The most memory it had at once.
    pub mb: f64,
    /// Seconds on a CPU.
    pub cpu_s: f64,
    pub code: i32,
}

/// Runs a program to its end.
pub fn run(program: &str, arguments: &[&str]) -> Result<Spent> {
    let begin = Instant::now();
    let child = command(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("{program} cannot be started"))?;
    let (code, usage) = wait(child.id())?;
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Spent {
        ms: begin.elapsed().as_secs_f64() * 1e3,
        mb: usage.ru_maxrss as f64 * 1024.0 / 1e6,
        cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        code,
    })
}

/// Waits for a child; its exit code, and what it used (getrusage(2)).
#[allow(unsafe_code, reason = "std waits without telling what was used")]
fn wait(pid: u32) -> Result<(i32, libc::rusage)> {
    let mut status = 0;
    // SAFETY: a structure of integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to living values of the types wait4(2) writes.
    let waited = unsafe { libc::wait4(pid.cast_signed(), &raw mut status, 0, &raw mut usage) };
    if waited < 0 {
        return Err(std::io::Error::last_os_error()).context("cannot wait for a program");
    }
    if !libc::WIFEXITED(status) {
        bail!("a program was killed");
    }
    Ok((libc::WEXITSTATUS(status), usage))
}

/// A command that is found where administrators have theirs, too, and reads nothing.
pub fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("PATH", search_path()).stdin(Stdio::null());
    command
}

/// Programs of administrators are not in everybody's path.
pub fn search_path() -> String {
    let usual = std::env::var("PATH").unwrap_or_default();
    format!("{usual}:/usr/sbin:/sbin")
}

/// The first line with a number like 1.2 that a program writes about its version.
pub fn version(program: &str, arguments: &[&str]) -> Result<String> {
    let output = command(program).args(arguments).output();
    let output = output.with_context(|| format!("{program} cannot be started"))?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let is_number =
        |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    let mut lines = text.lines();
    let line = lines.find(|line| {
        let mut words = line.split(|c: char| c != '.' && !c.is_ascii_digit());
        words.any(is_number)
    });
    Ok(line.unwrap_or("unknown").trim().to_owned())
}

/// A process that is sent a signal on drop, and waited for.
#[derive(Debug)]
pub struct Held {
    pub child: Child,
    signal: Signal,
}

impl Held {
    pub fn new(child: Child, signal: Signal) -> Self {
        Self { child, signal }
    }

    /// Killed on drop.
    pub fn killed(child: Child) -> Self {
        Self::new(child, Signal::KILL)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process(Pid::from_child(&self.child), self.signal);
        }
        let _ = self.child.wait();
    }
}
