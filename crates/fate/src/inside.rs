//! Follows frames inside a guest: the host asks, the guest's agent runs the same programs there and answers.
//!
//! Question and answer are JSON objects of the channel between them. Long lists in an answer are numbers in a text, of
//! bounded length. The host takes no answer that is not exactly as one may be ([`read`]).

mod agent;
mod read;
mod wire;

use std::time::Duration;

pub use agent::Agent;
pub use read::{Told, read};
pub use wire::{Ask, Follow};

/// Longest wait for the first answer: an emulated CPU loads the programs in seconds.
pub const BEGIN_LIMIT: Duration = Duration::from_secs(60);
/// Longest wait for what was noted: an emulated CPU looks for the names of functions.
pub const END_LIMIT: Duration = Duration::from_secs(60);
/// Longest wait for the guest's clock.
pub const CLOCK_LIMIT: Duration = Duration::from_secs(5);
