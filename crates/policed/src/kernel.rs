//! The kernel's answers, without the loop hanging on any of them: a call that is stuck in a driver keeps a
//! thread of its own, and no time-out ends it.

mod group;
mod worker;

pub use group::Group;
pub use worker::Worker;
