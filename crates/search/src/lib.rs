//! Throughput search as pure state machines: bounds, bisection, MLRsearch, confirmation,
//! verdicts, statistics and the order of cells.
//!
//! Nothing here has a clock or measures anything. A caller asks a machine for the next trial,
//! runs it, and feeds back the result; time is the sum of the observations' times. The same
//! observations give the same requests, so an interrupted run can be resumed.
//!
//! Terms, formulas and differences from RFC 9971 (MLRsearch): `docs/methodology/search.md`.

pub mod binary;
pub mod bounds;
pub mod burst;
pub mod cell;
pub mod classify;
pub mod demand;
pub mod edge;
pub mod engine;
pub mod goal;
pub mod grid;
pub mod keep;
pub mod machine;
pub mod mlr;
pub mod order;
pub mod preset;
pub mod recovery;
pub mod reset;
pub mod run;
pub mod schedule;
pub mod several;
pub mod skip;
pub mod stateful;
pub mod stats;
pub mod summary;
pub mod target;
pub mod tester_limit;
pub mod throughput;
pub mod time_box;
pub mod verdict;
pub mod visits;

pub use cell::{Cell, CellContext, CellPlan, Step};
pub use goal::{Goal, GoalError};
pub use machine::{Left, Outcome, Search, Seen, TrialRequest};
pub use preset::{DEFAULT_LOSS_RATIO, DEFAULT_MIN_LOAD, Settings, default_loss_ratio};
