//! The guard of a cluster's limits: a process that lowers ports to their safe shares when the daemon does not renew
//! its orders in time. A daemon that is frozen or killed lowers nothing, and the kernel keeps its limits.
//!
//! The daemon tells the guard over a pipe how long the limits hold, before it raises any, and waits for the answer.
//! The guard has a session of its own, no right but to change interfaces, and ends by itself: when it is told to,
//! or when the daemon is gone and every port is at its safe share.

mod process;

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use nicety_model::BitRate;
use nicety_police::cluster::Orders;
use nicety_police::policy::Adopt;
use nicety_police::{Policy, PortName};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

pub use process::run;

/// How long an answer of the guard is waited for. One that takes longer is no guard.
const ANSWER: Duration = Duration::from_secs(1);
/// What the guard answers.
const TAKEN: &str = "taken";

/// What the daemon tells the guard, one JSON object on a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Word {
    /// Whose ports are guarded. First.
    Guard(Vec<Guarded>),
    /// Which ports these are from now on, as the kernel knows them: names are others at times.
    Ports(Vec<Vec<PortName>>),
    /// How long the limits hold.
    Hold {
        /// When they end (`CLOCK_BOOTTIME`); none when they are safe already.
        deadline: Option<Duration>,
        /// Safe share of each tenant, in their order.
        safe: Vec<BitRate>,
    },
    /// The daemon gives the ports back itself.
    End,
}

/// A tenant whose ports are guarded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Guarded {
    /// What to do with limits of other programs at its ports.
    adopt: Adopt,
    name: String,
    ports: Vec<PortName>,
    burst: Duration,
}

/// The guard as the daemon has it. When this is dropped without [`Self::end`], it goes on to the deadline.
#[derive(Debug)]
pub struct Guard {
    names: Vec<String>,
    /// Their ports, as it knows them.
    ports: Vec<Vec<PortName>>,
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Guard {
    /// Starts one for the tenants of `policy` that `guarded` names: this program as `police guard`, which calls
    /// [`run`]. `known` are the policy's ports as the kernel knows them.
    ///
    /// # Errors
    /// When it cannot be started, or does not answer.
    pub fn start(
        policy: &Policy,
        known: &[PortName],
        guarded: impl Fn(&str) -> bool,
    ) -> io::Result<Self> {
        // The program as it runs, also when an upgrade has replaced its file.
        let mut child = Command::new("/proc/self/exe")
            .arg0("nicety")
            .args(["police", "guard"])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (to, from) = pipes.ok_or_else(|| io::Error::other("no pipe to it"))?;
        let ports = ports_of(policy, known, &guarded);
        let tenants = policy.tenants.iter().filter(|tenant| guarded(&tenant.name));
        let tenants: Vec<Guarded> = tenants
            .zip(&ports)
            .map(|(tenant, ports)| Guarded {
                adopt: match tenant.adopt {
                    // It notes nothing, and so takes nothing away.
                    Adopt::Replace => Adopt::Cap,
                    adopt => adopt,
                },
                name: tenant.name.clone(),
                ports: ports.clone(),
                burst: tenant.burst,
            })
            .collect();
        let mut guard = Self {
            names: tenants.iter().map(|tenant| tenant.name.clone()).collect(),
            ports,
            child,
            to,
            from: BufReader::new(from),
        };
        // It asks the kernel first.
        guard.tell(&Word::Guard(tenants), 10 * ANSWER)?;
        Ok(guard)
    }

    /// Tells it which ports the tenants have, where these are others than it knows.
    ///
    /// # Errors
    /// When it does not answer: then no limit may be raised.
    pub fn follow(
        &mut self,
        policy: &Policy,
        known: &[PortName],
        guarded: impl Fn(&str) -> bool,
    ) -> io::Result<()> {
        let ports = ports_of(policy, known, guarded);
        if ports != self.ports {
            self.tell(&Word::Ports(ports.clone()), ANSWER)?;
            self.ports = ports;
        }
        Ok(())
    }

    /// Tells it until when (`CLOCK_BOOTTIME`) limits above the safe shares of `orders` may be set; none when no
    /// port has such a limit any more. When this returns, it knows.
    ///
    /// # Errors
    /// When it does not answer: then no limit may be raised.
    pub fn hold(&mut self, deadline: Option<Duration>, orders: &Orders) -> io::Result<()> {
        let safe = self.names.iter();
        let safe = safe.map(|name| orders.safe.get(name).copied().unwrap_or_default());
        let word = Word::Hold {
            deadline,
            safe: safe.collect(),
        };
        self.tell(&word, ANSWER)
    }

    /// Ends it: the ports are given back.
    pub fn end(mut self) {
        let _ = self.tell(&Word::End, ANSWER);
        let _ = self.child.wait();
    }

    fn tell(&mut self, word: &Word, wait: Duration) -> io::Result<()> {
        let mut line = serde_json::to_vec(word)?;
        line.push(b'\n');
        if !ready(&self.to, PollFlags::OUT, wait)? {
            return Err(io::ErrorKind::TimedOut.into());
        }
        // One answer for each line, so the pipe never holds more than one: this cannot wait.
        self.to.write_all(&line)?;
        if !ready(self.from.get_ref(), PollFlags::IN, wait)? {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut answer = String::new();
        self.from.read_line(&mut answer)?;
        match answer.trim() {
            TAKEN => Ok(()),
            "" => Err(io::Error::other("it has ended")),
            why => Err(io::Error::other(why.to_owned())),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // One that has ended is not left behind as a dead process; one that still guards is not waited for.
        let _ = self.child.try_wait();
    }
}

/// The ports of each guarded tenant, as the kernel knows them.
fn ports_of(
    policy: &Policy,
    known: &[PortName],
    guarded: impl Fn(&str) -> bool,
) -> Vec<Vec<PortName>> {
    let mut known = known.iter();
    let tenants = policy.tenants.iter().map(|tenant| {
        let ports = known.by_ref().take(tenant.ports.len()).cloned().collect();
        (&tenant.name, ports)
    });
    let guarded = tenants.filter(|(name, _)| guarded(name));
    guarded.map(|(_, ports)| ports).collect()
}

/// Whether a pipe can be read or written within so long.
fn ready(pipe: &impl AsFd, flags: PollFlags, wait: Duration) -> io::Result<bool> {
    let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
    let mut fds = [PollFd::new(pipe, flags)];
    Ok(poll(&mut fds, Some(&wait))? > 0)
}
