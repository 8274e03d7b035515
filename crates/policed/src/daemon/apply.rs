//! What a period ends with: limits written, decreases first, and read back.

use nicety_netdev::net_error::NetError;
use nicety_police::adopt::Way;
use nicety_police::event::{PortEvent, PortTrouble};
use nicety_police::{Decision, Seen};

use super::Daemon;
use crate::cluster::Cluster;
use crate::ports::{How, Look};

/// Said where the packets that were limited are not.
const NO_PACKETS: &str = "the kernel limits no packets in a token bucket: use Linux 5.17 or newer, or remove max_pps and rx_max_pps";

impl Daemon {
    /// What keeps a port from its limit now, none for nothing.
    fn trouble(&mut self, way: Way, index: usize, now: Option<PortTrouble>) {
        if let Some(event) = self.watch(way, index).trouble(now) {
            self.tell(way, index, event);
        }
    }

    /// Renews limiters that let nothing through although something waits.
    pub(super) fn renew(&mut self, way: Way, seen: &[Seen], decision: &Decision, look: &Look) {
        for (index, (seen, port)) in seen.iter().zip(&decision.ports).enumerate() {
            let period = self.policy.period;
            if !self.watch(way, index).is_stuck(seen, port.limit, period) {
                continue;
            }
            self.tell(way, index, PortEvent::LimiterStuck);
            let limit = self.limit(way, index, decision);
            match self.ports.set((way, index), look, limit, How::Renew) {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    self.trouble(way, index, Some(PortTrouble::Refused(error.to_string())));
                }
                // A look may meet it without a limit.
                None => self.watch(way, index).writes(),
            }
        }
    }

    /// Writes what has changed, decreases first, and reads it back. Where the kernel does not answer to a
    /// write, nobody gets more before it is known what came of it.
    pub(super) fn apply(
        &mut self,
        way: Way,
        decision: &Decision,
        seen: &[Seen],
        look: Look,
    ) -> Result<Look, NetError> {
        let mut written = Vec::with_capacity(decision.writes.len());
        let mut unanswered = false;
        for index in &decision.writes {
            let port = &decision.ports[*index];
            let has = seen[*index].limit.filter(|has| has.0 > 0);
            let grows = has.is_some_and(|has| has < port.limit);
            let may = |cluster: &Cluster| way == Way::Receives || cluster.may_raise(port.tenant);
            if grows && (unanswered || !self.cluster.as_ref().is_none_or(may)) {
                continue;
            }
            self.watch(way, *index).writes();
            let limit = self.limit(way, *index, decision);
            let set = (self.ports).set((way, *index), &look, limit, How::Change);
            let Some(set) = set else {
                unanswered = true;
                self.failed(way, *index);
                continue;
            };
            written.push(*index);
            match set {
                Ok(()) => {
                    self.writes += 1;
                    self.controller(way).wrote(*index, port.limit);
                    if let Some(packets) = self.packets(way) {
                        packets.wrote(*index);
                    }
                    let total = self.policy.tenants[port.tenant].total;
                    let guarded = way == Way::Sends && total.is_some();
                    self.watch(way, *index).wrote(port.limit, guarded);
                }
                Err(error) => self.fail(way, *index, PortTrouble::Refused(error.to_string())),
            }
        }
        if written.is_empty() {
            return Ok(look);
        }
        // A first limit makes an interface that the last look does not know.
        let known = |index: &usize| seen[*index].limit.is_some_and(|limit| limit.0 > 0);
        let mut survey = if written.iter().all(known) {
            self.ports.reread(look, &written)
        } else {
            self.ports.survey()
        }?;
        for index in &written {
            let port = &decision.ports[*index];
            let name = self.ports.names()[*index].clone();
            let wanted = self.limit(way, *index, decision).packets;
            let found = survey.take(way, *index, &name);
            match found.seen.limit {
                Some(limit) if limit == port.limit && found.packets != wanted => {
                    self.fail(way, *index, PortTrouble::Refused(NO_PACKETS.to_owned()));
                }
                Some(limit) if limit == port.limit => self.trouble(way, *index, None),
                Some(found) => {
                    let wanted = port.limit;
                    self.fail(way, *index, PortTrouble::ReadBack { wanted, found });
                }
                None => {}
            }
        }
        Ok(survey)
    }

    /// What a port has is not known.
    fn failed(&mut self, way: Way, index: usize) {
        self.controller(way).failed(index);
        if let Some(packets) = self.packets(way) {
            packets.failed(index);
        }
    }

    /// A limit is not what it should be.
    fn fail(&mut self, way: Way, index: usize, trouble: PortTrouble) {
        self.errors += 1;
        self.failed(way, index);
        self.watch(way, index).writes();
        self.trouble(way, index, Some(trouble));
    }
}
