//! A large host as `nicety inspect -o` would have recorded it, below a folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result};
use nicety_benchmarks::host::{Size, grown};

/// Eight sockets of ten cores with two threads, and as many of everything else as such a host has.
pub const SIZE: Size = Size {
    nodes: 8,
    cpus: 160,
    ports: 64,
    queues: 16,
    functions: 4,
    guests: 200,
};

/// Writes it below `root`; returns the number of files.
pub fn write(root: &Path) -> Result<usize> {
    let files = grown(&SIZE)?;
    for (path, text) in &files {
        let path = root.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    for port in 0..SIZE.ports {
        for function in 0..SIZE.functions {
            let device = format!("sys/class/net/eth{port}v{function}/device");
            fs::create_dir_all(root.join(&device))?;
            symlink("physical", root.join(device).join("physfn"))?;
        }
    }
    Ok(files.len())
}
