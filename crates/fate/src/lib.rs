//! Notes why the kernel throws away which test frame.
//!
//! A BPF program on the kernel's tracepoint `kfree_skb` recognises test frames by their stamp and
//! writes one byte per number: a cause, which is a place in the kernel's code, an interface and a
//! reason. [`nicety_account::fate`] joins these with the numbers that arrived.
//!
//! The agent of a guest runs the same programs there ([`inside`]), and the host reads what it says.
//!
//! [`Drops`] counts what the kernel throws away on the whole machine, test frames or not.
//!
//! What the tracepoint does not tell: XDP frames (of the `xdp` engine, before they become ordinary
//! ones; what a transmit refuses is counted by [`XdpLost`]), frames that stand unread in a ring, and those for which a packet socket had no room. These
//! are classes of their own, see [`nicety_model::FateCause`].

mod btf;
mod drops;
mod flows;
mod gate;
mod hops;
pub mod inside;
mod kernel;
mod layout;
mod loaded;
mod names;
mod object;
mod pages;
mod programs;
mod refusal;
mod stations;
mod symbols;
mod watch;
mod windows;
mod xdp;

pub use drops::{Drops, PLACES, Read};
pub use flows::{Flows, Followed};
pub use hops::{Hops, Passed};
pub use names::{Named, TesterPorts};
pub use object::missing;
pub use refusal::Refusal;
pub use watch::{Fates, NUMBERS_MAX, Noting};
pub use windows::Windows;
pub use xdp::XdpLost;
