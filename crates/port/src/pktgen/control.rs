//! The files of pktgen in one network namespace. All orders are given by threads inside it: what
//! is written to `pgctrl` concerns the writer's namespace (`pgctrl_write` in net/core/pktgen.c).
#![allow(unsafe_code)] // edge: pthread_sigmask(3)

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nicety_netdev::netns::NetNs;

use super::device_log::{DeviceLog, Entry};
use super::text::{self, Listing, Tally};
use super::{MODULE, cannot_send};
use crate::error::PortError;
use crate::lack::{Lack, Why};

/// `/proc/net` would be that of the process's first thread.
const FILES: &str = "/proc/thread-self/net/pktgen";
/// The namespace that the process was started in.
const HOME: &str = "/proc/self/ns/net";
/// Start of the names of its threads, one per CPU.
const THREAD: &str = "kpktgend_";
/// A thread looks at its orders ten times a second (`pktgen_thread_worker`).
const LOOK: Duration = Duration::from_millis(20);
/// Looks before an order is taken for lost.
const LOOKS: u32 = 150;

/// Whether the module is loaded.
pub fn there() -> bool {
    Path::new(FILES).is_dir()
}

/// pktgen in one namespace, with the interfaces given to it here; taken back when dropped.
#[derive(Debug)]
pub(super) struct Control {
    ns: NetNs,
    /// Only where the namespace outlives the process: pktgen's part of one that does not goes
    /// with it (`pg_net_exit`).
    log: Option<DeviceLog>,
    entries: Vec<Entry>,
}

impl Control {
    /// pktgen of the calling thread's namespace, for `interface`.
    pub(super) fn open(interface: &str) -> Result<Self, PortError> {
        let refused = |why: Why| cannot_send(interface, why);
        if !there() {
            return Err(refused(Why::lacks(
                Lack::Module(MODULE),
                "the kernel has no pktgen, or it is not loaded: modprobe pktgen",
            )));
        }
        let ns = NetNs::current().map_err(|error| refused(error.to_string().into()))?;
        let home = fs::metadata(HOME).is_ok_and(|home| home.ino() == ns.inode());
        let log = match home.then(|| DeviceLog::claim(ns.inode())).transpose() {
            Ok(None) => None,
            Ok(Some(Some(log))) => Some(log),
            Ok(Some(None)) => {
                return Err(refused(
                    "another nicety uses the pktgen of this network namespace: wait for its end"
                        .into(),
                ));
            }
            Err(error) => return Err(refused(unusable("note what is given to it", &error))),
        };
        let mut control = Self {
            ns,
            log,
            entries: Vec::new(),
        };
        control.clear().map_err(refused)?;
        Ok(control)
    }

    /// The namespace.
    pub(super) fn ns(&self) -> &NetNs {
        &self.ns
    }

    /// Takes out what a killed nicety has left; says whose anything else is.
    fn clear(&mut self) -> Result<(), Why> {
        let left = self.log.as_ref().map_or(&[][..], DeviceLog::entries);
        let threads = threads().map_err(|error| unusable("look at its threads", &error))?;
        for thread in threads {
            let listing = listing(&thread).map_err(|error| unusable("look at a thread", &error))?;
            let ours = |name: &str| left.iter().any(|(t, n)| *t == thread && n == name);
            if let Some(other) = listing.all().find(|name| !ours(name)) {
                return Err(format!(
                    "somebody else has given it {other}, and it starts and stops everything at \
                     once: when nobody needs that, echo rem_device_all >/proc/net/pktgen/{thread}"
                )
                .into());
            }
            if listing.all().next().is_some() {
                remove_all(&thread).map_err(|error| unusable("clear it", &error))?;
            }
        }
        Ok(())
    }

    /// Gives `interface` to the thread of `cpu`, else to the first one. In the namespace.
    pub(super) fn add(&mut self, interface: &str, cpu: Option<u32>) -> Result<(), PortError> {
        let refused = |why: Why| cannot_send(interface, why);
        let threads =
            threads().map_err(|error| refused(unusable("look at its threads", &error)))?;
        let wanted = cpu.map(|cpu| format!("{THREAD}{cpu}"));
        let thread = match &wanted {
            Some(wanted) => threads.into_iter().find(|thread| thread == wanted),
            None => threads.into_iter().next(),
        };
        let Some(thread) = thread else {
            return Err(refused(
                format!("it has no thread {}", wanted.unwrap_or_default()).into(),
            ));
        };
        self.entries.push((thread.clone(), interface.to_owned()));
        if let Some(log) = &mut self.log {
            log.write(&self.entries)
                .map_err(|error| refused(unusable("note what is given to it", &error)))?;
        }
        order(&file(&thread), &format!("add_device {interface}"))
            .map_err(|error| refused(unusable("take the interface", &error)))
    }

    /// What the next run of `interface` is to send.
    pub(super) fn arrange(
        &self,
        interface: &str,
        frame_bytes: usize,
        frames: u64,
        delay_ns: u64,
    ) -> Result<(), PortError> {
        let orders = text::orders(frame_bytes, frames, delay_ns);
        self.inside(interface, "arrange a run", || {
            let file = file(interface);
            orders.iter().try_for_each(|text| order(&file, text))
        })
    }

    /// Runs pktgen, on a thread of its own, until all interfaces have sent everything or
    /// [`Self::stop`] is called. Should the process be killed, pktgen stops: whoever has started it
    /// waits for it, and ends it when a signal waits (`pktgen_wait_all_threads_run`). Other signals
    /// are kept from this thread.
    pub(super) fn run(&self) -> io::Result<()> {
        block_signals();
        self.ns.enter_thread().map_err(io::Error::other)?;
        order(&file("pgctrl"), "start")
    }

    /// Stops every run; the threads see it before their next frame.
    pub(super) fn stop(&self, interface: &str) -> Result<(), PortError> {
        self.inside(interface, "stop it", || order(&file("pgctrl"), "stop"))
    }

    /// Whether any interface is being sent to.
    pub(super) fn is_running(&self, interface: &str) -> Result<bool, PortError> {
        self.inside(interface, "look at its threads", || {
            for (thread, _) in &self.entries {
                if !listing(thread)?.running.is_empty() {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    /// What the last run of `interface` came to.
    pub(super) fn tally(&self, interface: &str) -> Result<Tally, PortError> {
        let text = self.inside(interface, "read its result", || {
            fs::read_to_string(file(interface))
        })?;
        Tally::of(&text)
            .ok_or_else(|| cannot_send(interface, "its result cannot be read: another kernel"))
    }

    fn inside<T: Send>(
        &self,
        interface: &str,
        operation: &str,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> Result<T, PortError> {
        let done = self.ns.run(work).map_err(io::Error::other);
        done.and_then(|done| done)
            .map_err(|error| cannot_send(interface, unusable(operation, &error)))
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let mut threads: Vec<_> = self.entries.iter().map(|(thread, _)| thread).collect();
        threads.dedup();
        // What cannot be taken back is named by the log, which then stays.
        let removed = self.ns.run(|| {
            threads
                .into_iter()
                .try_for_each(|thread| remove_all(thread))
        });
        if !matches!(removed, Ok(Ok(())))
            && let Some(log) = self.log.take()
        {
            log.keep();
        }
    }
}

/// Takes every interface from a thread, and waits until it is done.
fn remove_all(thread: &str) -> io::Result<()> {
    order(&file(thread), "rem_device_all")?;
    for _ in 0..LOOKS {
        if listing(thread)?.all().next().is_none() {
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
    Err(io::ErrorKind::TimedOut.into())
}

fn file(name: &str) -> PathBuf {
    Path::new(FILES).join(name)
}

/// One order is one write.
fn order(file: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).open(file)?;
    file.write_all(format!("{text}\n").as_bytes())
}

fn listing(thread: &str) -> io::Result<Listing> {
    Ok(Listing::of(&fs::read_to_string(file(thread))?))
}

/// All threads, that of the lowest CPU first.
fn threads() -> io::Result<Vec<String>> {
    let names = fs::read_dir(FILES)?
        .flatten()
        .map(|entry| entry.file_name());
    let mut threads: Vec<(u32, String)> = names
        .filter_map(|name| {
            let name = name.into_string().ok()?;
            Some((name.strip_prefix(THREAD)?.parse().ok()?, name))
        })
        .collect();
    threads.sort();
    Ok(threads.into_iter().map(|(_, name)| name).collect())
}

/// What could not be done and what to do about it.
fn unusable(operation: &str, error: &io::Error) -> Why {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => ": run as root (CAP_NET_ADMIN of the host)",
        io::ErrorKind::ResourceBusy => ": it has it already",
        io::ErrorKind::NotFound => ": was the module unloaded?",
        _ => "",
    };
    let words = format!("cannot {operation}: {error}{hint}");
    match error.kind() {
        io::ErrorKind::PermissionDenied => Why::lacks(Lack::Root, words),
        _ => words.into(),
    }
}

/// Keeps signals from the calling thread, but those that cannot be kept.
fn block_signals() {
    // SAFETY: the set lives for the calls, and concerns the calling thread only.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_say_what_to_do() {
        let error = |code| io::Error::from_raw_os_error(code);
        assert_eq!(
            unusable("clear it", &error(libc::EACCES)),
            Why::lacks(
                Lack::Root,
                "cannot clear it: Permission denied (os error 13): run as root (CAP_NET_ADMIN of the \
                 host)"
            )
        );
        assert!(
            unusable("x", &error(libc::EBUSY))
                .words
                .ends_with(": it has it already")
        );
    }

    #[test]
    fn without_the_module_one_line_says_so() {
        if there() {
            println!("SKIP without_the_module_one_line_says_so: pktgen is loaded");
            return;
        }
        assert_eq!(
            Control::open("eth9").unwrap_err().to_string(),
            "eth9: cannot send by pktgen: the kernel has no pktgen, or it is not loaded: modprobe \
             pktgen"
        );
    }
}
