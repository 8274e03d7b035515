//! Fair shares of a link for its senders.
//!
//! A [`Policy`] says how much each tenant may have. [`Controller::step`] turns the counters of
//! one period into limits: counters become wire rates ([`meter`]), rates become demand
//! ([`demand`]), demand becomes the weighted max-min fair level with guarantees and caps
//! ([`level`]), the level becomes limits that the driver takes ([`driver`]). Only changes are
//! written, decreases first. Everything is a function of values; time is an argument.
//!
//! The daemon's other decisions are here too: which ports are refused ([`admission`]), what is
//! known of a port from period to period ([`port_watch`]), which port a name is ([`binding`]), whether the kernel answers
//! ([`liveness`]), when to read and write ([`schedule`]), what a new policy changes
//! ([`reload`]), and what is put back at the end ([`original`]). The daemon reports through
//! [`event::Event`].

pub mod admission;
pub mod adopt;
pub mod bill;
pub mod binding;
pub mod cluster;
pub mod controller;
pub mod credit;
pub mod demand;
pub mod drf;
pub mod driver;
pub mod event;
pub mod explain;
pub mod forwarded;
pub mod function;
pub mod guest;
pub mod level;
pub mod liveness;
pub mod meter;
pub mod names;
pub mod original;
pub mod pacing;
pub mod packets;
pub mod policy;
pub mod port_counters;
pub mod port_watch;
pub mod received;
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
