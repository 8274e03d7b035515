//! The documentation: its links, its commands, its language, and the pages that are made from code.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and says what it skips"
)]

mod commands;
mod language;
mod links;
mod metrics;
#[allow(dead_code, reason = "the tests that run commands use the rest")]
mod page;
mod reference;
