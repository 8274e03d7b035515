//! How far a run is, drawn on a few lines of a terminal.

pub mod board;
mod draw;
mod span;

pub use draw::{Canvas, Marks, draw, thousands};
pub use span::text;
