//! Threads of a switch: where they run, and under which names their time is counted.

use std::fs;

use nicety_netdev::napi::{self, NapiThread};
use nicety_netdev::net_error::NetError;

use crate::path::PathThread;

/// The threads of process `pid` that `label` has a name for. Their CPUs are read back.
pub(super) fn threads(
    pid: u32,
    label: impl Fn(&str, bool) -> Option<String>,
) -> Result<Vec<PathThread>, NetError> {
    let dir = format!("/proc/{pid}/task");
    let entries = fs::read_dir(&dir).map_err(|e| NetError::new("list", &dir, e))?;
    let mut threads = Vec::new();
    for entry in entries.flatten() {
        let Some(tid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else {
            continue;
        };
        // Threads end while we look.
        let Ok(name) = fs::read_to_string(entry.path().join("comm")) else {
            continue;
        };
        if let Some(label) = label(name.trim_end(), tid == pid) {
            let thread = NapiThread {
                name: label.clone(),
                pid: tid,
            };
            threads.push(PathThread {
                interface: label,
                cpus: napi::cpus(&thread)?,
                thread,
                unpinned: None,
                preferred: false,
            });
        }
    }
    threads.sort_by_key(|thread| thread.thread.pid);
    Ok(threads)
}
