//! Where the daemon keeps what it knows, and how it keeps a second one out.

use std::io::Write;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;

use anyhow::anyhow;
use nicety_host::journal::StateDir;
use nicety_police::{Decision, Explanation};
use serde::{Deserialize, Serialize};

use crate::exit::Failure;

/// Name of the socket in the namespace of abstract names, which every network namespace has of
/// its own (unix(7)): one daemon for each.
const NAME: &str = "nicety-police";

/// The right to set limits in this network namespace; given up when dropped or when the process
/// ends, however it ends.
pub struct Alone(#[allow(dead_code, reason = "held for its name")] UnixListener);

impl Alone {
    pub fn claim() -> Result<Self, Failure> {
        let address = SocketAddr::from_abstract_name(NAME).map_err(Failure::environment)?;
        match UnixListener::bind_addr(&address) {
            Ok(socket) => Ok(Self(socket)),
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                Err(Failure::environment(anyhow!(
                    "another nicety police runs in this network namespace; stop it first (it holds the socket @{NAME}, see ss -xlp)"
                )))
            }
            Err(error) => Err(Failure::environment(anyhow!(
                "cannot take the socket @{NAME} that keeps a second daemon out: {error}"
            ))),
        }
    }
}

/// What `status` and `explain` read.
#[derive(Debug, Serialize, Deserialize)]
pub struct State {
    pub schema: u32,
    pub pid: u32,
    /// Inode of the daemon's network namespace.
    pub netns: u64,
    pub policy: String,
    pub period_s: f64,
    /// Periods since the start.
    pub periods: u64,
    /// When this was written, in seconds since boot.
    pub written_s: f64,
    /// Limits written since the start.
    pub writes: u64,
    /// Limits that could not be written since the start.
    pub errors: u64,
    pub tenants: Vec<Explanation>,
    pub decision: Decision,
}

/// The directory asked for, or `police` below the usual one.
pub fn directory(asked: Option<&Path>) -> Result<StateDir, Failure> {
    if let Some(path) = asked {
        return StateDir::open(path).map_err(Failure::environment);
    }
    let usual = crate::tune::state::directory(None)?;
    StateDir::open(&usual.path().join("police")).map_err(Failure::environment)
}

/// Replaces the state by rename: a reader sees the old one or the new one.
pub fn write(directory: &Path, state: &State) -> std::io::Result<()> {
    let new = directory.join("state.json.new");
    let mut file = std::fs::File::create(&new)?;
    let text = serde_json::to_vec(state)?;
    file.write_all(&text)?;
    drop(file);
    std::fs::rename(new, super::state_file(directory))
}
