//! The history in a file and on a PostgreSQL server, in good use and bad.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "this is a test"
)]

mod contract;
mod postgres;
#[path = "../server/mod.rs"]
mod server;
mod session;
mod store;
mod tls;
