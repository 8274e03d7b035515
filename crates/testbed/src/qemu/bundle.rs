//! QEMU and a kernel from Debian packages, unpacked below a cache directory.
//!
//! Nothing is installed: `apt-get` works with lists, state and sources of its own, checks what
//! it fetches, and the packages are unpacked with `dpkg-deb -x`. QEMU comes with all libraries
//! down to the C library and is started with the loader among them, so that neither the host's
//! version nor its later updates matter. A bundle is put in place by one rename when it is
//! complete.

mod apt;
mod fetch;
mod listing;

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Emulator, QemuError};

pub use listing::Package;

/// Where to keep a bundle, and where it comes from.
#[derive(Debug, Clone)]
pub struct BundleSpec {
    /// The cache directory; made when missing.
    pub cache: PathBuf,
    /// Address of a Debian mirror.
    pub mirror: String,
    /// What it is for.
    pub purpose: Purpose,
}

/// What a bundle's QEMU must be good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Guests that are measured.
    Guests,
    /// The lab, which emulates a CPU that runs guests of its own.
    Lab,
}

/// The mirror used unless another is named.
pub const MIRROR: &str = "http://deb.debian.org/debian";

/// The directory of caches of the user: `$XDG_CACHE_HOME/nicety`, or `~/.cache/nicety`.
///
/// # Errors
/// [`QemuError::NoCache`] when the environment names neither.
pub fn default_cache() -> Result<PathBuf, QemuError> {
    let named = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    named("XDG_CACHE_HOME")
        .or_else(|| named("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("nicety"))
        .ok_or(QemuError::NoCache)
}

/// How far fetching has come.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// What is done now.
    pub step: &'a str,
    /// Share of the step that is done, 0 to 1; absent when not known.
    pub ratio: Option<f64>,
    /// Size of the whole download in bytes, once known.
    pub bytes: Option<u64>,
}

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

/// Contents of a bundle's directory, written last.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    schema: u32,
    release: String,
    packages: Vec<Package>,
}

const MANIFEST: &str = "bundle.json";
const SCHEMA: u32 = 2;
/// Where the packages keep what is needed of them.
const MODULES: &str = "usr/lib/modules";
pub(super) const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const KMOD: &str = "usr/bin/kmod";
/// Directory of a bundle with a QEMU of its own, and of one that has a kernel only.
const WITH_QEMU: &str = "debian-13-qemu";
const KERNEL_ONLY: &str = "debian-13-kernel";

impl Manifest {
    /// The manifest of a complete bundle of this version.
    fn read(dir: &Path) -> Option<Self> {
        let text = fs::read_to_string(dir.join(MANIFEST)).ok()?;
        serde_json::from_str(&text)
            .ok()
            .filter(|manifest: &Self| manifest.schema == SCHEMA)
    }
}

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
        fetch::fetch(spec, &cache, &dir, host.is_none(), progress)?;
        Self::read(&cache, host)?.ok_or_else(|| {
            let source = std::io::Error::from(std::io::ErrorKind::NotFound);
            QemuError::io("read", dir.join(MANIFEST), source)
        })
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

/// The loader of an unpacked root with the libraries there; its link in `/lib64` may lead to the
/// host's.
fn loader(root: &Path) -> Vec<PathBuf> {
    let libraries = root.join(LIBRARIES);
    vec![
        libraries.join("ld-linux-x86-64.so.2"),
        "--library-path".into(),
        libraries,
    ]
}

fn absolute(path: &Path) -> Result<PathBuf, QemuError> {
    std::path::absolute(path).map_err(|e| QemuError::io("find directory", path, e))
}

/// The command that starts a program of an unpacked root.
pub(super) fn below_loader(root: &Path, program: &str) -> Vec<PathBuf> {
    let mut words = loader(root);
    words.push(root.join(program));
    words
}
