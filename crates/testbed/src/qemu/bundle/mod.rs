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
    /// when it is new enough.
    ///
    /// # Errors
    /// When it cannot be fetched: no apt, no network, no space.
    pub fn get(
        spec: &BundleSpec,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Self, QemuError> {
        let host = Emulator::of_host();
        let cache = std::path::absolute(&spec.cache)
            .map_err(|e| QemuError::io("find directory", &spec.cache, e))?;
        let dir = cache.join(Self::dir(host.is_some()));
        if let Some(bundle) = Self::read(&cache, &dir, host.clone())? {
            return Ok(bundle);
        }
        fetch::fetch(spec, &cache, &dir, host.is_none(), progress)?;
        Self::read(&cache, &dir, host)?.ok_or_else(|| {
            let source = std::io::Error::from(std::io::ErrorKind::NotFound);
            QemuError::io("read", dir.join(MANIFEST), source)
        })
    }

    /// The bundle in the cache, with the host's own QEMU where it is new enough; none when it
    /// would have to be fetched.
    ///
    /// # Errors
    /// When what is there cannot be used.
    pub fn cached(cache: &Path) -> Result<Option<Self>, QemuError> {
        let cache =
            std::path::absolute(cache).map_err(|e| QemuError::io("find directory", cache, e))?;
        let host = Emulator::of_host();
        Self::read(&cache, &cache.join(Self::dir(host.is_some())), host)
    }

    /// Name of its directory: the host's own QEMU needs a kernel only.
    fn dir(has_host: bool) -> &'static str {
        match has_host {
            true => "debian-12-kernel",
            false => "debian-12-qemu",
        }
    }

    /// Reads a complete bundle; none when it is not there or of another version.
    fn read(cache: &Path, dir: &Path, host: Option<Emulator>) -> Result<Option<Self>, QemuError> {
        let Some(manifest) = Manifest::read(dir) else {
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
                modules: dir.join("kernel/lib/modules").join(&manifest.release),
                release: manifest.release,
            },
            loader: loader(&root),
            kmod: root.join("bin/kmod"),
            packages: manifest.packages,
            cache: cache.to_owned(),
        }))
    }
}

/// The loader of an unpacked root with the libraries there. Its link in `/lib64` is absolute
/// and would lead to the host's.
fn loader(root: &Path) -> Vec<PathBuf> {
    let mut libraries = root.join("lib/x86_64-linux-gnu").into_os_string();
    libraries.push(":");
    libraries.push(root.join("usr/lib/x86_64-linux-gnu"));
    vec![
        root.join("lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"),
        "--library-path".into(),
        libraries.into(),
    ]
}

/// The command that starts a program of an unpacked root.
pub(super) fn below_loader(root: &Path, program: &str) -> Vec<PathBuf> {
    let mut words = loader(root);
    words.push(root.join(program));
    words
}
