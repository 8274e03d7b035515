//! Reads and changes the host: procfs, sysfs, topology, CPU load, fingerprint, facts, settings,
//! journals.

mod archive;
pub mod captures;
pub mod child;
pub mod clock;
pub mod cpu_load;
pub mod cpu_share;
pub mod facts;
pub mod fingerprint;
pub mod guest_channel;
mod hardware;
pub mod journal;
pub mod knob;
mod open_taps;
pub mod placement;
pub mod programs;
pub mod regular;
pub mod roots;
pub mod softnet;
pub mod stat;
pub mod tasks;
pub mod topology;
pub mod tree;
pub mod variable;
pub mod vsock;

pub use open_taps::{OpenTap, open_taps};
