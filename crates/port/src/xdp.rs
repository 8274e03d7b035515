//! The `xdp` engine: frames made and counted inside the kernel, by BPF programs.
//!
//! Sending: a program run with live frames paces, stamps and sends ([`Opening`], [`Xdp`]).
//! Receiving: a program on the port accounts and drops ([`receive`]). What was measured to choose
//! this: `docs/methodology/engines.md`.

pub(crate) mod abi;
pub mod attach;
mod interrupt;
mod keep;
pub mod mapping;
pub(crate) mod maps;
pub mod object;
pub mod probe;
pub mod receive;
pub(crate) mod receivers;
mod send;
pub(crate) mod transmit;
pub mod unsupported;

pub use send::XdpSenders;

/// The engine between two ports.
pub type Xdp = crate::xdp_receive::XdpReceiveEngine<XdpSenders>;
/// The engine while its ports are opened.
pub type Opening = crate::xdp_receive::Opening<XdpSenders>;
