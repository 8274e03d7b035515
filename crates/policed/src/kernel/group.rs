//! Ports that share a thread: the plain interfaces, or the functions of one NIC.

use std::time::{Duration, Instant};

use nicety_police::liveness::{Liveness, Silence};

use super::worker::{Answer, Worker};
use crate::Error;

/// A thread, and what is known of its answers. `S` is what it works with, `T` what it says of its ports.
#[derive(Debug)]
pub struct Group<S, T> {
    worker: Worker<S>,
    /// What it does, for those who wait.
    doing: String,
    /// Where its clock begins.
    begin: Instant,
    /// A look that has not come yet.
    look: Option<Answer<T>>,
    liveness: Liveness,
}

impl<S: 'static, T: Send + 'static> Group<S, T> {
    /// A thread of this name that opens what it needs, for which it has so much time. `doing` says what it is
    /// asked for.
    pub fn start(
        name: &str,
        doing: String,
        wait: Duration,
        open: impl FnOnce() -> Result<S, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let (worker, opened) = Worker::start(name, open)?;
        let begin = Instant::now();
        match opened.until(begin + wait) {
            Some(done) => done.what?,
            None => {
                let lasts = begin.elapsed();
                return Err(Error::Silent(Silence { doing, lasts }));
            }
        }
        Ok(Self {
            worker,
            doing,
            begin,
            look: None,
            liveness: Liveness::default(),
        })
    }

    /// Asks for a look at the ports, unless something is under way, or a look has come that nobody has taken.
    pub fn look(&mut self, job: impl FnOnce(&mut S) -> T + Send + 'static) {
        if self.look.is_none() {
            self.look = self.worker.ask(job);
            if self.look.is_some() {
                self.liveness.ask_look(self.begin.elapsed());
            }
        }
    }

    /// The look asked for, if it comes until then: else the next period may take it. One that was stuck is
    /// old and is dropped.
    pub fn take(&mut self, deadline: Instant) -> Option<T> {
        let look = self.look.take()?;
        let Some(done) = look.until(deadline) else {
            self.look = Some(look);
            self.liveness.miss();
            return None;
        };
        self.liveness.accepts(done.took).then_some(done.what)
    }

    /// Has something else done, and waits so long for its end; none when that has not come, or something is
    /// under way.
    pub fn run<A: Send + 'static>(
        &mut self,
        wait: Duration,
        job: impl FnOnce(&mut S) -> A + Send + 'static,
    ) -> Option<A> {
        let now = Instant::now();
        let answer = self.worker.ask(job)?;
        self.liveness.ask(now - self.begin);
        // A look that was never taken is older than what is done now.
        self.look = None;
        Some(answer.until(now + wait)?.what)
    }

    /// The same, after whatever is under way, unless that is stuck.
    pub fn insist<A: Send + 'static>(
        &mut self,
        wait: Duration,
        job: impl FnOnce(&mut S) -> A + Send + 'static,
    ) -> Option<A> {
        let deadline = Instant::now() + wait;
        if self.silence().is_some() || !self.worker.is_idle_by(deadline) {
            return None;
        }
        self.run(wait, job)
    }

    /// Whether it has begun to be stuck since this was last asked, then for how long and in what, or has
    /// answered again.
    pub fn turn(&mut self) -> Option<Option<Silence>> {
        let now = self.silence();
        self.liveness.turns(now.is_some()).then_some(now)
    }

    /// Goes on where another one has left off: the end of its silence is reported.
    pub fn follow(&mut self, before: &Self) {
        self.liveness.follow(&before.liveness);
    }

    /// For how long the kernel has not answered, where that is longer than it ever takes.
    pub fn silence(&self) -> Option<Silence> {
        let busy = self.worker.is_busy();
        let lasts = self.liveness.silent_for(busy, self.begin.elapsed())?;
        Some(Silence {
            doing: self.doing.clone(),
            lasts,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use nicety_police::liveness::STUCK;

    use super::*;

    const SOON: Duration = Duration::from_secs(60);

    fn group() -> Group<u32, u32> {
        Group::start("test", "testing".to_owned(), SOON, || Ok(0)).unwrap()
    }

    #[test]
    fn a_look_that_was_stuck_is_dropped_and_the_next_one_taken() {
        let mut group = group();
        for (stuck, wanted) in [(true, None), (true, Some(1)), (false, Some(1))] {
            let (let_go, gate) = channel::<()>();
            let (begin, begun) = channel::<()>();
            if !stuck {
                let_go.send(()).unwrap();
            }
            group.look(move |_| {
                let _ = begin.send(());
                let _ = gate.recv();
                1
            });
            if stuck {
                assert_eq!(group.take(Instant::now()), None);
                // Nothing else is asked for, and nothing waits behind it.
                group.look(|_| 2);
                assert_eq!(group.run(SOON, |_| 3), None);
                // On a busy machine the thread may come to it late.
                begun.recv().unwrap();
                std::thread::sleep(STUCK);
                let said = group.silence().unwrap().to_string();
                assert!(
                    said.starts_with("the kernel has not answered for "),
                    "{said}"
                );
                assert!(said.ends_with(" s (testing)"), "{said}");
                let_go.send(()).unwrap();
            }
            assert_eq!(group.take(Instant::now() + SOON), wanted);
            assert_eq!(group.silence(), None);
        }
        assert_eq!(group.run(SOON, |_| 4), Some(4));
    }

    #[test]
    fn a_look_that_is_a_little_late_is_taken_in_the_next_period() {
        let mut group = group();
        let (let_go, gate) = channel::<()>();
        group.look(move |_| u32::from(gate.recv().is_ok()));
        assert_eq!(group.take(Instant::now()), None);
        let_go.send(()).unwrap();
        group.look(|_| 7);
        assert_eq!(group.take(Instant::now() + SOON), Some(1));
    }
}
