//! A trial while it runs: pktgen is started, watched and stopped.

use std::time::{Duration, Instant};

use super::super::cannot_send;
use super::PktgenSenders;
use super::account::Run;
use crate::clock::monotonic_ns;
use crate::engine::{Stop, TrialOrder};
use crate::error::{PortError, PortFault};
use crate::xdp::abi::Sent;

/// How often the ports and the wish to stop are looked at.
const LOOK: Duration = Duration::from_millis(20);
/// The same while ports begin and end.
const LOOK_CLOSELY: Duration = Duration::from_millis(1);
/// Longest time for pktgen's threads to begin: they look at their orders ten times a second.
const BEGIN: Duration = Duration::from_secs(3);

impl PktgenSenders {
    /// Runs pktgen until everything is sent, the trial is to stop, or a port goes down.
    pub(super) fn send(
        &self,
        runs: &[Run<'_>],
        order: &TrialOrder,
        stop: &Stop,
    ) -> Result<(), PortError> {
        std::thread::scope(|scope| {
            let starters: Vec<_> = self
                .controls
                .iter()
                .map(|control| scope.spawn(|| control.run()))
                .collect();
            let finished = || starters.iter().all(|starter| starter.is_finished());
            let watched = self.watch(runs, order, stop, &finished);
            self.end(&finished);
            for starter in starters {
                let done = starter.join();
                let done = done.map_err(|_| PortError::new(self.name(), PortFault::Worker))?;
                done.map_err(|error| {
                    cannot_send(self.name(), format!("cannot start it: {error}"))
                })?;
            }
            watched
        })
    }

    /// Returns when pktgen has done its work, or is to be stopped.
    fn watch(
        &self,
        runs: &[Run<'_>],
        order: &TrialOrder,
        stop: &Stop,
        finished: &impl Fn() -> bool,
    ) -> Result<(), PortError> {
        let sending = Duration::from_nanos(order.longest_ns()) + LOOK;
        let (mut open, mut end) = (false, Instant::now() + BEGIN);
        // The first frame of a single port waits for nobody.
        if let [run] = runs {
            run.open_gate()?;
        }
        loop {
            if finished() {
                return Ok(());
            }
            self.check_up()?;
            let sent = runs.iter().map(Run::sent).collect::<Result<Vec<_>, _>>()?;
            if !open && sent.iter().all(|sent| sent.ready) {
                runs.iter().try_for_each(Run::open_gate)?;
                (open, end) = (true, Instant::now() + sending);
            }
            if stop.is_set() || sent.iter().all(|sent| sent.ended) {
                return Ok(());
            }
            if Instant::now() > end {
                let silent = runs.iter().zip(&sent).find(|(_, sent)| !sent.ready);
                return silent.map_or(Ok(()), |(run, _)| Err(run.silent()));
            }
            let due = sent.iter().map(|sent| left(sent, order));
            std::thread::sleep(due.min().unwrap_or(LOOK).clamp(LOOK_CLOSELY, LOOK));
        }
    }

    /// Ends every run. One whose thread has not looked at its orders yet begins all the same: an
    /// order to stop that comes before is forgotten (`pktgen_thread_worker`), so it is waited for.
    fn end(&self, finished: &impl Fn() -> bool) {
        // The last frame is counted a moment after it was made.
        std::thread::sleep(LOOK_CLOSELY);
        while !finished() {
            for control in &self.controls {
                // What cannot be told to stop ends by its count.
                if control.is_running(self.name()).unwrap_or(true) {
                    let _ = control.stop(self.name());
                }
            }
            std::thread::sleep(LOOK);
        }
    }

    /// An interface to name where all are meant.
    fn name(&self) -> &str {
        &self.ports[0].spec.interface
    }

    /// Fails when a port went down.
    fn check_up(&self) -> Result<(), PortError> {
        let mut learners = self.ports.iter().filter_map(|port| port.learner.as_ref());
        learners.try_for_each(|learner| learner.socket.check_up())
    }
}

/// Time to the end of a port's sending, if all goes well.
fn left(sent: &Sent, order: &TrialOrder) -> Duration {
    if sent.ended {
        return Duration::MAX;
    }
    let end = match sent.start_ns {
        0 => return LOOK_CLOSELY,
        start_ns => start_ns.saturating_add(order.duration.as_nanos() as u64),
    };
    Duration::from_nanos(end.saturating_sub(monotonic_ns()))
}
