//! What others ask of the daemon: its state, as it has written it down, and to take its policy anew.

use std::path::Path;
use std::time::{Duration, Instant};

use nicety_host::journal::since_boot;
use nicety_model::knob::WIRE;
use nicety_model::{ProblemCode, SCHEMA};
use nicety_police::explain::Explained;
use nicety_police::report::{ReloadReport, State};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::error::NotAsked;
use crate::{Error, state};

/// Names listed for somebody who has written another one.
const NAMED: usize = 20;
/// Periods after which a state is old.
const OLD: f64 = 5.0;

/// The state of a daemon.
#[derive(Debug, Clone)]
pub struct Read {
    /// As it was written.
    pub state: State,
    /// The user who wrote it.
    owner: u32,
    /// How old it is in seconds, where that is so old that the daemon does not get on.
    pub old_s: Option<f64>,
}

/// The state of a daemon that runs.
///
/// # Errors
/// When there is none, or it cannot be read.
pub fn read(directory: &Path) -> Result<Read, Error> {
    let none = || Error::NotRunning(directory.to_owned());
    let (state, owner) = written(directory)?.ok_or_else(none)?;
    let age = since_boot().as_secs_f64() - state.written_s;
    if !state::lives(&state, owner) || age < 0.0 {
        return Err(none());
    }
    let old = age > OLD * state.period_s.max(1.0);
    Ok(Read {
        state,
        owner,
        old_s: old.then_some(age),
    })
}

/// What stands in a directory, and whose that is.
fn written(directory: &Path) -> Result<Option<(State, u32)>, Error> {
    let Some((bytes, owner)) = state::read(directory, state::STATE)? else {
        return Ok(None);
    };
    match serde_json::from_slice(&bytes) {
        Ok(state) => Ok(Some((state, owner))),
        Err(source) => {
            let file = state::file(directory);
            Err(Error::StateDamaged { file, source })
        }
    }
}

/// The state of the daemon that runs in a network namespace, with the directory that it has announced or
/// the `usual` one; none when there is none, or only others may read it.
pub fn read_quietly(usual: Option<&Path>, netns: u64) -> Option<State> {
    let places = [state::announced(netns), usual.map(Path::to_owned)];
    let mut states = places
        .into_iter()
        .flatten()
        .filter_map(|place| written(&place).ok()?);
    let (state, _) =
        states.find(|(state, owner)| state.netns == netns && state::lives(state, *owner))?;
    Some(state)
}

/// Whether a daemon in this network namespace sets the limit of a port, which is now `limit`. Where what
/// it knows cannot be read, the way of the limit tells.
pub fn governs(usual: Option<&Path>, netns: u64, port: &str, limit: &str) -> bool {
    match read_quietly(usual, netns) {
        Some(state) => {
            let mut ports = state.decision.ports.iter();
            ports.any(|known| known.place() == port)
        }
        None => limit.contains(WIRE) && state::named(),
    }
}

/// The tenant of that name, else the port with its tenant.
///
/// # Errors
/// When there is neither, with the names there are.
pub fn find(state: &State, name: &str) -> Result<Explained, Error> {
    let tenants = &state.tenants;
    let tenant = tenants.iter().find(|tenant| tenant.tenant == name);
    let found = match tenant {
        Some(tenant) => Some((tenant, None)),
        None => {
            let mut ports = state.decision.ports.iter();
            let port = ports.find(|port| port.is_called(name));
            port.and_then(|port| Some((tenants.get(port.tenant)?, Some(port.clone()))))
        }
    };
    let Some((tenant, port)) = found else {
        return Err(Error::refused(
            ProblemCode::BadValue,
            format!("the policy {} has no tenant or port {name:?}", state.policy),
            format!("write one of {}", known(state)),
        ));
    };
    let received = state.received.iter().flat_map(|of| &of.tenants);
    let mut received = received.filter(|of| of.tenant == tenant.tenant).cloned();
    Ok(Explained {
        schema: SCHEMA,
        received: received.next(),
        tenant: tenant.clone(),
        port,
    })
}

/// The first tenants and how many more names there are.
fn known(state: &State) -> String {
    let tenants = state.tenants.iter().map(|tenant| tenant.tenant.clone());
    let ports = state
        .decision
        .ports
        .iter()
        .map(|port| port.port.to_string());
    let names: Vec<String> = tenants.chain(ports).collect();
    match names.split_at_checked(NAMED) {
        Some((first, rest)) if !rest.is_empty() => {
            format!("{} or {} more", first.join(", "), rest.len())
        }
        _ => names.join(", "),
    }
}

/// Has the daemon ask anew which ports its names are, and waits for nothing. False when its policy has no names.
///
/// # Errors
/// When it cannot be asked.
pub fn poke(directory: &Path) -> Result<bool, Error> {
    let daemon = read(directory)?;
    // One that does not tell names does not know the signal, which would end it.
    if daemon.state.names.is_none() {
        return Ok(false);
    }
    signal(&daemon, Signal::USR2)?;
    Ok(true)
}

/// Sends a signal to the daemon that wrote a state, and to nobody who has its number now.
fn signal(daemon: &Read, signal: Signal) -> Result<(), Error> {
    let state = &daemon.state;
    let pid = i32::try_from(state.pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(Error::NotAsked(NotAsked::NoProcess))?;
    let refused = |source| {
        let pid = state.pid;
        Error::NotAsked(NotAsked::Refused { pid, source })
    };
    let handle = pidfd_open(pid, PidfdFlags::empty()).map_err(refused)?;
    // From here on the number is nobody else's.
    if !state::lives(state, daemon.owner) {
        return Err(Error::NotAsked(NotAsked::Ended));
    }
    pidfd_send_signal(&handle, signal).map_err(refused)
}

/// Has the daemon take its policy as the file is now, and says whether it did.
///
/// # Errors
/// When it cannot be asked, or does not answer.
pub fn reload(directory: &Path) -> Result<ReloadReport, Error> {
    let daemon = read(directory)?;
    signal(&daemon, Signal::USR1)?;
    let before = daemon.state;
    let patience = Duration::from_secs_f64(10.0 + OLD * before.period_s.clamp(0.0, 3600.0));
    let begin = Instant::now();
    let count = |state: &State| state.reloads.taken + state.reloads.refused;
    while begin.elapsed() < patience {
        std::thread::sleep(Duration::from_millis(50));
        let now = read(directory)?.state;
        if count(&now) != count(&before) {
            return Ok(ReloadReport {
                schema: SCHEMA,
                taken: now.reloads.why.is_none(),
                tenants: now.tenants.len(),
                policy: now.policy,
                why: now.reloads.why,
            });
        }
    }
    Err(Error::NotAsked(NotAsked::Silent))
}
