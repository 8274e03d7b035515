//! What is read of a host: of this one, of records, and of made-up trees.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod facts_live;
mod facts_record;
mod facts_trees;
