//! What passed at each place of the path between two readings of its counters.

use nicety_model::PlaceFrames;
use nicety_paths::counters::{PathCounters, Role};

/// One entry for each place that both readings have. A bridge has none: of the frames that it forwards
/// it sees copies only. A counter that went back counts as if nothing had passed.
pub(crate) fn between(before: &PathCounters, after: &PathCounters) -> Vec<PlaceFrames> {
    let places = after.interfaces.iter();
    let places = places.filter(|place| place.role != Role::Bridge);
    let moved = places.filter_map(|place| {
        let (new, old) = (&place.counters, before.of(&place.interface)?);
        Some(PlaceFrames {
            place: place.interface.clone(),
            received: new.rx_packets.saturating_sub(old.rx_packets),
            sent: new.tx_packets.saturating_sub(old.tx_packets),
        })
    });
    moved.collect()
}

#[cfg(test)]
mod tests {
    use nicety_netdev::link::LinkCounters;
    use nicety_paths::counters::InterfaceCounters;

    use super::*;

    #[test]
    fn frames_are_counted_at_places_that_see_them_all() {
        let reading = |received, sent| {
            let counters = LinkCounters {
                rx_packets: received,
                tx_packets: sent,
                ..LinkCounters::default()
            };
            let mut bridge = InterfaceCounters::inner("br0", counters);
            bridge.role = Role::Bridge;
            PathCounters::from(vec![InterfaceCounters::inner("d0", counters), bridge])
        };
        let passed = between(&reading(10, 7), &reading(110, 6));
        let d0 = PlaceFrames {
            place: "d0".to_owned(),
            received: 100,
            sent: 0,
        };
        assert_eq!(passed, [d0]);
    }
}
