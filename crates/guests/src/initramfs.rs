//! The archive a guest starts from: the running program as its first process, the libraries it
//! is linked with, and the modules it loads first.
//!
//! The program is taken as it runs, so that no second build for guests is needed. Debugging
//! sections stay behind: the loader maps segments only, and a guest pays for them with memory.

mod cpio;
mod program;

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::Path;

use rustix::fs::MemfdFlags;

pub use cpio::Archive;
pub use program::{libraries, segments};

use crate::bundle::Kernel;
use crate::error::QemuError;
use crate::modules::{MODULES_DIR, ModuleIndex};

/// Directory of the program in the guest, for `PATH`.
pub const PROGRAM_DIR: &str = "/nicety/bin";
/// The program in the guest.
pub const PROGRAM: &str = "/nicety/bin/nicety";

/// What to put into an initramfs beside the program.
#[derive(Debug)]
pub struct Contents<'a> {
    /// The guest's kernel.
    pub kernel: &'a Kernel,
    /// Modules to load first; what they need is added.
    pub modules: &'a [&'a str],
    /// Further files: path and contents.
    pub files: &'a [(&'a str, &'a [u8])],
}

/// A written initramfs.
#[derive(Debug)]
pub struct Initramfs {
    /// The archive, in memory only.
    pub file: File,
    /// Words for the kernel's command line that make the program the first process.
    pub command_line: String,
}

/// Writes an initramfs into memory.
///
/// # Errors
/// When the running program, its libraries or a module cannot be read.
pub fn build(contents: &Contents<'_>) -> Result<Initramfs, QemuError> {
    let mut archive = Archive::default();
    // The kernel gives its first process a console only when it finds this node.
    archive.device("/dev/console", 0o600, 5, 1);
    archive.device("/dev/null", 0o666, 1, 3);
    let running = Path::new("/proc/self/exe");
    let program = fs::read(running).map_err(|e| QemuError::io("read", running, e))?;
    archive.file(PROGRAM, 0o755, segments(&program));
    let mut dirs: Vec<String> = Vec::new();
    for library in libraries() {
        let bytes = fs::read(&library).map_err(|e| QemuError::io("read", &library, e))?;
        archive.file(&library, 0o755, segments(&bytes));
        let dir = library
            .rsplit_once('/')
            .map_or("/", |(dir, _)| dir)
            .to_owned();
        if !dirs.contains(&dir) {
            dirs.push(dir);
        }
    }
    let index = ModuleIndex::read(&contents.kernel.modules)?;
    let order = index
        .order(contents.modules)
        .map_err(|name| contents.kernel.no_module(name))?;
    for (number, module) in order.iter().enumerate() {
        let path = contents.kernel.modules.join(module);
        let bytes = fs::read(&path).map_err(|e| QemuError::io("read", &path, e))?;
        let name = module.rsplit('/').next().unwrap_or(module);
        archive.file(&format!("{MODULES_DIR}/{number:03}-{name}"), 0o644, &bytes);
    }
    for (path, bytes) in contents.files {
        archive.file(path, 0o644, bytes);
    }
    let file = in_memory(&archive.finish())?;
    // Parameters that the kernel does not know become the first process's environment.
    let search = if dirs.is_empty() {
        String::new()
    } else {
        format!(" LD_LIBRARY_PATH={}", dirs.join(":"))
    };
    Ok(Initramfs {
        file,
        command_line: format!("rdinit={PROGRAM}{search}"),
    })
}

fn in_memory(bytes: &[u8]) -> Result<File, QemuError> {
    let error = |e: std::io::Error| QemuError::io("write", "initramfs in memory", e);
    let fd = rustix::fs::memfd_create("nicety-initramfs", MemfdFlags::CLOEXEC)
        .map_err(|e| error(e.into()))?;
    let mut file = File::from(fd);
    file.write_all(bytes)
        .and_then(|()| file.rewind())
        .map_err(error)?;
    Ok(file)
}
