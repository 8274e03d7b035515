//! The `pktgen` engine: the kernel's own generator makes and paces frames, a program on the way out
//! of the port turns them into test frames, and they are counted by the receive program of
//! [`crate::xdp`]. For real NICs whose driver transmits no frames of BPF programs, and for frames
//! that do not fit into the page that these and AF_XDP want. What it does and does not do:
//! `docs/methodology/engines.md`.

mod control;
mod device_log;
mod program;
mod send;
mod text;

pub use control::there;
pub use send::PktgenSenders;

/// The engine between two ports.
pub type Pktgen = crate::xdp_receive::XdpReceiveEngine<PktgenSenders>;
/// The engine while its ports are opened.
pub type Opening = crate::xdp_receive::Opening<PktgenSenders>;
