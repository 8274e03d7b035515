//! Runs a plan: builds its paths, opens engines, measures cell after cell and writes everything down.
//!
//! What is decided on the way is decided in [`nicety_search`]; nothing here is printed.

pub mod engines;
pub mod guests;
pub mod links;
pub mod machine;
pub mod paths;
pub mod setup;
pub mod stamps;
pub mod switches;
pub mod tester_limit;
