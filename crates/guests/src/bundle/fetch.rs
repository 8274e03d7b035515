//! Fetching a bundle: once, by one process at a time, complete or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::apt::{self, Apt};
use super::listing::{self, Package};
use super::manifest::{KMOD, MANIFEST, MODULES, Manifest, SCHEMA};
use super::place;
use crate::emulator::Purpose;
use crate::error::QemuError;
use crate::root::loader;

/// Packages, lists and unpacked trees together, with room to spare.
const NEEDED_MIB: u64 = 700;

/// Trees of modules that no virtual machine here has a use for: half of the package, and of the
/// time that depmod takes.
const USELESS: [&str; 12] = [
    "sound",
    "drivers/gpu",
    "drivers/media",
    "drivers/iio",
    "drivers/hid",
    "drivers/input",
    "drivers/staging",
    "drivers/usb",
    "drivers/scsi",
    "drivers/net/wireless",
    "drivers/mtd",
    "drivers/hwmon",
];

/// Trees of modules that guests load: unpacked here once, because an emulated CPU takes seconds
/// for it at every start.
const UNPACKED: [&str; 13] = [
    "arch",
    "virt",
    "lib",
    "net",
    "crypto",
    "fs/9p",
    "fs/netfs",
    "fs/overlayfs",
    "drivers/dca",
    "drivers/i2c/algos",
    "drivers/net/ethernet/intel",
    "drivers/vfio",
    "drivers/vhost",
];
/// The same for the files of one directory: tun, tap, macvtap, veth and their like.
const UNPACKED_FILES: &str = "drivers/net";

/// Where to keep a bundle, and where it comes from.
#[derive(Debug, Clone)]
pub struct BundleSpec {
    /// The cache directory; made when missing.
    pub cache: PathBuf,
    /// What it is for.
    pub purpose: Purpose,
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

/// Fetches a bundle into `dir`, unless another process has done so meanwhile.
pub fn fetch(
    cache: &Path,
    dir: &Path,
    with_qemu: bool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), QemuError> {
    fs::create_dir_all(cache).map_err(refused("make directory", cache))?;
    let lock = lock(cache, progress)?;
    if Manifest::read(dir).is_some() {
        return Ok(());
    }
    enough_space(cache)?;
    // Only the holder of the lock makes these: what is there was left by one that was killed.
    let work = cache.join("fetching");
    remove(&work)?;
    remove(dir)?;
    let result = build(&work, with_qemu, progress).and_then(|()| {
        fs::rename(work.join("bundle"), dir).map_err(|e| QemuError::io("rename to", dir, e))
    });
    // After an error too: half a gigabyte is not left behind.
    let removed = remove(&work);
    drop(lock);
    result.and(removed)
}

/// The error for a directory in which nothing can be kept.
fn refused(operation: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> QemuError {
    move |source| QemuError::Cache {
        operation,
        path: path.to_owned(),
        source,
    }
}

/// Waits for its turn.
fn lock(cache: &Path, progress: &mut dyn FnMut(Progress<'_>)) -> Result<File, QemuError> {
    let path = cache.join("lock");
    let file = File::create(&path).map_err(refused("open", &path))?;
    if file.try_lock().is_err() {
        progress(Progress {
            step: "waiting for another nicety that fetches",
            ratio: None,
            bytes: None,
        });
        file.lock().map_err(|e| QemuError::io("lock", &path, e))?;
    }
    Ok(file)
}

fn enough_space(cache: &Path) -> Result<(), QemuError> {
    let stat =
        rustix::fs::statvfs(cache).map_err(|e| QemuError::io("look for space in", cache, e))?;
    let free_mib = stat.f_bavail.saturating_mul(stat.f_frsize) >> 20;
    if free_mib < NEEDED_MIB {
        return Err(QemuError::NoSpace {
            path: cache.to_owned(),
            free_mib,
            needed_mib: NEEDED_MIB,
        });
    }
    Ok(())
}

fn remove(path: &Path) -> Result<(), QemuError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(QemuError::io("remove", path, error))
        }
        _ => Ok(()),
    }
}

fn build(
    work: &Path,
    with_qemu: bool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), QemuError> {
    let apt = Apt::new(work.join("apt"), &place::mirror()?)?;
    let mut show = |step: &str, ratio, bytes| progress(Progress { step, ratio, bytes });
    apt.update(&mut |ratio| show("fetching Debian's package lists", Some(ratio), None))?;
    // kmod makes modules.dep, which the kernel's package lacks, and xz unpacks modules.
    let (suite, names): (_, &[&str]) = if with_qemu {
        (apt::BACKPORTS, &["qemu-system-x86", "kmod", "xz-utils"])
    } else {
        (apt::STABLE, &["kmod", "xz-utils"])
    };
    let mut packages = apt.closure(suite, names)?;
    let kernel = kernel(&apt)?;
    let release = kernel.name.trim_start_matches("linux-image-").to_owned();
    let kernel_file = format!("{}_", kernel.name);
    packages.push(kernel);
    let bytes = packages.iter().map(|package| package.bytes).sum();
    let what = if with_qemu {
        "fetching QEMU and a kernel"
    } else {
        "fetching a kernel"
    };
    let files = apt.download(&packages.iter().collect::<Vec<_>>(), &mut |ratio| {
        show(what, Some(ratio), Some(bytes));
    })?;
    let bundle = work.join("bundle");
    let (root, kernel_root) = (bundle.join("root"), bundle.join("kernel"));
    for dir in [&root, &kernel_root] {
        fs::create_dir_all(dir).map_err(|e| QemuError::io("make directory", dir, e))?;
    }
    let mut listed = archives(&files)?;
    listed.sort();
    for (index, file) in listed.iter().enumerate() {
        show("unpacking", Some(index as f64 / listed.len() as f64), None);
        let is_kernel = file
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(&kernel_file));
        apt::unpack(file, if is_kernel { &kernel_root } else { &root })?;
    }
    show("indexing kernel modules", None, None);
    let modules = kernel_root.join(MODULES).join(&release).join("kernel");
    for tree in USELESS {
        remove(&modules.join(tree))?;
    }
    let mut files = Vec::new();
    for tree in UNPACKED {
        compressed(&modules.join(tree), true, &mut files)?;
    }
    compressed(&modules.join(UNPACKED_FILES), false, &mut files)?;
    tool(
        &root,
        "usr/bin/xz",
        "xz",
        &[&["-d".into(), "--".into()], files.as_slice()].concat(),
    )?;
    let words = [
        "-b".into(),
        kernel_root.clone().into_os_string(),
        "-m".into(),
        MODULES.into(),
        release.clone().into(),
    ];
    tool(&root, KMOD, "depmod", &words)?;
    let manifest = Manifest {
        schema: SCHEMA,
        release,
        packages,
    };
    let text = serde_json::to_string_pretty(&manifest).map_err(std::io::Error::from);
    let path = bundle.join(MANIFEST);
    text.and_then(|text| fs::write(&path, text))
        .map_err(|e| QemuError::io("write", &path, e))?;
    // The name must not reach the disk before the contents.
    let file = File::open(&path).map_err(|e| QemuError::io("open", &path, e))?;
    rustix::fs::syncfs(file).map_err(|e| QemuError::io("sync", &path, e))
}

/// The package that `linux-image-amd64` stands for.
fn kernel(apt: &Apt) -> Result<Package, QemuError> {
    let listed = apt.closure(apt::STABLE, &["linux-image-amd64"])?;
    listing::kernel(&listed).cloned().ok_or_else(|| {
        let names: Vec<_> = listed.iter().map(|package| &*package.name).collect();
        QemuError::answer("the dependencies of linux-image-amd64", names.join(" "))
    })
}

fn archives(dir: &Path) -> Result<Vec<PathBuf>, QemuError> {
    let error = |e| QemuError::io("list", dir, e);
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(error)? {
        let path = entry.map_err(error)?.path();
        if path.extension().is_some_and(|end| end == "deb") {
            files.push(path);
        }
    }
    Ok(files)
}

/// Compressed modules in a directory, and in those below it.
fn compressed(dir: &Path, below: bool, files: &mut Vec<OsString>) -> Result<(), QemuError> {
    let error = |e| QemuError::io("list", dir, e);
    for entry in fs::read_dir(dir).map_err(error)? {
        let entry = entry.map_err(error)?;
        let path = entry.path();
        if entry.file_type().map_err(error)?.is_dir() {
            if below {
                compressed(&path, below, files)?;
            }
        } else if path.extension().is_some_and(|end| end == "xz") {
            files.push(path.into_os_string());
        }
    }
    Ok(())
}

/// Runs a program of the unpacked root under a name.
fn tool(root: &Path, program: &str, name: &str, arguments: &[OsString]) -> Result<(), QemuError> {
    let words = loader(root);
    let out = Command::new(&words[0])
        .args(&words[1..])
        .args(["--argv0", name])
        .arg(root.join(program))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| QemuError::io("run", &words[0], e))?;
    if out.status.success() {
        return Ok(());
    }
    Err(QemuError::failed(name, &out.stderr, "is the disk full?"))
}
