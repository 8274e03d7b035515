//! Run directories on good and bad disks, of every version, and their schemas.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;
mod disk;
mod first_version;
mod run_dir;
mod schema;
