//! A program of lowest priority on each CPU.

use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// Ends with this value.
pub struct Spinners(Vec<Child>);

impl Spinners {
    pub fn start() -> Result<Self> {
        let cpus = std::thread::available_parallelism()?.get();
        let mut spinners = Self(Vec::new());
        for cpu in 0..cpus {
            let child = Command::new("taskset")
                .args([
                    "-c",
                    &cpu.to_string(),
                    "nice",
                    "-n",
                    "19",
                    "sh",
                    "-c",
                    "while :; do :; done",
                ])
                .stdin(Stdio::null())
                .spawn()
                .context("cannot start taskset (Debian: util-linux)")?;
            spinners.0.push(child);
        }
        Ok(spinners)
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
