//! Child processes that end with this one, however it ends: the kernel kills them
//! (`PR_SET_PDEATHSIG` of prctl(2)).
//!
//! The kernel ties a child to the **thread** that forked it. [`spawn`] forks on a thread that lives as
//! long as the process, [`tie`] on the caller's.
#![allow(unsafe_code)] // edge: what the child does between fork and exec

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};

use rustix::process::Signal;
use rustix::thread::CpuSet;

/// A command, the CPUs it may use, and where its child goes.
type Job = (Command, Option<CpuSet>, SyncSender<io::Result<Child>>);

static STARTER: Mutex<Option<Sender<Job>>> = Mutex::new(None);

/// Has the kernel kill the child of `command` when the **thread** that starts it ends. Not for
/// programs that change their user or gain capabilities as they start: they lose the wish.
pub fn tie(command: &mut Command) -> &mut Command {
    let parent = rustix::process::getpid();
    let prepare = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // A parent that ended before the line above sends no signal.
        if rustix::process::getppid() != Some(parent) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(())
    };
    // SAFETY: `prepare` makes system calls only and allocates nothing.
    unsafe { command.pre_exec(prepare) }
}

/// Starts `command`; the kernel kills its child when this process ends.
///
/// The child has the caller's CPUs. Its namespaces are those of the first caller's thread, unless
/// the command itself enters others before it starts.
///
/// # Errors
/// As those of [`Command::spawn`].
pub fn spawn(command: Command) -> io::Result<Child> {
    let cpus = rustix::thread::sched_getaffinity(None).ok();
    let (answer, started) = sync_channel(1);
    let mut starter = STARTER.lock().unwrap_or_else(PoisonError::into_inner);
    let jobs = match &*starter {
        Some(jobs) => jobs,
        None => starter.insert(starter_thread()?),
    };
    jobs.send((command, cpus, answer)).map_err(|_| gone())?;
    started.recv().map_err(|_| gone())?
}

/// A thread that starts commands until the process ends.
fn starter_thread() -> io::Result<Sender<Job>> {
    let (jobs, waiting) = channel::<Job>();
    let work = move || {
        while let Ok((mut command, cpus, answer)) = waiting.recv() {
            if let Some(cpus) = cpus {
                // Without, the child starts on the CPUs of the one before it.
                let _ = rustix::thread::sched_setaffinity(None, &cpus);
            }
            // Whoever asked waits for the answer.
            let _ = answer.send(tie(&mut command).spawn());
        }
    };
    let named = std::thread::Builder::new().name("starter".to_owned());
    named.spawn(work).map(|_| jobs)
}

fn gone() -> io::Error {
    io::Error::other("the thread that starts programs has ended")
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn a_child_outlives_the_thread_that_asked_for_it() {
        let asks = || {
            let mut cat = Command::new("cat");
            cat.stdin(Stdio::piped()).stdout(Stdio::piped());
            let thread = rustix::thread::gettid().as_raw_nonzero();
            (spawn(cat).unwrap(), format!("/proc/self/task/{thread}"))
        };
        let (mut child, thread) = std::thread::spawn(asks).join().unwrap();
        // A thread leaves this folder after the signals of its death were sent.
        while Path::new(&thread).exists() {
            std::thread::yield_now();
        }
        let said = b"still here";
        child.stdin.take().unwrap().write_all(said).unwrap();
        let mut heard = Vec::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_end(&mut heard)
            .unwrap();
        assert_eq!(heard, said);
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn a_tied_child_ends_with_its_thread() {
        let ties = || tie(Command::new("sleep").arg("600")).spawn().unwrap();
        let mut child = std::thread::spawn(ties).join().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let error = spawn(Command::new("/nonexistent")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
