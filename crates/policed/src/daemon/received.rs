//! What tenants receive: the same machine a second time, with a policy, a controller and watches of its own.

use std::sync::Arc;

use nicety_netdev::net_error::NetError;
use nicety_police::adopt::Way;
use nicety_police::event::{Event, PortEvent};
use nicety_police::packets::Packets;
use nicety_police::port_watch::PortWatch;
use nicety_police::reload::Reload;
use nicety_police::report::ReceivedState;
use nicety_police::{Controller, Decision, Policy, PortName, Seen, Tuning, received};

use super::Daemon;
use crate::ports::Look;

/// The sharing of what tenants receive.
pub(super) struct Received {
    pub(super) policy: Arc<Policy>,
    pub(super) controller: Controller,
    pub(super) watches: Vec<PortWatch>,
    pub(super) packets: Option<Packets>,
    /// Whether what each port receives is limited.
    limited: Vec<bool>,
    decision: Option<Decision>,
}

impl Received {
    /// Where the policy limits that.
    pub(super) fn of(policy: &Policy) -> Option<Self> {
        let received = policy.received()?;
        Some(Self {
            controller: Controller::new(received.clone(), &[], Tuning::default()),
            watches: vec![PortWatch::default(); received.ports().count()],
            limited: policy
                .ports()
                .map(|(tenant, _)| policy.limits_received(tenant))
                .collect(),
            packets: Packets::of(&received),
            policy: Arc::new(received),
            decision: None,
        })
    }

    /// The same after a reload, with what is known of ports that stay.
    pub(super) fn after(policy: &Policy, before: Option<Self>, reload: &Reload) -> Option<Self> {
        let mut now = Self::of(policy)?;
        if let Some(before) = &before {
            now.controller
                .inherit_credit(&before.controller, &reload.ports);
        }
        let mut before = before.map(|before| before.watches).unwrap_or_default();
        for (watch, at) in now.watches.iter_mut().zip(&reload.ports) {
            if let Some(had) = at.and_then(|at| before.get_mut(at)) {
                *watch = std::mem::take(had);
            }
        }
        Some(now)
    }
}

impl Daemon {
    /// What each port has received; nothing where that is not limited.
    pub(super) fn look_at_received(&mut self, look: &mut Look) -> Vec<Seen> {
        let limited = self.received.as_ref().map(|of| of.limited.clone());
        let limited = limited.unwrap_or_default().into_iter().enumerate();
        limited
            .map(|(index, limited)| {
                if limited {
                    self.look(Way::Receives, index, look)
                } else {
                    Seen::default()
                }
            })
            .collect()
    }

    /// The rest of a period: what is received is shared, too.
    pub(super) fn share_received(&mut self, seen: &[Seen], look: Look) -> Result<Look, NetError> {
        if self.received.is_none() {
            return Ok(look);
        }
        let mut decision = self.step(Way::Receives, seen);
        if let Some(received) = &self.received {
            for (port, watch) in decision.ports.iter_mut().zip(&received.watches) {
                watch.explain(port);
            }
        }
        self.name_ports(&mut decision);
        self.renew(Way::Receives, seen, &decision, &look);
        let after = self.apply(Way::Receives, &decision, seen, look);
        self.report_decision(Way::Receives, &decision);
        if let Some(received) = &mut self.received {
            received.decision = Some(decision);
        }
        after
    }

    /// What a period says of it.
    pub(super) fn received_state(&mut self) -> Option<ReceivedState> {
        let of = self.received.as_mut()?;
        let decision = of.decision.take()?;
        let lost = of.watches.iter().map(|watch| watch.limit_state().lost);
        Some(ReceivedState {
            packets: of.packets.as_ref().and_then(Packets::state),
            ..received::told(&self.policy, &of.policy, decision, lost)
        })
    }

    /// The controller of a direction.
    pub(super) fn controller(&mut self, way: Way) -> &mut Controller {
        match (way, &mut self.received) {
            (Way::Receives, Some(received)) => &mut received.controller,
            _ => &mut self.controller,
        }
    }

    /// What is known of a port in a direction.
    pub(super) fn watch(&mut self, way: Way, index: usize) -> &mut PortWatch {
        match (way, &mut self.received) {
            (Way::Receives, Some(received)) => &mut received.watches[index],
            _ => &mut self.watches[index],
        }
    }

    /// The interface of a port of which nothing in either direction was written since it was seen last.
    pub(super) fn interface_seen(&self, port: usize) -> Option<u32> {
        let interface = self.watches.get(port)?.interface()?;
        match &self.received {
            Some(received) if received.limited.get(port) == Some(&true) => {
                received.watches.get(port)?.interface()
            }
            _ => Some(interface),
        }
    }

    /// The name under which what was found at a port is noted.
    pub(super) fn noted(way: Way, port: &PortName) -> String {
        match way {
            Way::Sends => port.to_string(),
            Way::Receives => received::noted(&port.to_string()),
        }
    }

    /// An event at a port. That it comes and goes is told once.
    pub(super) fn tell(&self, way: Way, index: usize, event: PortEvent) {
        if way == Way::Sends {
            return self.report(index, event);
        }
        if matches!(
            event,
            PortEvent::Gone | PortEvent::Back | PortEvent::Renamed { .. }
        ) {
            return;
        }
        let (port, tenant) = self.whose(index);
        self.log.report(&Event::Received {
            port,
            interface: self.interface(index),
            tenant,
            event,
        });
    }
}
