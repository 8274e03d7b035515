//! What a program takes: time and memory.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// Runs a program to its end; milliseconds, and the most memory it had at once in MB.
pub fn run(program: &str, arguments: &[&str]) -> Result<(f64, f64)> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("PATH", search_path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let begin = Instant::now();
    let child = command
        .spawn()
        .with_context(|| format!("{program} cannot be started"))?;
    let kib = wait(child.id())?;
    let took = begin.elapsed().as_secs_f64() * 1e3;
    Ok((took, kib as f64 * 1024.0 / 1e6))
}

/// Waits for a child; its largest resident set in KiB (getrusage(2)).
#[allow(unsafe_code, reason = "std waits without telling what was used")]
fn wait(pid: u32) -> Result<i64> {
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
    Ok(usage.ru_maxrss)
}

/// Programs of administrators are not in everybody's path.
pub fn search_path() -> String {
    let usual = std::env::var("PATH").unwrap_or_default();
    format!("{usual}:/usr/sbin:/sbin")
}
