//! Fair shares of a link for those who send over it.
//!
//! A [`Policy`] says who may have how much. [`Controller::step`] turns the counters of one
//! period into limits: counters become wire rates ([`meter`]), rates become demand
//! ([`demand`]), demand becomes the weighted max-min fair level with guarantees and caps
//! ([`level`]), the level becomes limits that the driver takes ([`driver`]), and only what changes
//! is written, decreases first. Everything is a function of values; time is an argument.
//!
//! Around that stand the daemon's other decisions: which ports are refused ([`admission`]), what is known of
//! a port from period to period ([`port_watch`]), whether the kernel answers ([`liveness`]), what is looked
//! at and written when ([`schedule`]), what another policy changes ([`reload`]), what is put back at the end
//! ([`original`]). What the daemon has to say is an [`event::Event`].
//!
//! The algorithm, its constants and what they were measured to do: `docs/methodology/police.md`.

pub mod admission;
pub mod controller;
pub mod demand;
pub mod driver;
pub mod event;
pub mod explain;
pub mod forwarded;
pub mod function;
pub mod guest;
pub mod level;
pub mod liveness;
pub mod meter;
pub mod original;
pub mod pacing;
pub mod policy;
pub mod port_counters;
pub mod port_watch;
pub mod record;
pub mod reload;
pub mod report;
pub mod schedule;
pub mod shared;
pub mod snapshot;
pub mod totals;
mod tuning;
pub mod verdict;

pub use controller::{Controller, Decision, PortDecision, Seen, TenantDecision};
pub use driver::{Driver, RateRange};
pub use explain::{Bottleneck, Explanation};
pub use level::{Level, Share};
pub use meter::{Meter, Reading, Sample};
pub use policy::{Policy, PolicyError, PortName, Tenant};
pub use tuning::Tuning;
