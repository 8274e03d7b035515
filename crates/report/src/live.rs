//! Live views of a terminal: a run under way, drawn into a buffer of cells.
//!
//! Nothing here touches a terminal. The application owns it, hands over keys as [`keys::Key`] and shows
//! the buffer.

pub mod board;
mod cells;
mod cpus;
mod draw;
mod grid;
pub(crate) mod help;
pub mod keys;
pub mod left;
pub(crate) mod list;
pub(crate) mod look;
pub mod metrics;
mod searched;
mod words;

#[cfg(test)]
pub(crate) mod drawn;

pub(crate) use draw::filter;
pub use draw::{Frame, full, height, inline};
pub use look::Look;
pub use words::{Words, words};
