//! What is compared with what, and how often chance alone makes a difference.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod chance;
mod common;
mod rules;
