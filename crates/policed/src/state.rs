//! Where the daemon keeps what it knows, and how it keeps a second one out.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nicety_host::journal::{JournalError, Lock, StateDir};
use nicety_host::roots::ProcRoot;
use nicety_host::tasks::TaskSample;
use nicety_netdev::only::Only;
use nicety_netdev::runtime_dir::not_only_ours;
use nicety_police::event::Event;
use nicety_police::report::State;
use serde::Serialize;

use crate::Error;
use crate::log::Log;

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
    /// `netns` is the inode of the network namespace. An unsafe directory of the lock is reported.
    ///
    /// # Errors
    /// [`Error::Running`] when another daemon has it.
    pub fn claim(netns: u64, log: &Log) -> Result<Self, Error> {
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
                ) =>
            {
                let directory = Path::new(PLACE).to_owned();
                if let Some(why) = doubt(&directory, is_host_root()) {
                    log.report(&Event::LockUnsafe { directory, why });
                }
            }
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

/// What is wrong with the lock's directory. In a user namespace the host's is somebody else's, as it should be.
fn doubt(directory: &Path, is_host_root: bool) -> Option<String> {
    let found = directory.symlink_metadata().ok()?;
    let own = found.uid() == rustix::process::geteuid().as_raw();
    let why = if found.is_dir() {
        not_only_ours(&found)?
    } else {
        "is not a directory"
    };
    (own || is_host_root).then(|| why.to_owned())
}

/// Root, and all users are who they seem to be (user_namespaces(7)).
pub fn is_host_root() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let words: Vec<&str> = map.split_ascii_whitespace().collect();
    rustix::process::geteuid().is_root() && words == ["0", "0", "4294967295"]
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

/// Replaces a file by rename: a reader sees the old one or the new one.
pub fn replace(file: &Path, what: &impl Serialize) -> std::io::Result<()> {
    let new = file.with_extension("json.new");
    std::fs::write(&new, serde_json::to_vec(what)?)?;
    std::fs::rename(new, file)
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    #[test]
    fn an_unsafe_directory_of_the_lock_is_named_as_any_user() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("run");
        assert_eq!(doubt(&place, true), None);
        std::fs::create_dir(&place).unwrap();
        set_permissions(&place, Permissions::from_mode(0o711)).unwrap();
        assert_eq!(doubt(&place, true), None);
        set_permissions(&place, Permissions::from_mode(0o1777)).unwrap();
        for host in [true, false] {
            let why = doubt(&place, host);
            assert_eq!(why.as_deref(), Some("can be written by others"));
        }
        set_permissions(&place, Permissions::from_mode(0o711)).unwrap();
        if rustix::process::geteuid().is_root() && chown(&place, Some(65534), None).is_ok() {
            let why = doubt(&place, true);
            assert_eq!(why.as_deref(), Some("belongs to another user"));
            // The host's, seen from a namespace of a user's own.
            assert_eq!(doubt(&place, false), None);
        }
    }
}
