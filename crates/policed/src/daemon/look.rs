//! What a period begins with: counters and limits, and what is new about each port.

use nicety_netdev::net_error::NetError;
use nicety_police::Seen;
use nicety_police::adopt::Way;
use nicety_police::event::PortEvent;

use super::Daemon;
use crate::ports::{Links, Look};

impl Daemon {
    /// Everything soon after a change, counters and limits in between: all limits when
    /// somebody else may have touched one.
    pub(super) fn survey(&mut self) -> Result<Look, NetError> {
        let changes = std::mem::take(&mut self.noticed).and(self.ports.changes());
        self.reconcile
            .change(changes.other || self.ports.has_functions());
        if changes.watched || self.ports.waits() {
            self.reconcile.demand();
        }
        let now = self.now();
        let last = self.last.take().filter(|_| !self.reconcile.is_due(now));
        match last {
            Some(last) => {
                let had: Vec<Option<u32>> = (0..self.names.len())
                    .map(|port| self.interface_seen(port))
                    .collect();
                let had = |port: usize| had.get(port).copied().flatten();
                self.ports.survey_again(last, changes.any(), had)
            }
            None => {
                self.reconcile.look(now);
                let look = self.ports.survey()?;
                self.ports.deepen(&look);
                Ok(look)
            }
        }
    }

    /// One port; what is found there for the first time is noted on disk before it is changed.
    pub(super) fn look(&mut self, way: Way, index: usize, survey: &mut Look) -> Seen {
        let watch = self.watch(way, index);
        if let Some(seen) = watch.unchanged(|last| survey.still(last)) {
            if let Some(bills) = self.bills.as_mut().filter(|_| way == Way::Sends) {
                bills.still(index, survey.offered(&self.ports.names()[index]));
            }
            return seen;
        }
        let name = &self.ports.names()[index].clone();
        let snapshot = self.ours(index, survey.take(way, index, name));
        if let Some(bills) = self.bills.as_mut().filter(|_| way == Way::Sends) {
            bills.look(index, &snapshot);
        }
        if let Some(packets) = self.packets(way) {
            packets.found(index, snapshot.packets);
        }
        if let Some(setup) = &snapshot.setup {
            self.controller(way).describe(index, setup);
        }
        let port = Self::noted(way, name);
        let (originals, ports) = (&mut self.originals, &mut self.ports);
        let watches = match (way, &mut self.received) {
            (Way::Receives, Some(received)) => &mut received.watches,
            _ => &mut self.watches,
        };
        let observed = watches[index].observe(name, snapshot, |words, at| {
            let noted = originals.note(&port, words, at, ports);
            noted.map_err(|error| error.to_string())
        });
        self.errors += u64::from(observed.not_noted);
        if observed.replaced {
            self.reconcile.demand();
        }
        for event in observed.events {
            self.tell(way, index, event);
        }
        if observed.left {
            self.leave(way, index, &port);
        }
        observed.seen
    }

    /// A port is gone: what is left of it is removed now or at the end.
    fn leave(&mut self, way: Way, index: usize, name: &str) {
        let theirs = self.originals.replaced_at(name);
        match (self.originals.left(name, &mut self.ports), theirs) {
            (Some((now, outcome)), _) => {
                self.tell(way, index, PortEvent::Renamed { now, outcome });
            }
            (None, Some(limit)) => self.tell(way, index, PortEvent::NothingBack { limit }),
            (None, None) => {}
        }
        // What cannot be removed limits nothing.
        let _ = self.ports.at_links(Links::sweep);
    }
}
