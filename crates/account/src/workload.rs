//! Decisions and figures of socket workloads: when a request is due, when it is given up,
//! whether another repeat is needed, how many pairs to try, and the figures from two endpoints'
//! counts.
//!
//! Formulas and sources: `docs/methodology/sockets.md`.

pub mod confidence;
pub mod figures;
pub mod open_requests;
pub mod round_trip;
pub mod saturation;
pub mod schedule;
pub mod steps;

pub use confidence::{Repeats, RepeatsError};
pub use figures::{Ends, result};
pub use open_requests::{Answer, OpenRequests, sequence_of, write_sequence};
pub use round_trip::RoundTrip;
pub use saturation::Saturation;
pub use schedule::{Schedule, share};
pub use steps::{Step, Steps};
