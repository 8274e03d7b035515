//! What tenants have used, kept beside the runs, and the book of the daemon that counts it.

mod columns;
mod postgres;
mod sqlite;

pub use sqlite::KeptBook;
