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

use crate::error::PortError;
use crate::lack::Why;

pub use control::there;
pub use send::PktgenSenders;

/// The kernel's name for it.
const MODULE: &str = "pktgen";

/// It does not send through `interface`.
fn cannot_send(interface: &str, why: impl Into<Why>) -> PortError {
    PortError::send(interface, MODULE, why)
}
