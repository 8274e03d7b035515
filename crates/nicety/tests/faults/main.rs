//! Whatever happens to nicety while it changes a machine, the machine ends as it was.
//!
//! A scene is one thing that nicety does to a machine of its own, what a user does after an accident, and what must be
//! as before. A campaign lets accidents happen in it: a kill at a random moment or before a system call, an error of a
//! system call. `NICETY_FAULTS` is how many of each; without it there are a few. `make faults` makes many and a table.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and says what it skips"
)]

#[path = "../cli/harness.rs"]
#[allow(dead_code, reason = "shared with the tests of the commands")]
mod harness;
#[path = "../cli/lab.rs"]
#[allow(dead_code, reason = "shared with the tests of the commands")]
mod lab;
#[path = "../cli/leftovers.rs"]
mod leftovers;
#[path = "../cli/plan_file.rs"]
mod plan_file;
#[path = "../police/sender.rs"]
mod sender;
#[path = "../../../history/tests/server/mod.rs"]
#[allow(dead_code, reason = "shared with the tests of the history")]
mod server;
#[path = "../police/uplink.rs"]
#[allow(dead_code, reason = "shared with the tests of the police")]
mod uplink;

mod bench;
mod campaign;
mod children;
mod cluster;
mod disk;
mod driver;
mod limits;
mod machine;
mod memory;
mod pairs;
mod police;
mod powerloss;
mod settings;
mod store;
mod trace;
mod vanish;
