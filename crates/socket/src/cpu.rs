//! CPU time of this host during a test.

use std::time::Instant;

use nicety_host::roots::ProcRoot;
use nicety_host::stat::StatSample;
use nicety_model::sock::EndCpu;

/// Begins a window.
#[derive(Debug)]
pub(crate) struct CpuWindow {
    opened: Instant,
    before: Option<StatSample>,
}

impl CpuWindow {
    /// From now on.
    pub(crate) fn open() -> Self {
        Self {
            opened: Instant::now(),
            before: StatSample::read(&ProcRoot::live()).ok(),
        }
    }

    /// Until now; `endpoint_s` is the time of the endpoint's own threads. `None` where /proc/stat
    /// cannot be read or the window is too short for it.
    pub(crate) fn close(&self, endpoint_s: f64) -> Option<EndCpu> {
        let shares = StatSample::read(&ProcRoot::live())
            .ok()?
            .shares_since(self.before.as_ref()?);
        let elapsed_s = self.opened.elapsed().as_secs_f64();
        (!shares.is_empty() && elapsed_s > 0.0).then(|| EndCpu {
            elapsed_s,
            host_cpus: shares.len() as u32,
            // Time the hypervisor took is nobody's work here.
            host_busy_cpus: shares
                .iter()
                .map(|core| (core.busy() - core.steal).max(0.0))
                .sum(),
            endpoint_busy_cpus: endpoint_s / elapsed_s,
        })
    }
}

/// What tells this running kernel from any other; empty where it is hidden.
pub(crate) fn host_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .unwrap_or_default()
        .trim()
        .to_owned()
}
