//! Every renderer: beside golden files, and what must hold of any run.

// Tests may read files and the environment, and fail loudly; the crate itself may not.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod answer;
mod charts;
#[path = "../common/mod.rs"]
mod common;
mod compare;
mod fleet;
mod golden;
mod history;
mod host;
mod html;
mod policed;
mod seeds;
mod text;
