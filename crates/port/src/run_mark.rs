//! Marks of runs.

use nicety_packet::RunMark;
use rustix::rand::{GetRandomFlags, getrandom};

/// A mark for a run; random, so that testers that know nothing of each other have others.
pub fn run_mark() -> RunMark {
    let mut bytes = [0; 4];
    let number = match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(4) => u32::from_ne_bytes(bytes),
        // Testers at work at once on a machine have different ones.
        _ => std::process::id(),
    };
    RunMark::of(number)
}
