//! Network namespaces without a name: only a file descriptor keeps them alive, so that the
//! kernel itself removes them and everything in them when the process ends, however it ends.
//!
//! A namespace belongs to a thread. Only threads made for the purpose change theirs here:
//! [`NetNs::run`] uses a thread of its own per call, and [`NetNs::enter_thread`] is for worker
//! threads that stay inside until they end.

use std::fmt;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use rustix::thread::{LinkNameSpaceType, UnshareFlags};

use crate::net_error::NetError;

/// The calling thread's own network namespace.
const THREAD_NETNS: &str = "/proc/thread-self/ns/net";

/// A network namespace, alive as long as any clone of this handle is.
#[derive(Debug, Clone)]
pub struct NetNs {
    name: Arc<str>,
    file: Arc<File>,
    inode: u64,
}

impl NetNs {
    /// Makes a new, empty network namespace. `name` is only for messages.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`] without CAP_SYS_ADMIN in the caller's user namespace.
    pub fn create(name: &str) -> Result<Self, NetError> {
        on_own_thread(|| {
            unshare_thread(UnshareFlags::NEWNET)
                .map_err(|e| NetError::new("create network namespace", name, e))?;
            Self::of_thread(name)
        })?
    }

    /// The network namespace of the calling thread.
    ///
    /// # Errors
    /// When /proc is not mounted.
    pub fn current() -> Result<Self, NetError> {
        Self::of_thread("current")
    }

    /// The namespace that a file stands for, as `ip netns` makes them below `/run/netns`.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn at(path: &Path) -> Result<Self, NetError> {
        Self::of_file(&path.display().to_string(), path)
    }

    fn of_thread(name: &str) -> Result<Self, NetError> {
        Self::of_file(name, Path::new(THREAD_NETNS))
    }

    fn of_file(name: &str, path: &Path) -> Result<Self, NetError> {
        let error = |e| NetError::new("open network namespace", path.display().to_string(), e);
        let file = File::open(path).map_err(error)?;
        let inode = file.metadata().map_err(error)?.ino();
        Ok(Self {
            name: name.into(),
            file: Arc::new(file),
            inode,
        })
    }

    /// Name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its inode: tells it from the others that are alive.
    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// Whether both handles hold the same namespace.
    pub fn is_same(&self, other: &Self) -> bool {
        self.inode == other.inode
    }

    /// Runs `work` inside the namespace on a thread made for it, and returns its value.
    /// A panic of `work` goes on in the caller.
    ///
    /// # Errors
    /// When the thread cannot be made or may not enter the namespace.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NetError> {
        on_own_thread(|| {
            self.enter_thread()?;
            Ok(work())
        })?
    }

    /// Moves the calling thread into the namespace for the rest of its life. Only for threads
    /// made for this namespace: whoever calls it on a shared thread takes that thread away.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`] without CAP_SYS_ADMIN over both namespaces; a thread that is
    /// inside already needs no privilege.
    pub fn enter_thread(&self) -> Result<(), NetError> {
        if Self::current()?.is_same(self) {
            return Ok(());
        }
        rustix::thread::move_into_link_name_space(
            self.file.as_fd(),
            Some(LinkNameSpaceType::Network),
        )
        .map_err(|e| NetError::new("enter network namespace", &self.name, e))
    }
}

impl AsFd for NetNs {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl fmt::Display for NetNs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Runs `work` on a new thread, so that what it does to its thread ends with it.
pub(crate) fn on_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, NetError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("nicety-netns".to_owned())
            .spawn_scoped(scope, work)
            .map_err(|e| NetError::new("start", "a namespace thread", e))?;
        match thread.join() {
            Ok(value) => Ok(value),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Gives the calling thread namespaces of its own.
#[allow(unsafe_code)] // unshare(2) is unsafe in rustix for the sake of CLONE_FILES alone.
pub(crate) fn unshare_thread(flags: UnshareFlags) -> rustix::io::Result<()> {
    debug_assert!(!flags.contains(UnshareFlags::FILES));
    // SAFETY: CLONE_FILES is never passed, so no file descriptor can vanish from a thread that
    // holds it.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}
