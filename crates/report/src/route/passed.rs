//! What passed where, by counters that saw every frame.

use nicety_model::Passage;
use nicety_model::route::{Route, Station};

use super::{Flow, Wire};

/// What passed on the wires between the sites; empty flows without a passage.
pub(super) fn wires(route: &Route, passage: Option<&Passage>) -> Vec<Wire> {
    let mut wires = vec![Wire::default(); route.sites.len().saturating_sub(1)];
    let Some(passage) = passage else {
        return wires;
    };
    for direction in 0..passage.ends.len().min(2) {
        // Counts of each site in the order in which frames of this direction meet them.
        let mut counts: Vec<Vec<u64>> = Vec::new();
        for site in &route.sites {
            let of = |station: &Station| station.counted(passage, site.kind, direction);
            counts.push(site.stations.iter().filter_map(of).collect());
        }
        if direction == 1 {
            counts.reverse();
            counts.iter_mut().for_each(|site| site.reverse());
        }
        for gap in 0..wires.len() {
            let before = counts[..=gap].iter().flatten().next_back();
            let behind = counts[gap + 1..].iter().flatten().next();
            let number = if direction == 1 {
                wires.len() - 1 - gap
            } else {
                gap
            };
            if let (Some(sent), Some(received)) = (before, behind) {
                wires[number].flows.push(Flow {
                    sent: *sent,
                    received: *received,
                });
            }
        }
    }
    wires
}
