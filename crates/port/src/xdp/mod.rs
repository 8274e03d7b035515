//! The `xdp` engine: frames made and counted inside the kernel, by BPF programs.

pub mod attach;
pub mod object;
pub mod probe;
pub mod receive;
