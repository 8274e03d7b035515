//! Bills: what every tenant has sent and received, from counters that restart, wrap, vanish with a machine, or
//! go on while nobody looks.
//!
//! A [`Book`] takes the counters of every period and adds up slots of five minutes. What is certain is counted; what
//! may have passed unseen stands beside it: a bill is a lower bound and an uncertainty. A [`statement`] makes a bill of
//! the slots.

mod book;
mod clocks;
mod growth;
mod slots;
mod statement;

pub use book::{Book, Line, Mark, Part, Passed, Sighting};
pub use clocks::Clocks;
pub use growth::{Growth, INTERFACE};
pub use slots::Moment;
pub use statement::{Grouped, statement};
