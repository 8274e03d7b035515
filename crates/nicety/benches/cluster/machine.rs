//! How busy the machine was, and with what: a run that something else has disturbed is named.

use anyhow::Result;
use nicety_host::roots::ProcRoot;
use nicety_host::stat::StatSample;

use crate::cost::{cpu_seconds, family};

pub struct Begin {
    stat: StatSample,
    own_s: f64,
}

/// Shares of all CPUs together, 0 to 1.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub busy: f64,
    pub steal: f64,
    /// Of programs that are not part of the benchmark.
    pub others: f64,
}

impl Begin {
    pub fn new() -> Result<Self> {
        Ok(Self {
            stat: StatSample::read(&ProcRoot::live())?,
            own_s: own()?,
        })
    }

    pub fn end(&self, seconds: f64) -> Result<Load> {
        let now = StatSample::read(&ProcRoot::live())?;
        let shares = now.shares_since(&self.stat);
        let count = shares.len().max(1) as f64;
        let busy = shares.iter().map(|cpu| cpu.busy()).sum::<f64>() / count;
        let steal = shares.iter().map(|cpu| cpu.steal).sum::<f64>() / count;
        // Interrupts are counted for nobody; packets of the benchmark make most of them.
        let irq = shares.iter().map(|cpu| cpu.irq + cpu.softirq).sum::<f64>() / count;
        let own = (own()? - self.own_s) / seconds / count;
        Ok(Load {
            busy,
            steal,
            others: (busy - steal - irq - own).max(0.0),
        })
    }
}

/// Of this process and all that it has started.
fn own() -> Result<f64> {
    let all = family(std::process::id()).into_iter();
    // One that has just ended is left out.
    Ok(all.filter_map(|id| cpu_seconds(id).ok()).sum())
}

impl Load {
    /// What has disturbed the run; `late` is how late, in seconds, readings were at the 99th percentile.
    pub fn disturbed(&self, late: f64) -> Vec<String> {
        let mut why = Vec::new();
        if self.steal > 0.02 {
            why.push(format!(
                "{:.1} % of the CPUs were stolen",
                100.0 * self.steal
            ));
        }
        if self.others > 0.1 {
            let others = 100.0 * self.others;
            why.push(format!("other programs used {others:.1} % of the CPUs"));
        }
        if self.busy > 0.85 {
            let busy = 100.0 * self.busy;
            why.push(format!("the CPUs were busy for {busy:.0} % of the time"));
        }
        if late > 0.05 {
            why.push(format!("readings were {:.0} ms late", 1000.0 * late));
        }
        why
    }
}
