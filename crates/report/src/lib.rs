//! Renders a [`nicety_model::Run`] as terminal table, Markdown, CSV, JSON or a one-file HTML page.
//!
//! Every renderer is a function of the run and writes into the writer it is given. Renderers
//! pick and convert units; a number that the model lacks is shown as absent, never worked out
//! here. Names come from interfaces and plan files and are untrusted: each renderer escapes
//! them for its format.

pub mod advice;
pub mod compare;
pub mod csv;
mod directions;
mod doubt;
mod error;
mod estimate;
pub mod facts;
mod grid;
mod guests;
pub mod history;
pub mod html;
pub mod json;
pub mod junit;
mod legend;
pub mod markdown;
mod number;
pub mod openmetrics;
pub mod page;
mod pick;
mod place;
pub mod policed;
mod ranking;
mod row;
pub mod sock;
pub mod table;
mod threads;
pub mod words;

pub use error::ReportError;
