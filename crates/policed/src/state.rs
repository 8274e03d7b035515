//! Where the daemon keeps what it knows, and how it keeps a second one out.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nicety_host::journal::{JournalError, Lock, StateDir};
use nicety_host::regular;
use nicety_host::roots::ProcRoot;
use nicety_host::tasks::TaskSample;
use nicety_netdev::only::Only;
use nicety_netdev::privilege::is_host_root;
use nicety_netdev::runtime_dir::{self, not_only_ours};
use nicety_police::event::Event;
use nicety_police::report::State;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::Uid;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::log::Log;

/// Where root's lock is.
pub const PLACE: &str = "/run/nicety";
/// The file that tells others what the daemon knows.
pub const STATE: &str = "state.json";
/// Thousands of ports have a few megabytes.
const LARGEST: u64 = 64 << 20;
/// PATH_MAX (limits.h).
const LONGEST_PATH: u64 = 4096;
/// Name of the lock and socket; the socket's is in the namespace of abstract names, which every
/// network namespace has of its own (unix(7)).
const NAME: &str = "nicety-police";

/// The right to set limits in a network namespace; given up when dropped or when the process
/// ends, however it ends.
#[allow(dead_code, reason = "held, not read")]
pub enum Alone {
    /// A file that only root can hold.
    Lock(Only),
    /// A name that others respect, unless somebody else has taken it, and a file for daemons of the same user.
    Name(Option<UnixListener>, Option<Only>),
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
        Self::without_root(&runtime_dir::place(), &name)
    }

    /// In a namespace of one's own nobody else could take the name of the socket. In the host's everybody could, which
    /// keeps no daemon out.
    fn without_root(place: &Path, name: &str) -> Result<Self, Error> {
        let socket = match UnixListener::bind_addr(&SocketAddr::from_abstract_name(NAME)?) {
            Ok(socket) => Some(socket),
            Err(error) if error.kind() == ErrorKind::AddrInUse && !named() => None,
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                return Err(another(&format!("the socket @{NAME}, see ss -xlp")));
            }
            Err(source) => {
                let what = format!("the socket @{NAME}");
                return Err(Error::Claim { what, source });
            }
        };
        let lock = place.join(name);
        let what = format!("the lock {}", lock.display());
        match Only::claim(place, name) {
            Ok(None) => Err(another(&what)),
            Err(source) if socket.is_none() => Err(Error::Claim { what, source }),
            lock => Ok(Self::Name(socket, lock.ok().flatten())),
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

/// The file that keeps a second daemon out of a network namespace.
fn lock(netns: u64) -> PathBuf {
    Path::new(PLACE).join(format!("police-{netns}.lock"))
}

/// The directory that a daemon in a network namespace has announced; it may have been killed since.
pub fn announced(netns: u64) -> Option<PathBuf> {
    let lock = lock(netns);
    let place = StateDir::find(lock.parent()?).ok()??;
    let words = place
        .bytes(lock.file_name()?.to_str()?, LONGEST_PATH)
        .ok()??;
    (!words.is_empty()).then(|| OsString::from_vec(words).into())
}

/// Whether a daemon without a lock of root's runs in the network namespace of the calling process: this user's, or
/// root's. Anybody else may have taken its name.
pub fn named() -> bool {
    holder().is_ok_and(|user| user.is_root() || user == rustix::process::geteuid())
}

/// Who has the name. One whose queue is full is not waited for.
fn holder() -> rustix::io::Result<Uid> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(
        &socket,
        &SocketAddrUnix::new_abstract_name(NAME.as_bytes())?,
    )?;
    Ok(socket_peercred(&socket)?.uid)
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

/// Whether the daemon that wrote this is there still: a process of the user whose directory the state was in. A state
/// that names another user's process would have that one get a signal.
pub fn lives(state: &State, owner: u32) -> bool {
    born_ticks(state.pid) == Some(state.born_ticks) && runs_as(state.pid, owner)
}

/// Whether a process has no other user, so that this one may send it signals (kill(2)).
fn runs_as(pid: u32, user: u32) -> bool {
    let status = ProcRoot::live().text(format!("{pid}/status"));
    status.is_some_and(|status| is_of(&status, user))
}

/// Real, effective, saved and file system's (proc_pid_status(5)).
fn is_of(status: &str, user: u32) -> bool {
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let users = users.map(|users| users.split_ascii_whitespace().map(str::parse));
    users.is_some_and(|users| users.eq([Ok(user), Ok(user), Ok(user), Ok(user)]))
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
    directory.join(STATE)
}

/// What a directory's owner has written down in a file there, and who that is; `None` where there is none.
///
/// # Errors
/// When somebody else could have written it, or it cannot be read.
pub fn read(directory: &Path, name: &str) -> Result<Option<(Vec<u8>, u32)>, JournalError> {
    let Some(place) = StateDir::find(directory)? else {
        return Ok(None);
    };
    let bytes = place.bytes(name, LARGEST)?;
    Ok(bytes.map(|bytes| (bytes, place.owner())))
}

/// What this user has written down in a file of JSON; `None` where it is missing or damaged, or somebody else's.
pub fn read_own<T: DeserializeOwned>(file: &Path) -> Option<T> {
    let (bytes, owner) = read(file.parent()?, file.file_name()?.to_str()?).ok()??;
    let own = owner == rustix::process::geteuid().as_raw();
    own.then(|| serde_json::from_slice(&bytes).ok())?
}

/// Replaces a file by rename: a reader sees the old one or the new one.
pub fn replace(file: &Path, what: &impl Serialize) -> std::io::Result<()> {
    let new = file.with_extension("json.new");
    regular::create(&new, 0o644)?.write_all(&serde_json::to_vec(what)?)?;
    std::fs::rename(new, file)
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    #[test]
    fn a_process_of_another_user_is_no_daemon_of_this_one() {
        let status = |users: &str| format!("Name:\tnicety\nUid:\t{users}\nGid:\t0\t0\t0\t0\n");
        assert!(is_of(&status("7\t7\t7\t7"), 7));
        for users in [
            "0\t0\t0\t0",
            "7\t0\t7\t7",
            "7\t7\t0\t7",
            "",
            "7\t7\t7\t7\t7",
        ] {
            assert!(!is_of(&status(users), 7), "{users:?}");
        }
        assert!(!is_of("Name:\tnicety\n", 7));
        let own = std::process::id();
        let user = rustix::process::geteuid().as_raw();
        assert!(runs_as(own, user) && !runs_as(own, user + 1));
    }

    #[test]
    fn a_stranger_with_the_name_keeps_no_daemon_out() {
        let Ok(ns) = nicety_netdev::netns::NetNs::create("alone") else {
            println!(
                "SKIP a_stranger_with_the_name_keeps_no_daemon_out: only root makes namespaces"
            );
            return;
        };
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("run");
        let claim = || Alone::without_root(&place, "police.lock");
        let another = || matches!(claim(), Err(Error::Running { .. }));
        // A thread has credentials of its own, until libc makes them the process's.
        let listen = || {
            let user = Uid::from_raw(65534);
            rustix::thread::set_thread_res_uid(user, user, user).ok()?;
            UnixListener::bind_addr(&SocketAddr::from_abstract_name(NAME).ok()?).ok()
        };
        ns.run(|| {
            let first = claim().unwrap();
            assert!(another() && named());
            drop(first);
            let stranger = std::thread::scope(|scope| scope.spawn(listen).join().unwrap());
            if stranger.is_some() {
                assert!(!named());
                let _second = claim().unwrap();
                assert!(another());
            }
        })
        .unwrap();
    }

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
