//! Fair shares of a link for those who send over it.
//!
//! A [`Policy`] says who may have how much. [`Controller::step`] turns the counters of one
//! period into limits: counters become wire rates ([`meter`]), rates become demand
//! ([`demand`]), demand becomes the weighted max-min fair level with guarantees and caps
//! ([`level`]), the level becomes limits that the driver takes ([`driver`]), and only what changes
//! is written, decreases first. Everything is a function of values; time is an argument.
//!
//! The algorithm, its constants and what they were measured to do: `docs/methodology/police.md`.

pub mod controller;
pub mod demand;
pub mod driver;
pub mod explain;
pub mod guest;
pub mod level;
pub mod meter;
pub mod pacing;
pub mod policy;
pub mod record;
pub mod told;

pub use controller::{Controller, Decision, PortDecision, Seen, TenantDecision, Tuning};
pub use driver::{Driver, RateRange};
pub use explain::{Bottleneck, Explanation};
pub use level::{Level, Share};
pub use meter::{Meter, Reading, Sample};
pub use policy::{Policy, PolicyError, PortName, Tenant};
