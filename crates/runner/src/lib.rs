//! Runs a plan: builds its paths, opens engines, measures cell after cell and writes everything down.
//! Also runs socket workloads alone ([`sock`]) and says what can be done on a machine ([`probe`]).
//!
//! What is decided on the way is decided in [`nicety_search`]; nothing here is printed: whoever shows a
//! run is an [`event::Observer`].

pub mod assemble;
mod bench;
mod builder;
mod ending;
mod engines;
pub mod error;
pub mod event;
mod guests;
mod links;
mod machine;
mod paths;
pub mod probe;
mod record;
pub mod request;
pub mod session;
mod setup;
mod setup_error;
pub mod sock;
mod sockets;
mod stamps;
mod tester_limit;

pub use ending::Ending;
pub use error::RunError;
pub use event::{Event, Observer, Stage};
pub use request::{NewDir, Place, Request};
pub use session::Session;
