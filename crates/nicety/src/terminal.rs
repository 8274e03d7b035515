//! The terminal that a live view is drawn on, and how it gets back what was found.
//!
//! Two ways to draw on it. A run that also writes results has a few lines below them, as users of cargo
//! and hyperfine know it: what was written stays in the scroll-back. A view that is nothing but a view
//! has the whole screen, the alternate one, which leaves nothing behind.
//!
//! `ratatui::Terminal` is not used for the few lines. It asks the terminal where its cursor is, on
//! standard output, which may be a file, and waits for the answer on standard input, which may be none;
//! and it loses its lines when the terminal wraps them anew. Here the cursor rests at the first
//! character of the view. Terminals keep the cursor at its character when their size changes, so all
//! that is old is below it and can be removed.
//!
//! Keys are read without echo and line by line no more, but Ctrl-C, Ctrl-Z and the output stay the
//! kernel's: a program that hangs can be ended.

mod events;
mod modes;
mod paint;
mod screen;
mod stream;

pub use events::{Asked, Events};
pub use screen::Screen;
pub use stream::Stream;
