//! The `xdp` engine: frames made and counted inside the kernel, by BPF programs.

pub mod object;
pub mod probe;
