//! A thread that asks the kernel, one job at a time.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

type Job<S> = Box<dyn FnOnce(&mut S) + Send>;

/// A thread with what it needs for its jobs: sockets, mappings, what was last seen. It ends when this is
/// dropped, which does not wait for it: a job that is stuck stays so.
#[derive(Debug)]
pub struct Worker<S> {
    jobs: Sender<Job<S>>,
    busy: Arc<Busy>,
}

/// Whether a job is under way.
#[derive(Debug, Default)]
struct Busy {
    now: Mutex<bool>,
    ends: Condvar,
}

impl Busy {
    fn now(&self) -> MutexGuard<'_, bool> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        *self.now() = false;
        self.ends.notify_all();
    }
}

/// What a job returns, later.
#[derive(Debug)]
pub struct Answer<A>(Receiver<Done<A>>);

/// What a job has returned, and how long it took.
#[derive(Debug)]
pub struct Done<A> {
    pub what: A,
    pub took: Duration,
}

impl<S: 'static> Worker<S> {
    /// A thread of this name, which opens what it needs by itself: that asks the kernel too. The answer says
    /// whether it could; nothing can be asked of one that could not.
    ///
    /// # Errors
    /// When the kernel gives no thread.
    pub fn start<E: Send + 'static>(
        name: &str,
        open: impl FnOnce() -> Result<S, E> + Send + 'static,
    ) -> io::Result<(Self, Answer<Result<(), E>>)> {
        let (jobs, todo) = channel::<Job<S>>();
        let (tell, opened) = channel();
        let busy = Arc::new(Busy::default());
        *busy.now() = true;
        let done = Arc::clone(&busy);
        let thread = move || {
            let begin = Instant::now();
            let state = open();
            done.end();
            let (state, what) = match state {
                Ok(state) => (Some(state), Ok(())),
                Err(error) => (None, Err(error)),
            };
            let took = begin.elapsed();
            // Whoever does not wait any more need not know.
            let _ = tell.send(Done { what, took });
            let Some(mut state) = state else { return };
            for job in todo {
                job(&mut state);
            }
        };
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(thread)?;
        Ok((Self { jobs, busy }, Answer(opened)))
    }

    /// Whether a job is under way.
    pub fn is_busy(&self) -> bool {
        *self.busy.now()
    }

    /// Waits until none is, but not longer than until then; false when one still is.
    pub fn is_idle_by(&self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let waited = (self.busy.ends).wait_timeout_while(self.busy.now(), left, |busy| *busy);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Has a job done; none when one is under way, or the thread has ended.
    pub fn ask<A: Send + 'static>(
        &self,
        job: impl FnOnce(&mut S) -> A + Send + 'static,
    ) -> Option<Answer<A>> {
        if std::mem::replace(&mut *self.busy.now(), true) {
            return None;
        }
        let (tell, answer) = channel();
        let busy = Arc::clone(&self.busy);
        let job = move |state: &mut S| {
            let begin = Instant::now();
            let what = job(state);
            let took = begin.elapsed();
            // First: whoever has the answer may ask again at once.
            busy.end();
            let _ = tell.send(Done { what, took });
        };
        self.jobs.send(Box::new(job)).ok()?;
        Some(Answer(answer))
    }
}

impl<A> Answer<A> {
    /// What was returned until then, if anything was. A panic of the job goes on here.
    pub fn until(&self, deadline: Instant) -> Option<Done<A>> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.0.recv_timeout(left) {
            Ok(done) => Some(done),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                std::panic::resume_unwind(Box::new("a job has panicked"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker() -> Worker<u32> {
        let (worker, opened) = Worker::start("test", || Ok::<_, ()>(1)).unwrap();
        opened.until(Instant::now() + SOON).unwrap().what.unwrap();
        worker
    }

    /// Longer than any answer takes here.
    const SOON: Duration = Duration::from_secs(60);

    #[test]
    fn an_answer_comes_while_another_thread_is_stuck() {
        let (stuck, other) = (worker(), worker());
        let (let_go, gate) = channel::<()>();
        let held = stuck
            .ask(move |state| {
                let _ = gate.recv();
                *state + 1
            })
            .unwrap();
        let answer = other.ask(|state| *state).unwrap();
        assert_eq!(answer.until(Instant::now() + SOON).unwrap().what, 1);
        // No second job waits behind one that is stuck.
        assert!(stuck.is_busy() && stuck.ask(|_| ()).is_none());
        assert!(held.until(Instant::now()).is_none());
        let_go.send(()).unwrap();
        assert_eq!(held.until(Instant::now() + SOON).unwrap().what, 2);
        assert!(!stuck.is_busy());
        assert!(stuck.ask(|_| ()).is_some());
    }

    #[test]
    fn one_that_cannot_open_what_it_needs_says_why() {
        let (worker, opened) = Worker::<u32>::start("test", || Err("no socket")).unwrap();
        let done = opened.until(Instant::now() + SOON).unwrap();
        assert_eq!(done.what, Err("no socket"));
        drop(worker);
    }

    #[test]
    fn dropping_one_that_is_stuck_does_not_wait() {
        let stuck = worker();
        let (_let_go, gate) = channel::<()>();
        let answer = stuck.ask(move |_| gate.recv().is_ok()).unwrap();
        drop(stuck);
        assert!(answer.until(Instant::now()).is_none());
    }
}
