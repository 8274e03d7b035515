//! Where the daemon keeps what it knows, and how it keeps a second one out.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nicety_host::journal::{JournalError, Lock, StateDir};
use nicety_host::roots::ProcRoot;
use nicety_host::tasks::TaskSample;
use nicety_netdev::only::Only;
use nicety_police::report::State;

use crate::Error;

/// Where root's lock is.
pub const PLACE: &str = "/run/nicety";
/// Name of the lock and socket; the socket's is in the namespace of abstract names, which every
/// network namespace has of its own (unix(7)).
const NAME: &str = "nicety-police";

/// The right to set limits in a network namespace; given up when dropped or when the process
/// ends, however it ends.
#[allow(dead_code, reason = "held, not read")]
pub enum Alone {
    /// A file that only root can hold.
    Lock(Only),
    /// In a namespace of one's own there is nobody else who could take the name.
    Name(UnixListener),
}

impl Alone {
    /// `netns` is the inode of the network namespace.
    ///
    /// # Errors
    /// [`Error::Running`] when another daemon has it.
    pub fn claim(netns: u64) -> Result<Self, Error> {
        let path = lock(netns);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match Only::claim(Path::new(PLACE), &name) {
            Ok(Some(lock)) => return Ok(Self::Lock(lock)),
            Ok(None) => return Err(another(&format!("the lock {}", path.display()))),
            // Root of a user namespace only, or of a container.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
                ) => {}
            Err(source) => {
                let what = format!("the lock {}", path.display());
                return Err(Error::Claim { what, source });
            }
        }
        let address = SocketAddr::from_abstract_name(NAME)?;
        match UnixListener::bind_addr(&address) {
            Ok(socket) => Ok(Self::Name(socket)),
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                Err(another(&format!("the socket @{NAME}, see ss -xlp")))
            }
            Err(source) => Err(Error::Claim {
                what: format!("the socket @{NAME}"),
                source,
            }),
        }
    }

    /// Writes into the lock where what the daemon knows is, for commands that are not told its directory.
    pub fn announce(&self, directory: &Path) {
        if let (Self::Lock(lock), Ok(whole)) = (self, directory.canonicalize()) {
            // Who cannot read it there looks into the usual directory.
            let _ = lock.write(whole.as_os_str().as_bytes());
        }
    }
}

/// The file that keeps a second daemon out of a network namespace.
fn lock(netns: u64) -> PathBuf {
    Path::new(PLACE).join(format!("police-{netns}.lock"))
}

/// The directory that a daemon in a network namespace has announced; it may have been killed since.
pub fn announced(netns: u64) -> Option<PathBuf> {
    let words = std::fs::read(lock(netns)).ok()?;
    (!words.is_empty()).then(|| OsString::from_vec(words).into())
}

/// Whether a daemon without a lock of root's runs in the network namespace of the calling process.
pub fn named() -> bool {
    let address = SocketAddr::from_abstract_name(NAME);
    address.is_ok_and(|address| UnixStream::connect_addr(&address).is_ok())
}

fn another(holds: &str) -> Error {
    let holds = holds.to_owned();
    Error::Running { holds }
}

/// When a process was started; none when it is gone, or has ended and only its parent's note of
/// it is missing.
pub fn born_ticks(pid: u32) -> Option<u64> {
    let sample = TaskSample::read(&ProcRoot::live(), pid).ok()?;
    (!sample.ended).then_some(sample.start_ticks)
}

/// Whether the daemon that wrote this is there still.
pub fn lives(state: &State) -> bool {
    born_ticks(state.pid) == Some(state.born_ticks)
}

/// Takes the directory, made when it is missing, for as long as the lock is held: a daemon in another
/// network namespace would write over what this one knows.
///
/// # Errors
/// When it cannot be made, or another one has it.
pub fn take(directory: &Path) -> Result<(StateDir, Lock), Error> {
    let state = StateDir::open(directory)?;
    match state.lock(Duration::ZERO) {
        Ok(lock) => Ok((state, lock)),
        Err(JournalError::Busy { path }) => Err(Error::StateTaken(path)),
        Err(error) => Err(error.into()),
    }
}

/// The file that `status` and `explain` read.
pub fn file(directory: &Path) -> PathBuf {
    directory.join("state.json")
}

/// Replaces the state by rename: a reader sees the old one or the new one.
///
/// # Errors
/// Those of the disk.
pub fn write(directory: &Path, state: &State) -> std::io::Result<()> {
    let new = directory.join("state.json.new");
    let text = serde_json::to_vec(state)?;
    std::fs::write(&new, text)?;
    std::fs::rename(new, file(directory))
}
