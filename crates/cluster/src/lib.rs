//! The edge of a cluster of police daemons: one host's session with etcd (v3 API).
//!
//! A thread of its own holds the host's lease, its name, its place in the election and its watches. It moves bytes
//! and decides nothing: who gets what is decided elsewhere. [`Session`] takes what is to be written and never
//! waits for etcd; [`Event`]s and [`Status`] say what came of it.
//!
//! Below the prefix stand `schema` (what the prefix is used for), `host/NAME` (which lease has the name),
//! `leader/…` (etcd's election), `young` (see [`keys::YOUNG`]) and the keys of whoever uses the session.

mod backoff;
mod connect;
mod event;
mod files;
pub mod forget;
mod keep;
pub mod keys;
mod lead;
mod mailbox;
mod own;
mod read;
mod register;
mod session;
mod settings;
mod trouble;
mod write;

pub use event::{Change, Entry, Event, Lease, Outcome, Status};
pub use mailbox::{Batch, OwnPut, Write};
pub use session::Session;
pub use settings::{Credentials, Settings, Tls};
pub use trouble::Trouble;
