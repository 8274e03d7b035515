//! A program of a path: started in the path's namespace on the path's CPUs, and ended with it.
#![allow(unsafe_code)] // edge: what the child does between fork and exec

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use nicety_host::child;
use nicety_netdev::cpu_set;
use nicety_netdev::netns::NetNs;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use rustix::thread::{CpuSet, LinkNameSpaceType};

use crate::error::PathError;
use crate::run_dir::RunDir;

/// Lines of a log that are quoted when a program ends too early.
const QUOTED: usize = 3;
/// Longest wait for a program to be ready; on a quiet machine it takes less than a second.
pub(super) const READY: Duration = Duration::from_secs(60);

/// A program that Debian has in a package.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packaged {
    /// Its name.
    pub(super) name: &'static str,
    /// Where it may be, beside the directories of PATH.
    pub(super) places: &'static [&'static str],
    /// Debian's package.
    pub(super) package: &'static str,
}

impl Packaged {
    /// One in a directory of PATH.
    pub(super) const fn on_path(name: &'static str, package: &'static str) -> Self {
        Self {
            name,
            places: &[],
            package,
        }
    }

    /// Finds it.
    pub(super) fn find(&self) -> Result<PathBuf, PathError> {
        let named = self.places.iter().map(PathBuf::from);
        let searched = std::env::var_os("PATH").unwrap_or_default();
        let searched: Vec<_> = std::env::split_paths(&searched).collect();
        // Daemons are in sbin, which is not on every user's PATH.
        let system = ["/usr/sbin", "/usr/bin"].map(PathBuf::from);
        let beside = searched
            .into_iter()
            .chain(system)
            .filter(|_| self.places.is_empty())
            .map(|dir| dir.join(self.name));
        let file = named.chain(beside).find(|path| path.is_file());
        file.ok_or(PathError::NotInstalled {
            program: self.name,
            package: self.package,
        })
    }
}

/// How a program is started.
pub(super) struct Start<'a> {
    /// Name for messages and its log.
    pub(super) name: &'static str,
    /// Where it is.
    pub(super) program: &'a Path,
    /// Its arguments.
    pub(super) arguments: Vec<String>,
    /// Variables beside the caller's.
    pub(super) environment: Vec<(&'static str, String)>,
    /// Namespace it runs in.
    pub(super) ns: &'a NetNs,
    /// CPUs its threads run on unless they choose others; any when empty.
    pub(super) cpus: &'a [u32],
}

/// A running program; killed when dropped.
#[derive(Debug)]
pub(super) struct Program {
    name: &'static str,
    child: Child,
    log: PathBuf,
    /// A program that reads its standard input ends when this is closed.
    _stdin: Option<ChildStdin>,
}

impl Program {
    /// Starts it. The kernel kills it when this process ends.
    pub(super) fn start(start: &Start<'_>, dir: &RunDir) -> Result<Self, PathError> {
        let error = |e| PathError::io("start", start.program.display(), e);
        let log = dir.file(&format!("{}.log", start.name));
        let file = File::create(&log).map_err(error)?;
        let mut command = Command::new(start.program);
        command
            .args(&start.arguments)
            .envs(start.environment.iter().map(|(k, v)| (k, v)))
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .stdout(file.try_clone().map_err(error)?)
            .stderr(file);
        // No CPUs means that it may run anywhere.
        before_exec(
            &mut command,
            start.ns.clone(),
            cpu_set::set(start.cpus).ok(),
        );
        let mut child = child::spawn(command).map_err(error)?;
        Ok(Self {
            name: start.name,
            _stdin: child.stdin.take(),
            child,
            log,
        })
    }

    /// Its process id.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended; its status stays for who waits for it.
    pub(super) fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let pid = Pid::from_child(&self.child);
        waitid(WaitId::Pid(pid), options).is_ok_and(|ended| ended.is_some())
    }

    /// Kills it and waits until it is gone.
    pub(super) fn kill(&mut self) {
        // Fails only when it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks `ready` again and again until it has an answer.
    pub(super) fn wait_for<T>(
        &mut self,
        awaited: &'static str,
        mut ready: impl FnMut() -> Result<Option<T>, PathError>,
    ) -> Result<T, PathError> {
        let end = Instant::now() + READY;
        loop {
            if let Some(answer) = ready()? {
                return Ok(answer);
            }
            let ended = self.child.try_wait().map_err(|e| self.error(e))?;
            if ended.is_some() || Instant::now() > end {
                return Err(self.trouble(match ended {
                    Some(status) => format!("ended with {status} before {awaited}"),
                    None => format!("not there after {} s: {awaited}", READY.as_secs()),
                }));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// An error with the end of its log.
    pub(super) fn trouble(&self, what: String) -> PathError {
        PathError::Program {
            program: self.name,
            what,
            last: last_lines(&fs::read(&self.log).unwrap_or_default()),
        }
    }

    fn error(&self, source: io::Error) -> PathError {
        PathError::io("wait for", self.name, source)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs a tool to its end and returns what it printed.
pub(super) fn run<A: AsRef<OsStr>>(
    program: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Result<String, PathError> {
    let error = |e| PathError::io("run", program.display(), e);
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(error)?;
    if !output.status.success() {
        let last = last_lines(&output.stderr);
        return Err(error(io::Error::other(format!(
            "{}: {last}",
            output.status
        ))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The last lines of a log on one line, for a message: those that speak of trouble where some do,
/// since Open vSwitch ends with its counters, and testpmd with the ports it closes.
fn last_lines(log: &[u8]) -> String {
    let text = String::from_utf8_lossy(log);
    let full = text.lines().filter(|line| !line.trim().is_empty());
    let (trouble, rest): (Vec<&str>, Vec<&str>) = full.partition(|line| {
        // The levels of ovs-vswitchd(8), between bars; testpmd's own, and why rte_exit was called.
        ["|WARN|", "|ERR|", "|EMER|", "Fail: ", "Cause: "]
            .iter()
            .any(|level| line.contains(level))
    });
    let lines = if trouble.is_empty() { rest } else { trouble };
    let from = lines.len().saturating_sub(QUOTED);
    // A semicolon would part what from what to do.
    let lines: Vec<&str> = lines[from..].iter().map(|line| line.trim()).collect();
    lines.join(" / ").replace("; ", ", ")
}

/// Gives the child a session of its own, so that Ctrl-C reaches it through us only, the path's
/// namespace, and its CPUs.
fn before_exec(command: &mut Command, ns: NetNs, cpus: Option<CpuSet>) {
    let prepare = move || {
        rustix::process::setsid()?;
        rustix::thread::move_into_link_name_space(ns.as_fd(), Some(LinkNameSpaceType::Network))?;
        if let Some(cpus) = &cpus {
            rustix::thread::sched_setaffinity(None, cpus)?;
        }
        Ok(())
    };
    // SAFETY: `prepare` makes system calls only and allocates nothing.
    unsafe { command.pre_exec(prepare) };
}

/// Why a program does not answer: one that has ended leaves nobody at its socket.
pub(super) fn unanswered(error: io::Error) -> io::Error {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotFound, UnexpectedEof};
    match error.kind() {
        BrokenPipe | ConnectionRefused | ConnectionReset | NotFound | UnexpectedEof => {
            io::Error::new(error.kind(), "the program has ended; dmesg may say why")
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::Remedy;

    use super::*;

    #[test]
    fn a_program_nobody_installed_names_its_package() {
        let missing = Packaged {
            name: "no-such-program",
            places: &[],
            package: "some-package",
        };
        let error = missing.find().unwrap_err();
        assert_eq!(error.to_string(), "no-such-program is not installed");
        assert_eq!(
            error.remedy(),
            Some(Remedy::here("apt install some-package"))
        );
    }

    #[test]
    fn the_end_of_a_log_stands_on_one_line() {
        assert_eq!(
            last_lines(b"one\n\ntwo; 2\nthree\nfour\n"),
            "two, 2 / three / four"
        );
        assert_eq!(last_lines(b""), "");
        assert_eq!(
            last_lines(b"1|dpdk|ERR|no buffers\n2|bridge|WARN|no p0\n3|coverage|INFO|sent 4\n"),
            "1|dpdk|ERR|no buffers / 2|bridge|WARN|no p0"
        );
        assert_eq!(
            last_lines(
                b"Fail: input rxq (3) can't be greater than max_rx_queues (2) of port 0\n\
                  EAL: Error - exiting with code: 1\n  Cause: rxq 3 invalid\nPort 0 is closed\n"
            ),
            "Fail: input rxq (3) can't be greater than max_rx_queues (2) of port 0 / Cause: rxq 3 invalid"
        );
    }
}
