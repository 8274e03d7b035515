//! Runs a plan: builds its paths, opens engines, measures cell after cell and records
//! everything. Also runs socket workloads alone ([`sock`]) and probes a machine ([`probe`]).
//!
//! [`nicety_search`] makes the decisions. Nothing is printed here: a front end is an
//! [`event::Observer`].

pub mod assemble;
mod bench;
mod builder;
pub mod constant;
mod ending;
mod engines;
pub mod error;
pub mod event;
mod fates;
pub mod follow;
mod guests;
mod links;
mod machine;
mod paths;
mod priority;
pub mod probe;
mod record;
pub mod request;
mod resets;
pub mod session;
mod setup;
mod setup_error;
pub mod soak;
pub mod sock;
mod sockets;
mod stamps;
pub mod stateful;
mod tester_limit;
mod through;
pub mod trace;

pub use ending::Ending;
pub use error::RunError;
pub use event::{Event, Observer, Stage};
pub use follow::{Ended, Follower};
pub use request::{NewDir, Place, Request};
pub use session::Session;
pub use soak::{Soak, SoakEnding};
pub use stateful::{Stateful, StatefulEvent, StatefulWanted};
pub use trace::{TraceWanted, Traced, Tracer};
