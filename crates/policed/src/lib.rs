//! The daemon that shares a link, and what else touches the limits of ports.
//!
//! What to do is decided in `nicety-police`. Here the kernel is asked (one worker for the interfaces and one
//! for each NIC with functions), limits are set and put back, guests are served, and what a period came to
//! is shown ([`board`], [`metrics`]) and recorded ([`record`]). [`daemon`] is the loop. Nothing is printed:
//! what there is to say is a [`nicety_police::event::Event`], which [`log`] writes.

mod admission;
pub mod board;
pub mod client;
pub mod daemon;
pub mod dry_run;
mod error;
mod functions;
pub mod guests;
mod kernel;
pub mod log;
pub mod metrics;
mod originals;
mod policy_file;
mod ports;
pub mod record;
mod service;
mod soft_limits;
mod state;
mod totals;
pub mod vf;

pub use error::{Error, NotAsked};
pub use policy_file::PolicyFile;
