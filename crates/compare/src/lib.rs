//! Judges results against earlier ones: which cells are better, the same or worse, by how much,
//! and which of these could be chance. See `docs/methodology/compare.md`.

pub mod bisect;
mod compare;
mod differences;
mod error;
mod figures;
pub mod interval;
mod judge;
pub mod levels;
mod sample;
pub mod trend;

pub use compare::{Input, Options, compare};
pub use differences::differences;
pub use error::CompareError;
pub use figures::figures;
