//! Programs of others that are asked: no shell, an absolute path, a time limit, a bound on what they say.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nicety_host::child;
use nicety_model::visible::is_hidden;
use nicety_netdev::program::{self, NotRun};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

/// What is kept of complaints.
const MOST_SAID: usize = 64 << 10;

/// Why a program has not answered.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// It is not there.
    #[error("{program} is not installed; install {package}")]
    Missing {
        /// Its name.
        program: &'static str,
        /// Debian's package that has it.
        package: &'static str,
    },
    /// Somebody else could have written it.
    #[error("{} {why}, so root does not run it", path.display())]
    Untrusted {
        /// The program, or a directory above it.
        path: PathBuf,
        /// What is wrong.
        why: &'static str,
    },
    /// It takes too long.
    #[error("{program} has not answered within {} s; {hint}", limit.as_secs())]
    Slow {
        /// What to look at.
        hint: &'static str,
        /// Its name.
        program: &'static str,
        /// How long it was waited for.
        limit: Duration,
    },
    /// It says too much.
    #[error("{program} says more than {most} bytes")]
    TooMuch {
        /// Its name.
        program: &'static str,
        /// What is read at most.
        most: usize,
    },
    /// It failed: the last line of what it complains of.
    #[error("{program}: {said}; {hint}")]
    Failed {
        /// What to look at.
        hint: &'static str,
        /// Its name.
        program: &'static str,
        /// The line.
        said: String,
    },
    /// It cannot be started, or its pipe cannot be read.
    #[error("cannot run {program}: {source}")]
    Io {
        /// Its name.
        program: &'static str,
        /// Why.
        source: io::Error,
    },
}

/// A program that is asked.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// Debian's package that has it.
    pub package: &'static str,
    /// What to look at when it does not answer.
    pub hint: &'static str,
    /// How long it is waited for.
    pub limit: Duration,
    /// Most bytes of what it says.
    pub most: usize,
}

impl Program {
    /// Runs it with these arguments, and returns what it says.
    ///
    /// # Errors
    /// When it says nothing in time, too much, or that it failed.
    pub fn ask(self, arguments: &[&str]) -> Result<String, Unanswered> {
        let program = self.name;
        let io = |source| Unanswered::Io { program, source };
        let mut command = program::command(program).map_err(|error| self.not_run(error))?;
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // What it starts ends with it.
            .process_group(0);
        if let Some(dir) = std::env::var_os("OVS_RUNDIR") {
            command.env("OVS_RUNDIR", dir);
        }
        let child = child::spawn(command).map_err(io)?;
        Asked { child }.answer(self)
    }

    fn not_run(self, error: NotRun) -> Unanswered {
        let (program, package) = (self.name, self.package);
        match error {
            NotRun::Missing(_) => Unanswered::Missing { program, package },
            NotRun::Untrusted { path, why } => Unanswered::Untrusted { path, why },
            NotRun::Io(source) => Unanswered::Io { program, source },
        }
    }
}

/// A program that was started; ended when dropped.
struct Asked {
    child: Child,
}

impl Asked {
    fn answer(mut self, program: Program) -> Result<String, Unanswered> {
        let Program {
            name,
            hint,
            limit,
            most,
            ..
        } = program;
        let io = |source| Unanswered::Io {
            program: name,
            source,
        };
        let deadline = Instant::now() + limit;
        let slow = || Unanswered::Slow {
            hint,
            program: name,
            limit,
        };
        let (mut out, mut err) = (self.child.stdout.take(), self.child.stderr.take());
        let (mut said, mut complaint) = (Vec::new(), Vec::new());
        while out.is_some() || err.is_some() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(slow());
            }
            let ready = {
                let pipes = [
                    out.as_ref().map(|pipe| pipe.as_fd()),
                    err.as_ref().map(|pipe| pipe.as_fd()),
                ];
                let mut fds: Vec<PollFd<'_>> = (pipes.iter().flatten())
                    .map(|pipe| PollFd::from_borrowed_fd(*pipe, PollFlags::IN))
                    .collect();
                let left = Timespec::try_from(left).map_err(io::Error::other);
                let polled = poll(&mut fds, Some(&left.map_err(io)?));
                polled.map_err(|error| io(error.into()))?;
                let mut fds = fds.iter().map(|fd| !fd.revents().is_empty());
                pipes.map(|pipe| pipe.is_some() && fds.next().unwrap_or_default())
            };
            if ready[0] && take(&mut out, &mut said).map_err(io)? {
                out = None;
            }
            if ready[1] && take(&mut err, &mut complaint).map_err(io)? {
                err = None;
            }
            if said.len() > most {
                return Err(Unanswered::TooMuch {
                    program: name,
                    most,
                });
            }
            complaint.truncate(MOST_SAID);
        }
        let status = loop {
            if let Some(status) = self.child.try_wait().map_err(io)? {
                break status;
            }
            if Instant::now() >= deadline {
                return Err(slow());
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        if status.success() {
            return Ok(String::from_utf8_lossy(&said).into_owned());
        }
        Err(Unanswered::Failed {
            hint,
            program: name,
            said: last_line(&complaint, name).unwrap_or_else(|| status.to_string()),
        })
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        // Its number is its own until it was waited for.
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// Reads what is there; true at the end.
fn take(pipe: &mut Option<impl Read>, into: &mut Vec<u8>) -> io::Result<bool> {
    let Some(pipe) = pipe else { return Ok(true) };
    let mut buffer = [0; 16 << 10];
    let count = pipe.read(&mut buffer)?;
    into.extend_from_slice(&buffer[..count]);
    Ok(count == 0)
}

/// The last line with words, without control characters.
fn last_line(bytes: &[u8], program: &str) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let last = text.lines().rfind(|line| !line.trim().is_empty())?;
    let last = last.trim().trim_start_matches("error: ");
    let named = last.strip_prefix(program);
    let last = named
        .and_then(|last| last.strip_prefix(": "))
        .unwrap_or(last);
    let clean = last.chars().filter(|c| !is_hidden(*c)).take(200);
    Some(clean.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(limit: u64) -> Program {
        Program {
            name: "sh",
            package: "dash",
            hint: "see sh",
            limit: Duration::from_millis(limit),
            most: 10_000,
        }
    }

    #[test]
    fn a_program_answers_fails_says_too_much_or_takes_too_long() {
        let ask = |limit, script: &str| shell(limit).ask(&["-c", script]);
        assert_eq!(ask(60_000, "echo $LC_ALL; echo no >&2").unwrap(), "C\n");
        #[rustfmt::skip]
        let table = [
            (60_000, "echo a >&2; echo 'error: no \u{1b}[1msuch' >&2; exit 1", "sh: no [1msuch; see sh"),
            (60_000, "exit 3", "sh: exit status: 3; see sh"),
            (60_000, "yes", "sh says more than 10000 bytes"),
            (300, "sleep 600 & sleep 600", "sh has not answered within 0 s; see sh"),
            (300, "exec >&- 2>&-; sleep 600", "sh has not answered within 0 s; see sh"),
        ];
        for (limit, script, wanted) in table {
            assert_eq!(
                ask(limit, script).unwrap_err().to_string(),
                wanted,
                "{script}"
            );
        }
        let missing = Program {
            name: "no-such-program",
            package: "nothing",
            ..shell(0)
        };
        let said = missing.ask(&[]).unwrap_err().to_string();
        assert_eq!(said, "no-such-program is not installed; install nothing");
    }
}
