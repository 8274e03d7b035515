//! What a user sees of the boot that proves KVM.

use std::cell::Cell;

use nicety_guests::ProofWait;

use crate::output;

const DOING: &str = "booting a kernel to see whether KVM works";

/// For a line that moves.
pub fn moving(wait: ProofWait) -> String {
    let (elapsed, most) = (wait.elapsed.as_secs(), wait.at_most.as_secs());
    format!("{DOING}, {elapsed} s of up to {most} s")
}

/// Where no line moves, one line is enough.
#[derive(Debug, Default)]
pub struct Once(Cell<bool>);

impl Once {
    /// Says it the first time; `skip` tells how to go without.
    pub fn say(&self, wait: ProofWait, skip: &str) {
        if !self.0.replace(true) {
            let most = wait.at_most.as_secs();
            output::say(&format!("nicety: {DOING}, up to {most} s{skip}"));
        }
    }
}
