//! Commands inside a namespace.

use anyhow::{Result, bail};
use nicety_netdev::netns::NetNs;

use crate::program::command;

/// Runs a line of a shell, or several; the first command that fails ends it.
pub fn sh(ns: &NetNs, script: &str) -> Result<()> {
    let run = || {
        let mut shell = command("sh");
        shell.args(["-ec", script]).output()
    };
    let output = ns.run(run)??;
    if !output.status.success() {
        bail!("{script}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
