//! Throughput search as pure machines: bounds, bisection, MLRsearch, confirmation, verdicts,
//! statistics and the order of cells.
//!
//! Nothing here has a clock or measures anything. A caller asks a machine what to try next,
//! runs it, and feeds back what happened; elapsed time is what the observations say. The same
//! observations give the same questions, which is how an interrupted run is resumed.
//!
//! Terms, formulas and what differs from draft-ietf-bmwg-mlrsearch: `docs/methodology/search.md`.

pub mod binary;
pub mod bounds;
pub mod classify;
pub mod goal;
pub mod grid;
pub mod machine;
pub mod mlr;
pub mod preset;
pub mod target;
pub mod throughput;

pub use goal::{Goal, GoalError};
pub use machine::{Ask, Left, Outcome, Search, Seen};
pub use preset::{DEFAULT_LOSS_RATIO, DEFAULT_MIN_LOAD, Settings, default_loss_ratio};
