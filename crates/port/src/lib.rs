//! Engines that send and receive test frames.
//!
//! An [`Engine`] runs one trial between two ports: it takes a number of frames and a rate
//! ([`TrialOrder`]) and returns what it sent and what arrived ([`EngineReport`]). It
//! chooses no loads, retries nothing and reads no counters but its own.
//!
//! - [`xdp`]: BPF programs that send and count inside the kernel; fastest, needs root and 5.18.
//! - [`af_xdp`]: AF_XDP sockets that send, and the same program that counts; for drivers and
//!   kernels that do not transmit what a program makes.
//! - [`pktgen`]: the kernel's own generator, stamped on the way out; for drivers that have neither.
//! - [`probes`]: frames beside the load that NICs stamp, with any engine.
//! - [`af_packet`]: packet sockets; works on every interface, and without root in a user
//!   namespace.

pub mod af_packet;
pub mod af_xdp;
#[cfg(test)]
mod amid_frames;
pub mod auto;
pub mod capture;
pub mod clock;
pub mod distance;
pub mod engine;
mod error;
mod lack;
mod marks;
mod memory;
pub mod pace;
pub mod pin;
pub mod pktgen;
pub mod probes;
mod rest;
mod run_mark;
mod sending;
mod slots;
mod sockopt;
pub mod stalls;
mod stamped;
pub mod stillness;
pub mod xdp;
pub mod xdp_receive;

pub use engine::{
    Arrivals, Engine, EngineReport, LostFrame, Part, SenderReport, Slots, Stop, TimedFrame,
    TrialOrder, WorkerUse, XdpCounts,
};
pub use error::{PortError, PortFault};
pub use lack::{Lack, Why};
pub use rest::Rest;
pub use run_mark::run_mark;
