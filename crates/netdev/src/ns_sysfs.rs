//! /sys as another network namespace sees it, without touching anybody's mount table.
//!
//! `/sys/class/net` shows the namespace it was mounted from. A detached mount (fsopen(2),
//! fsmount(2)) made by a thread inside the namespace is reached through its file descriptor
//! only, and vanishes with it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags};
use rustix::thread::UnshareFlags;

use crate::link::check_name;
use crate::net_error::NetError;
use crate::netns::{NetNs, unshare_thread};

/// sysfs of one network namespace.
#[derive(Debug)]
pub struct NsSysfs {
    root: OwnedFd,
    ns: NetNs,
}

impl NsSysfs {
    /// Mounts sysfs for `ns`: detached, or in a mount namespace that ends at once where the
    /// kernel lacks fsmount(2).
    ///
    /// # Errors
    /// [`NetError::NotPermitted`] when the process may not mount: it needs CAP_SYS_ADMIN over
    /// the namespace and a mount namespace that belongs to its user namespace.
    pub fn mount(ns: &NetNs) -> Result<Self, NetError> {
        Self::mounted_by(ns, || detached().or_else(|_| in_passing_mount_namespace()))
    }

    /// As [`Self::mount`], the way that works before Linux 5.2 and where a sandbox forbids
    /// fsopen(2): mounted in a mount namespace that is gone when this returns.
    ///
    /// # Errors
    /// As [`Self::mount`].
    pub fn mount_in_passing(ns: &NetNs) -> Result<Self, NetError> {
        Self::mounted_by(ns, in_passing_mount_namespace)
    }

    fn mounted_by(
        ns: &NetNs,
        mount: impl FnOnce() -> io::Result<OwnedFd> + Send,
    ) -> Result<Self, NetError> {
        let root = ns
            .run(mount)?
            .map_err(|e| NetError::new("mount sysfs of namespace", ns, e))?;
        Ok(Self {
            root,
            ns: ns.clone(),
        })
    }

    /// A path to it, valid as long as this value is.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.root.as_raw_fd()))
    }

    /// Reads attribute `file` of an interface (`threaded`, `queues/rx-0/rps_cpus`), white space
    /// at the ends removed.
    ///
    /// # Errors
    /// [`NetError::BadName`], [`NetError::NotFound`], or what the driver says.
    pub fn read(&self, interface: &str, file: &str) -> Result<String, NetError> {
        let path = attribute(interface, file)?;
        let mut text = String::new();
        self.open(&path, OFlags::RDONLY)
            .and_then(|mut file| file.read_to_string(&mut text))
            .map_err(|e| self.error("read", &path, e))?;
        Ok(text.trim().to_owned())
    }

    /// Writes attribute `file` of an interface and returns what stood there before.
    ///
    /// # Errors
    /// As [`Self::read`]; [`NetError::NotPermitted`] where only root of the initial user
    /// namespace may write (`rps_cpus`).
    pub fn write(&self, interface: &str, file: &str, value: &str) -> Result<String, NetError> {
        let old = self.read(interface, file)?;
        let path = attribute(interface, file)?;
        self.open(&path, OFlags::WRONLY)
            .and_then(|mut file| file.write_all(value.as_bytes()))
            .map_err(|e| self.error("write", &path, e))?;
        Ok(old)
    }

    fn open(&self, path: &str, flags: OFlags) -> io::Result<File> {
        let file = rustix::fs::openat(&self.root, path, flags | OFlags::CLOEXEC, Mode::empty())?;
        Ok(File::from(file))
    }

    fn error(&self, operation: &'static str, path: &str, source: io::Error) -> NetError {
        NetError::new(operation, self.ns.has(&format!("/sys/{path}")), source)
    }
}

fn attribute(interface: &str, file: &str) -> Result<String, NetError> {
    check_name(interface)?;
    Ok(format!("class/net/{interface}/{file}"))
}

fn detached() -> io::Result<OwnedFd> {
    let context = rustix::mount::fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(&context)?;
    // The same restrictions the host's own /sys has: a user namespace may not mount a less
    // restricted one (fs/namespace.c, mount_too_revealing).
    let restricted = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    Ok(rustix::mount::fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        restricted,
    )?)
}

/// Mounts over /sys in a mount namespace of the calling thread; the descriptor outlives both.
fn in_passing_mount_namespace() -> io::Result<OwnedFd> {
    unshare_thread(UnshareFlags::NEWNS)?;
    let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    match rustix::mount::mount_change("/", private) {
        // In a chroot no mount is at the root; what is mounted over is enough.
        Err(Errno::INVAL) => rustix::mount::mount_change("/sys", private)?,
        done => done?,
    }
    rustix::mount::mount(
        "sysfs",
        "/sys",
        "sysfs",
        MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC,
        None,
    )?;
    Ok(rustix::fs::open(
        Path::new("/sys"),
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?)
}
