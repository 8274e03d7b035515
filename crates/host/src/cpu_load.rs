//! Where CPU time went between two moments: `/proc/stat` per CPU, threads by name.
//!
//! The kernel counts the time of a CPU by ticks unless it was built with finer accounting
//! (`CONFIG_IRQ_TIME_ACCOUNTING`, `CONFIG_VIRT_CPU_ACCOUNTING_GEN`), and prints hundredths of
//! a second: below some 200 ms the shares are coarse.

mod attribute;
mod sampler;
#[cfg(test)]
mod tests;

pub use attribute::{IRQ, OTHER, PathLabels, STEAL, TESTER, ThreadUse, us_per_frame};
pub use sampler::{CpuSampler, CpuSnapshot, CpuWindow, Watch, WatchedThread};
