//! The command line of the real binary, in good use and bad.
//!
//! Every child is started with a limit and killed by its own id when it exceeds it. Tests with
//! real traffic run one at a time, because they would take the CPU from each other.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and says what it skips"
)]

mod alerts;
mod ansible;
mod bisect;
mod blocked;
mod compare;
mod dashboards;
mod drops;
mod environment;
mod exports;
mod fleet;
mod guide;
mod harness;
mod help;
mod history;
mod hosts;
mod images;
mod inspect;
mod interrupted;
mod kubernetes;
mod lab;
mod leftovers;
mod live_page;
mod load;
mod made;
mod manner;
mod otava;
mod package;
#[path = "../docs/page.rs"]
#[allow(dead_code, reason = "the tests of the documentation use the rest")]
mod page;
mod plan_file;
mod probe;
mod recipes;
mod refused;
mod runs;
mod schema;
#[path = "../../../history/tests/server/mod.rs"]
mod server;
mod session;
mod soak;
mod stateful;
mod static_binary;
mod strangers;
mod switches;
mod team;
mod terminal;
mod tmux;
mod trace;
mod tune;
