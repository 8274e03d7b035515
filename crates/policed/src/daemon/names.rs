//! Names of ports: what they are now, and what becomes of a port whose name is another one.

use std::time::Duration;

use nicety_police::adopt::Way;
use nicety_police::binding::Binding;
use nicety_police::event::PortEvent;
use nicety_police::snapshot::{Place, Snapshot};
use nicety_police::{Decision, PortDecision, PortName};

use super::Daemon;

/// How long a period waits for those who are being asked: an interface that has just come is limited at once.
const WAIT: Duration = Duration::from_millis(250);

impl Daemon {
    /// Binds ports to what their names are now.
    pub(super) fn rebind(&mut self) {
        let wait = WAIT.min(self.policy.period / 4);
        let turned = self.bound.turns(wait, &self.log);
        // Those that are given up may be others' at once.
        for (index, now) in &turned {
            let was = self.bound.of(*index).cloned().unwrap_or_default();
            if was.to.is_some() && (&was.to, was.index) != (&now.to, now.index) {
                // Whoever hears that it is gone hears why.
                let why = now.why.clone();
                self.bound.take(*index, Binding { why, ..was.clone() });
                self.unbind(*index, &was);
            }
        }
        for (index, now) in turned {
            if let Some(to) = &now.to
                && let Err(error) = self.ports.bind(index, to.clone())
            {
                self.bound.fail(index, error.to_string());
                continue;
            }
            if now.to.is_some() {
                self.reconcile.demand();
            }
            self.bound.take(index, now);
        }
    }

    /// A name is not the port any more that it was: what was found there is put back, where it is there still.
    fn unbind(&mut self, index: usize, was: &Binding) {
        let Some(name) = self.names.get(index).cloned() else {
            return;
        };
        let port = was.port(&name);
        let gone = Snapshot::without(Place::Gone);
        let observed = self.watches[index].observe(&port, gone, |_, _| Ok(()));
        for event in observed.events {
            self.report(index, event);
        }
        if self.received.is_some() {
            let gone = Snapshot::without(Place::Gone);
            self.watch(Way::Receives, index)
                .observe(&port, gone, |_, _| Ok(()));
        }
        self.originals.give_back(&port.to_string(), &mut self.ports);
        let _ = self.ports.at_links(crate::ports::Links::sweep);
        // Nothing of a policy's binds in vain: a name is always a port of its own.
        let _ = self.ports.bind(index, name);
        self.bound.take(index, Binding::default());
    }

    /// Says whose interfaces are whose to what counts dropped packets.
    pub(super) fn share_ports(&self, decision: &Decision) {
        let Some(drops) = &self.drops else {
            return;
        };
        let of = |(index, port): (usize, &PortDecision)| {
            let interface = self
                .interface(index)
                .or_else(|| match self.names.get(index) {
                    Some(PortName::Interface(name)) => Some(name.clone()),
                    _ => None,
                });
            let tenant = self.policy.tenants.get(port.tenant)?;
            Some((interface?, tenant.name.clone()))
        };
        let ports = decision.ports.iter().enumerate();
        drops.share(self.ports.namespace(), ports.filter_map(of).collect());
    }

    /// What is found at a port, unless another interface has its name now.
    pub(super) fn ours(&self, index: usize, snapshot: Snapshot) -> Snapshot {
        let bound = self.bound.of(index).and_then(|bound| bound.index);
        let other = bound
            .zip(snapshot.index)
            .is_some_and(|(ours, now)| ours != now);
        if other {
            self.bound.look_again();
            Snapshot::without(Place::Gone)
        } else {
            snapshot
        }
    }

    /// An event of a port, in the words of its name.
    pub(super) fn worded(&self, index: usize, event: PortEvent) -> PortEvent {
        let why = self.bound.of(index).and_then(|bound| bound.why.clone());
        match (event, why) {
            (PortEvent::Gone, Some(why)) => PortEvent::Absent(why),
            (event, _) => event,
        }
    }

    /// Adds to a decision which ports the names are, or why they are none.
    pub(super) fn name_ports(&self, decision: &mut Decision) {
        for (index, port) in decision.ports.iter_mut().enumerate() {
            if let Some(bound) = self.bound.of(index) {
                port.interface = bound.to.as_ref().map(ToString::to_string);
                if bound.to.is_none() {
                    port.waits.clone_from(&bound.why);
                }
            }
        }
    }

    /// The port of the host that a port of the policy is, where it has a name.
    pub(super) fn interface(&self, index: usize) -> Option<String> {
        let to = self.bound.of(index)?.to.as_ref();
        to.map(PortName::to_string)
    }
}
