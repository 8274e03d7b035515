//! Policies, shares, credit and bills from outside, and the controller on simulated links and clusters.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod bills;
mod cluster;
#[path = "../cluster_simulation/mod.rs"]
mod cluster_simulation;
mod credit;
mod drf;
mod golden;
mod policy;
mod reaction;
mod shares;
#[path = "../simulation/mod.rs"]
mod simulation;
mod strangers;
