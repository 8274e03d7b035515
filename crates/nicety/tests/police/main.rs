//! `nicety port` and `nicety police` on namespaces of their own.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and says what it skips"
)]

#[path = "../cli/harness.rs"]
#[allow(dead_code, reason = "shared with the tests of the other commands")]
mod harness;
#[path = "../cli/lab.rs"]
#[allow(dead_code, reason = "shared with the tests of the other commands")]
mod lab;
#[path = "../docs/page.rs"]
#[allow(dead_code, reason = "the tests of the documentation use the rest")]
mod page;
#[path = "../../../history/tests/server/mod.rs"]
#[allow(dead_code, reason = "shared with the tests of the history")]
mod server;

mod adopt;
mod alerts;
mod bills;
mod bursts;
mod cluster;
mod faults;
mod guests;
mod guide;
mod least;
mod limit;
mod named;
mod packets;
mod receive;
mod reload;
mod sender;
mod served;
mod shared;
mod status;
mod stuck;
mod switched;
mod uplink;
