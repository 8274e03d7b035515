//! Virtual functions and ports: what there is, counters, single limits, and whether they hold.

mod count;
mod counters;
pub mod inventory;
pub mod limit;
pub mod pacing;
