//! Lets the programs of hops look at frames by turns.
//!
//! The programs run at every station of every frame. An attached program that ends at once costs more than 8 % of the
//! rate, so that they are attached for windows only; attaching takes the kernel less than a millisecond, and detaching
//! does not wait for programs under way. Within that, a word says which frames are looked for: those that were sent in
//! the window, wherever they are until its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle, park_timeout};
use std::time::Duration;

use nicety_port::clock;
use nicety_port::xdp::mapping::Mapping;

use crate::layout::{ARMED, hop_order as order};
use crate::programs::Programs;
use crate::refusal::{Refusal, refused};
use crate::watch::set;

/// A window and the pause beside it: long beside [`TAIL`], in which frames are read for nothing.
const PERIOD: Duration = Duration::from_millis(134);
/// Time that a frame may take: so long the programs look for frames of a window that has ended.
const TAIL: Duration = Duration::from_millis(4);
/// To attach, the kernel stops all CPUs for a moment: frames that waited then are not like the others.
const SETTLE: Duration = Duration::from_millis(1);
/// Pause in which it is worth while to detach: before it attaches again the kernel may have to wait until all CPUs have
/// seen that the programs are gone.
const WORTH: Duration = Duration::from_millis(30);
/// Longer than a trial, and half of what a stamp's clock can tell apart.
const ENDLESS: u64 = 1 << 47;

/// The thread; it ends with this value, and the programs are detached.
#[derive(Debug)]
pub(crate) struct Gate {
    programs: Arc<Mutex<Programs>>,
    order: Arc<Mapping>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), Refusal>>>,
}

impl Gate {
    /// Lets the programs see frames of `trial` that are sent in windows, which are `share` of the time, 0 to 1.
    ///
    /// # Errors
    /// When the kernel does not attach the programs, or there is no thread to be had.
    pub(crate) fn new(
        programs: Arc<Mutex<Programs>>,
        order: Arc<Mapping>,
        trial: u8,
        share: f64,
    ) -> Result<Self, Refusal> {
        let mut gate = Self {
            programs,
            order,
            stop: Arc::default(),
            thread: None,
        };
        // A refusal is said before the trial.
        lock(&gate.programs).attach()?;
        let window = PERIOD.mul_f64(share.clamp(0.0, 1.0));
        let Some(pause) = PERIOD.checked_sub(SETTLE + window + TAIL) else {
            open(&gate.order, trial, ENDLESS);
            return Ok(gate);
        };
        let detaches = pause >= WORTH;
        if detaches {
            lock(&gate.programs).detach();
        }
        let (programs, order) = (gate.programs.clone(), gate.order.clone());
        let stop = gate.stop.clone();
        let turns = move || {
            // The first frames of a trial are not like the others.
            park_timeout(pause / 2);
            while !stop.load(Ordering::SeqCst) {
                if detaches {
                    lock(&programs).attach()?;
                }
                park_timeout(SETTLE);
                open(&order, trial, window.as_nanos() as u64);
                park_timeout(window + TAIL);
                shut(&order);
                if detaches {
                    lock(&programs).detach();
                }
                park_timeout(pause);
            }
            Ok(())
        };
        let thread = Builder::new().name("hops".to_owned()).spawn(turns);
        gate.thread = Some(thread.map_err(|error| refused(&error))?);
        Ok(gate)
    }

    /// Ends it.
    ///
    /// # Errors
    /// When the kernel did not attach the programs again.
    pub(crate) fn end(mut self) -> Result<(), Refusal> {
        self.join()
    }

    fn join(&mut self) -> Result<(), Refusal> {
        self.stop.store(true, Ordering::SeqCst);
        let ended = self.thread.take().map(|thread| {
            thread.thread().unpark();
            // It has nothing that could panic.
            thread.join()
        });
        shut(&self.order);
        lock(&self.programs).detach();
        match ended {
            Some(Ok(Err(why))) => Err(why),
            _ => Ok(()),
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // Nobody asks any more.
        let _ = self.join();
    }
}

fn lock(programs: &Mutex<Programs>) -> MutexGuard<'_, Programs> {
    programs.lock().unwrap_or_else(PoisonError::into_inner)
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
