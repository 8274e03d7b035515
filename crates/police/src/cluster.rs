//! One tenant, one cap, many hosts: who may send how much of it where.
//!
//! A store that serialises transactions (etcd) holds one record per host of what it may send
//! ([`HostGrant`]). A [`Leader`] reads all records at one revision and writes the next ones; a
//! [`Host`] holds its record while its lease lives and falls back to a safe share before the
//! store ends it. A [`Node`] is both, fed with inputs that can be recorded and replayed ([`log`]).
//! Everything is a function of values; time is an argument.
//!
//! The sum of what the hosts may send never exceeds the cap: the proof, with its assumptions, is in
//! `docs/methodology/cluster.md`. An edge that carries this must keep five promises:
//!
//! 1. A [`Batch`] is one transaction that compares all bytes of the ledger and is applied as a whole
//!    or not at all. It may be late, lost or sent twice, and need not wait for the batch before.
//! 2. A view's [`Changes`] are whole revisions, in the order of the store.
//! 3. Before a limit is raised, the deadline and the safe shares of the [`Orders`] are with the
//!    guard, and what the output says to [remember](node::Output::remember) is on disk. No limit is
//!    raised after the deadline.
//! 4. [`Applied`] tells of limits that were read back from the kernel.
//! 5. A [`Registration`] is written while its key is absent or under its own lease, else not at all.
//!    An earlier lease of the same machine is revoked first.

pub mod demand;
pub mod event;
pub mod host;
pub mod leader;
pub mod log;
pub mod node;
pub mod settings;
pub mod status;
pub mod told;
pub mod view;
pub mod wire;

mod charge;
#[cfg(not(feature = "mutants"))]
mod mutant;
#[cfg(feature = "mutants")]
pub mod mutant;
mod pace;
mod shares;
mod totals;

#[cfg(test)]
mod model;

pub use demand::LocalDemand;
pub use event::ClusterEvent;
pub use host::{Applied, Host, HostState, Lease, Limit, Orders, Registration, Remembered};
pub use leader::{Batch, Leader};
pub use node::{Input, Node, Output};
pub use settings::{HostSettings, Margin};
pub use view::{Change, Changes, Joining, View};
pub use wire::{Grant, HostGrant, HostReport, Leadership, Ledger, Member, Total, Usage, WireError};
