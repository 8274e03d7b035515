//! Changes settings of the host as transactions.
//!
//! The way of a value, each step once: [`advice`] asks the rules for findings and takes the changes
//! from them, [`apply`] sees whether the host is as they say, and for each writes the intent into the
//! journal, changes the setting and reads it back ([`transaction`]). Until somebody confirms, a
//! [`guard`] undoes it in time. Every start begins with [`Work::begin`], which undoes what was left
//! half done.
//!
//! What is decided is decided in `nicety_advisor`; what is worth saying is returned, or told as a
//! [`TuneEvent`].

pub mod advice;
pub mod apply;
pub mod boot;
mod error;
mod event;
pub mod fleet;
pub mod guard;
mod json_file;
pub mod measure;
mod origin;
mod path_mtu;
pub mod persist;
pub mod status;
#[cfg(test)]
mod tests;
pub mod transaction;
mod undo;
pub mod work;

pub use error::TuneError;
pub use event::{Listener, TuneEvent};
pub use transaction::Transaction;
pub use work::Work;
