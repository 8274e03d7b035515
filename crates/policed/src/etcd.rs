//! The edge of a cluster of police daemons: one host's session with etcd (v3 API).
//!
//! A thread of its own holds the host's lease, its place in the election and its watches. It moves values and decides
//! nothing: who gets what is decided by [`nicety_police::cluster`]. [`Session`] takes what is to be written and never
//! waits for etcd; [`Event`]s and [`Status`] say what came of it.

mod backoff;
mod connect;
mod event;
mod files;
mod forget;
mod keep;
pub mod keys;
mod lead;
mod look;
mod mailbox;
mod read;
mod register;
mod session;
mod settings;
mod trouble;
mod watch;
mod write;

pub use event::{Event, Held, Outcome, Status};
pub use forget::{ForgetError, Forgotten, forget};
pub use look::look;
pub use session::Session;
pub use settings::{Credentials, Settings, Tls};
pub use trouble::Trouble;
