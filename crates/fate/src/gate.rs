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
use crate::windows::{SETTLE, TAIL, Windows};

/// Pause in which it is worth while to detach: before it attaches again the kernel may have to wait until all CPUs have
/// seen that the programs are gone.
const WORTH: Duration = Duration::from_millis(30);

/// The thread; it ends with this value, and the programs are detached.
#[derive(Debug)]
pub(crate) struct Gate {
    programs: Arc<Mutex<Programs>>,
    order: Arc<Mapping>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), Refusal>>>,
}

impl Gate {
    /// Lets the programs see frames of `trial` that are sent in `windows`.
    ///
    /// # Errors
    /// When the kernel does not attach the programs, or there is no thread to be had.
    pub(crate) fn new(
        programs: Arc<Mutex<Programs>>,
        order: Arc<Mapping>,
        trial: u8,
        windows: Windows,
    ) -> Result<Self, Refusal> {
        let mut gate = Self {
            programs,
            order,
            stop: Arc::default(),
            thread: None,
        };
        // A refusal is said before the trial.
        lock(&gate.programs).attach()?;
        let Some(pause) = windows.pause() else {
            let (mask, length) = windows.all();
            open(&gate.order, trial, clock::monotonic_ns(), [mask, length]);
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
                park_timeout(windows.next(clock::monotonic_ns()).0);
                let now = clock::monotonic_ns();
                let (_, length) = windows.next(now);
                open(&order, trial, now, [Windows::once(), length]);
                park_timeout(Duration::from_nanos(length) + TAIL);
                shut(&order);
                if detaches {
                    lock(&programs).detach();
                }
                park_timeout(windows.rest(clock::monotonic_ns()));
            }
            Ok(())
        };
        let thread = Builder::new().name("hops".to_owned()).spawn(turns);
        gate.thread = Some(thread.map_err(|error| refused(&error))?);
        Ok(gate)
    }

    /// Lets the programs see frames of `trial` in all of `windows`, which follow another machine's clock.
    ///
    /// # Errors
    /// When the kernel does not attach the programs.
    pub(crate) fn standing(
        programs: Arc<Mutex<Programs>>,
        order: Arc<Mapping>,
        trial: u8,
        windows: Windows,
    ) -> Result<Self, Refusal> {
        let gate = Self {
            programs,
            order,
            stop: Arc::default(),
            thread: None,
        };
        lock(&gate.programs).attach()?;
        let ([from, _], (mask, length)) = (windows.words(), windows.all());
        open(&gate.order, trial, from, [mask, length]);
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

fn open(words: &Mapping, trial: u8, from: u64, [mask, length]: [u64; 2]) {
    set(words, order::FROM, from);
    set(words, order::CLOCK_MASK, mask);
    set(words, order::LENGTH, length);
    set(words, order::TRIAL, ARMED | u64::from(trial));
}

fn shut(words: &Mapping) {
    set(words, order::TRIAL, 0);
}
