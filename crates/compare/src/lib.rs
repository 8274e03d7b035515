//! Judges results against earlier ones: which cells are better, the same or worse, by how much,
//! and which of these could be chance. See `docs/methodology/compare.md`.

mod compare;
mod differences;
mod error;
pub mod interval;
mod judge;
mod sample;

pub use compare::{Input, Options, compare};
pub use error::CompareError;
