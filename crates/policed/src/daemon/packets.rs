//! Packets, the second resource of a direction.

use nicety_police::adopt::Way;
use nicety_police::packets::{self, Packets};
use nicety_police::{Decision, Seen};

use super::Daemon;
use crate::ports::Limit;

impl Daemon {
    /// The limits of packets in a direction.
    pub(super) fn packets(&mut self, way: Way) -> Option<&mut Packets> {
        match (way, &mut self.received) {
            (Way::Receives, Some(received)) => received.packets.as_mut(),
            (Way::Receives, None) => None,
            (Way::Sends, _) => self.packets.as_mut(),
        }
    }

    /// Ends a period of a direction.
    pub(super) fn step(&mut self, way: Way, seen: &[Seen]) -> Decision {
        let (controller, packets) = match (way, &mut self.received) {
            (Way::Receives, Some(of)) => (&mut of.controller, &mut of.packets),
            _ => (&mut self.controller, &mut self.packets),
        };
        packets::step(packets.as_mut(), controller, seen)
    }

    /// What is decided for a port.
    pub(super) fn limit(&mut self, way: Way, index: usize, decision: &Decision) -> Limit {
        let port = &decision.ports[index];
        let burst = self.policy.tenants[port.tenant].burst;
        Limit {
            packets: self.packets(way).and_then(|packets| packets.limit(index)),
            ..Limit::of(port.limit, burst)
        }
    }
}
