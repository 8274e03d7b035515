//! QEMU and a kernel from Debian packages, unpacked below a cache directory.
//!
//! Nothing is installed: `apt-get` works with lists, state and sources of its own, checks what
//! it fetches, and the packages are unpacked with `dpkg-deb -x`. QEMU comes with all libraries
//! down to the C library and is started with the loader among them, so that neither the host's
//! version nor its later updates matter. A bundle is put in place by one rename when it is
//! complete.

mod apt;
mod fetch;
mod installed;
mod listing;
mod manifest;
mod own;
pub mod place;

use std::path::{Path, PathBuf};

use crate::emulator::{Emulator, Purpose};
use crate::error::QemuError;
use crate::root::loader;
use manifest::{KMOD, MANIFEST, MODULES, Manifest};

pub use fetch::{BundleSpec, Progress};
pub use installed::KernelWish;
pub use listing::Package;

/// A kernel for guests.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Release, as `uname -r` prints it.
    pub release: String,
    /// The compressed image.
    pub image: PathBuf,
    /// The directory with `modules.dep`.
    pub modules: PathBuf,
}

impl Kernel {
    /// The error for a module that this kernel does not have.
    pub fn no_module(&self, name: &str) -> QemuError {
        QemuError::NoModule {
            release: self.release.clone(),
            name: name.to_owned(),
        }
    }
}

/// A usable QEMU and a kernel.
#[derive(Debug, Clone)]
pub struct Bundle {
    /// QEMU.
    pub emulator: Emulator,
    /// The kernel.
    pub kernel: Kernel,
    /// The loader of the unpacked programs and its options; `--argv0 NAME`, the program and
    /// its arguments follow.
    pub loader: Vec<PathBuf>,
    /// kmod, which is `modprobe` when it is called so; for guests whose root file system has
    /// none.
    pub kmod: PathBuf,
    /// The packages, with versions.
    pub packages: Vec<Package>,
    /// The cache directory, absolute.
    pub cache: PathBuf,
}

/// Directory of a bundle with a QEMU of its own, and of one that has a kernel only.
const WITH_QEMU: &str = "debian-13-qemu";
const KERNEL_ONLY: &str = "debian-13-kernel";

impl Bundle {
    /// The bundle in the cache, fetched first when it is not there. The host's own QEMU is used
    /// when it will do.
    ///
    /// # Errors
    /// When it cannot be fetched: no apt, no network, no space.
    pub fn get(
        spec: &BundleSpec,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Self, QemuError> {
        let host = Emulator::of_host(spec.purpose);
        let cache = absolute(&spec.cache)?;
        if let Some(bundle) = Self::read(&cache, host.clone())? {
            return Ok(bundle);
        }
        let dir = cache.join(if host.is_some() {
            KERNEL_ONLY
        } else {
            WITH_QEMU
        });
        fetch::fetch(&cache, &dir, host.is_none(), progress)?;
        Self::read(&cache, host)?
            .ok_or_else(|| QemuError::io("read", dir.join(MANIFEST), std::io::ErrorKind::NotFound))
    }

    /// The bundle in the cache, with the host's own QEMU where it will do for guests; none when
    /// it would have to be fetched.
    ///
    /// # Errors
    /// When what is there cannot be used.
    pub fn cached(cache: &Path) -> Result<Option<Self>, QemuError> {
        Self::read(&absolute(cache)?, Emulator::of_host(Purpose::Guests))
    }

    /// Reads a complete bundle; none when there is none of this version. The host's own QEMU
    /// needs a kernel only, and takes that of a whole bundle too: in the lab that is the one
    /// there is.
    fn read(cache: &Path, host: Option<Emulator>) -> Result<Option<Self>, QemuError> {
        let kernel_only = host.as_ref().map(|_| KERNEL_ONLY);
        let found = kernel_only.into_iter().chain([WITH_QEMU]).find_map(|name| {
            let dir = cache.join(name);
            Manifest::read(&dir).map(|manifest| (dir, manifest))
        });
        let Some((dir, manifest)) = found else {
            return Ok(None);
        };
        let root = dir.join("root");
        let emulator = match host {
            Some(host) => host,
            None => Emulator::unpacked(&root)?,
        };
        Ok(Some(Self {
            emulator,
            kernel: Kernel {
                image: dir
                    .join("kernel/boot")
                    .join(format!("vmlinuz-{}", manifest.release)),
                modules: dir.join("kernel").join(MODULES).join(&manifest.release),
                release: manifest.release,
            },
            loader: loader(&root),
            kmod: root.join(KMOD),
            packages: manifest.packages,
            cache: cache.to_owned(),
        }))
    }
}

fn absolute(path: &Path) -> Result<PathBuf, QemuError> {
    std::path::absolute(path).map_err(|e| QemuError::io("find directory", path, e))
}
