//! The daemon that shares a link, and other work on the limits of ports.
//!
//! `nicety-police` makes the decisions. This crate asks the kernel (one worker for the
//! interfaces and one for each NIC with functions), sets and restores limits, serves guests,
//! and shows ([`board`], [`metrics`]) and records ([`record`]) each period. [`daemon`] is the
//! loop. Nothing is printed: messages are [`nicety_police::event::Event`]s, which [`log`]
//! writes.

mod admission;
pub mod adopt;
pub mod bills;
pub mod board;
pub mod client;
pub mod cluster;
pub mod daemon;
mod drops;
pub mod dry_run;
mod error;
pub mod etcd;
mod functions;
pub mod guard;
pub mod guests;
mod kernel;
pub mod log;
pub mod metrics;
pub mod names;
mod originals;
pub mod owners;
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
