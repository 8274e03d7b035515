//! What drivers of NICs call the interrupts of their queues, and their counters.
//!
//! Both are words of each driver: the kernel has no common ones. The tables were read from the
//! drivers' sources; each line says where. Other drivers are judged by what several have in common,
//! or not at all.

mod counters;
mod meaning;
mod pattern;
mod vectors;

pub use meaning::{Meaning, Tally, meaning, tallies, tally};
pub use vectors::{is_control_vector, is_queue_vector};
