//! What one port has sent in one trial: the program's account, pktgen's and the queue's agree.

use nicety_netdev::net_error::NetError;
use nicety_netdev::qdisc;

use super::super::cannot_send;
use super::super::control::Control;
use super::super::text::Tally;
use super::{Loaded, PktgenPort};
use crate::af_packet::Refusal;
use crate::engine::WorkerUse;
use crate::error::PortError;
use crate::sending::Sending;
use crate::xdp::abi::Sent;

/// Waits shorter than this are spent polling (`spin` in net/core/pktgen.c).
const POLLS_BELOW_NS: u64 = 100_000;

/// One port in one trial.
pub(super) struct Run<'s> {
    pub(super) side: usize,
    pub(super) port: &'s PktgenPort,
    pub(super) loaded: &'s Loaded,
    pub(super) control: &'s Control,
    /// Drops of the port's queueing discipline before.
    pub(super) queued_out: u64,
}

impl Run<'_> {
    pub(super) fn name(&self) -> &str {
        &self.port.spec.interface
    }

    pub(super) fn open_gate(&self) -> Result<(), PortError> {
        let opened = self.loaded.stamper.maps.open_gate();
        opened.map_err(|source| PortError::new(self.name(), source))
    }

    pub(super) fn sent(&self) -> Result<Sent, PortError> {
        let sent = self.loaded.stamper.maps.sent(0);
        sent.map_err(|source| PortError::new(self.name(), source))
    }

    /// pktgen runs, and none of its frames comes by.
    pub(super) fn silent(&self) -> PortError {
        cannot_send(
            self.name(),
            "none of its frames reached nicety's tc program: is the link up, and is there another \
             program on the way out (bpftool net)?",
        )
    }

    /// Frames that the port's queueing discipline has dropped so far.
    pub(super) fn queued_out(&self) -> Result<u64, PortError> {
        let refused = |error: NetError| cannot_send(self.name(), error.to_string());
        let learner = self.port.learner.as_ref();
        let index = learner.map_or(0, |learner| learner.socket.index());
        let all = qdisc::list(self.control.ns()).map_err(refused)?;
        let root = all.into_iter().find(|(at, q)| *at == index && q.root);
        Ok(root.and_then(|(_, q)| q.drops).unwrap_or(0))
    }

    /// The books of the port.
    pub(super) fn account(&self, delay: u64) -> Result<(Sending, WorkerUse), PortError> {
        let sent = self.sent()?;
        let tally = self.control.tally(self.name())?;
        let lateness = self.loaded.stamper.maps.lateness(0);
        let lateness = lateness.map_err(|source| PortError::new(self.name(), source))?;
        if !tally.is_ok() {
            let why = format!("it did not run: {}", tally.result);
            return Err(cannot_send(self.name(), why));
        }
        if !sent.ready && tally.sent > 0 {
            return Err(cannot_send(
                self.name(),
                format!(
                    "{} of its frames went out without being stamped: something before nicety's \
                     tc program took them",
                    tally.sent
                ),
            ));
        }
        // The kernel's counter has 32 bits.
        let queued_out = (self.queued_out()? as u32).wrapping_sub(self.queued_out as u32);
        let refused = refused(&sent, &tally, queued_out.into(), self.port.spec.refusal);
        let worker = WorkerUse {
            cpu: self.port.cpu,
            cpu_s: busy_us(&tally, delay) as f64 * 1e-6,
            wall_s: tally.elapsed_us as f64 * 1e-6,
        };
        Ok((
            Sending {
                stream: self.side as u8,
                sent: sent.made - refused.not_sent,
                refused_by_path: refused.by_path,
                first_ns: sent.first_ns,
                pacing: sent.pacing(&lateness, refused.not_sent),
                timetable: crate::pace::Timetable::default(),
            },
            worker,
        ))
    }
}

/// What became of frames that were stamped and did not leave.
#[derive(Debug, PartialEq, Eq)]
struct Refused {
    not_sent: u64,
    by_path: u64,
}

/// pktgen counts as an error what the stack below did not take, and what the program dropped
/// because nobody wanted it. A queueing discipline may also take a frame and drop it later, or
/// another one in its place, and then counts it itself.
fn refused(sent: &Sent, tally: &Tally, queued_out: u64, refusal: Refusal) -> Refused {
    let errors = tally.errors.saturating_sub(sent.unsent).min(sent.made);
    match refusal {
        // A veth has no queue: the ring of its far end, the path's first, was full.
        Refusal::LostInPath => Refused {
            not_sent: 0,
            by_path: errors,
        },
        Refusal::NotSent => Refused {
            not_sent: errors.max(queued_out).min(sent.made),
            by_path: 0,
        },
    }
}

/// CPU time of pktgen's thread: what it calls idle is spent polling where waits are short.
fn busy_us(tally: &Tally, delay_ns: u64) -> u64 {
    if delay_ns < POLLS_BELOW_NS {
        tally.elapsed_us
    } else {
        tally.elapsed_us.saturating_sub(tally.idle_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdp::abi::Stream;

    fn sent(made: u64, unsent: u64) -> Sent {
        Sent::read(&Stream {
            done: made,
            unsent,
            ..Stream::default()
        })
    }

    fn tally(errors: u64) -> Tally {
        Tally {
            sent: 0,
            errors,
            elapsed_us: 1000,
            idle_us: 900,
            result: "OK: ".to_owned(),
        }
    }

    #[test]
    fn errors_are_not_sent_and_on_a_veth_lost_in_its_ring() {
        let of = |made, unsent, errors, queued, refusal| {
            let refused = refused(&sent(made, unsent), &tally(errors), queued, refusal);
            (refused.not_sent, refused.by_path)
        };
        assert_eq!(of(100, 0, 0, 0, Refusal::NotSent), (0, 0));
        assert_eq!(of(100, 0, 7, 0, Refusal::NotSent), (7, 0));
        // Dropped at the entry, an error each, or later, which only the queue knows.
        assert_eq!(of(100, 0, 7, 7, Refusal::NotSent), (7, 0));
        assert_eq!(of(100, 0, 0, 9, Refusal::NotSent), (9, 0));
        assert_eq!(of(100, 0, 7, 0, Refusal::LostInPath), (0, 7));
        // What the program dropped was no frame of the trial.
        assert_eq!(of(100, 50, 57, 0, Refusal::NotSent), (7, 0));
        assert_eq!(of(100, 50, 40, 0, Refusal::LostInPath), (0, 0));
        // Others' frames in the same queue.
        assert_eq!(of(5, 0, 0, 9, Refusal::NotSent), (5, 0));
    }

    #[test]
    fn short_waits_are_work() {
        assert_eq!(busy_us(&tally(0), 2000), 1000);
        assert_eq!(busy_us(&tally(0), 1_000_000), 100);
    }
}
