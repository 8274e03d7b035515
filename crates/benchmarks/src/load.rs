//! How busy the machine is meanwhile.

use anyhow::Result;
use nicety_host::roots::ProcRoot;
use nicety_host::stat::StatSample;

/// Where all CPUs stood.
#[derive(Debug)]
pub struct Begin(StatSample);

/// Of a number of CPUs, how many were busy in the mean, and how many a hypervisor took.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub cpus: f64,
    /// Without what was taken.
    pub busy: f64,
    pub steal: f64,
}

impl Begin {
    pub fn now() -> Result<Self> {
        Ok(Self(StatSample::read(&ProcRoot::live())?))
    }

    pub fn load(&self) -> Result<Load> {
        let shares = StatSample::read(&ProcRoot::live())?.shares_since(&self.0);
        Ok(Load {
            cpus: shares.len().max(1) as f64,
            busy: shares.iter().map(|cpu| cpu.busy() - cpu.steal).sum(),
            steal: shares.iter().map(|cpu| cpu.steal).sum(),
        })
    }
}
