//! Lets the programs of hops look at frames by turns.
//!
//! The programs run at every station of every frame. Looking at the clock there costs more than looking at a word
//! that hardly ever changes. So a thread keeps the time, and the word says whether there is a trial now.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle, park_timeout};
use std::time::Duration;

use nicety_port::clock;
use nicety_port::xdp::mapping::Mapping;

use crate::layout::{ARMED, hop_order as order};
use crate::refusal::{Refusal, refused};
use crate::watch::set;

/// A window and the pause beside it: long beside [`TAIL`], in which frames are read for nothing.
const PERIOD: Duration = Duration::from_millis(134);
/// Time that a frame may take: so long the programs look for frames of a window that has ended.
const TAIL: Duration = Duration::from_millis(4);
/// Longer than a trial, and half of what a stamp's clock can tell apart.
const ENDLESS: u64 = 1 << 47;

/// The thread; it ends with this value, and the programs are shut.
#[derive(Debug)]
pub(crate) struct Gate {
    order: Arc<Mapping>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Gate {
    /// Lets the programs see frames of `trial` that are sent in windows, which are `share` of the time, 0 to 1.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub(crate) fn new(order: Arc<Mapping>, trial: u8, share: f64) -> Result<Self, Refusal> {
        let mut gate = Self {
            order,
            stop: Arc::default(),
            thread: None,
        };
        let window = PERIOD.mul_f64(share.clamp(0.0, 1.0));
        let Some(pause) = PERIOD.checked_sub(window + TAIL) else {
            open(&gate.order, trial, ENDLESS);
            return Ok(gate);
        };
        let (shared, stop) = (gate.order.clone(), gate.stop.clone());
        let turns = move || {
            // The first frames of a trial are not like the others.
            park_timeout(pause / 2);
            while !stop.load(Ordering::SeqCst) {
                open(&shared, trial, window.as_nanos() as u64);
                park_timeout(window + TAIL);
                shut(&shared);
                park_timeout(pause);
            }
        };
        let thread = Builder::new().name("hops".to_owned()).spawn(turns);
        gate.thread = Some(thread.map_err(|error| refused(&error))?);
        Ok(gate)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It has nothing that could panic.
            let _ = thread.join();
        }
        shut(&self.order);
    }
}

/// A window begins now: a thread that is late moves the window, and takes no station from a frame of it.
fn open(words: &Mapping, trial: u8, length: u64) {
    set(words, order::FROM, clock::monotonic_ns());
    set(words, order::LENGTH, length);
    set(words, order::TRIAL, ARMED | u64::from(trial));
}

fn shut(words: &Mapping) {
    set(words, order::TRIAL, 0);
}
