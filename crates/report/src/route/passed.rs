//! What passed where, by counters that saw every frame.

use nicety_model::Passage;
use nicety_model::route::{Counts, Route, SiteKind, Station};

use super::{Flow, Wire};

/// Frames that a station counted in a direction (0: A to B); for a port of the tester's what the tester
/// sent or received. Absent where a counter saw fewer frames than arrived in the end: then it does not
/// count them all, as those of interfaces do not that XDP takes frames from.
pub(super) fn at(
    passage: &Passage,
    station: &Station,
    site: SiteKind,
    direction: usize,
) -> Option<u64> {
    let ends = passage.ends.get(direction)?;
    match (site, direction) {
        (SiteKind::TesterA, 0) | (SiteKind::TesterB, 1) => return Some(ends.sent),
        (SiteKind::TesterB, _) | (SiteKind::TesterA, _) => return Some(ends.received),
        _ => {}
    }
    let faces_a = match station.counts {
        Counts::Neither => return None,
        Counts::Received => true,
        Counts::Sent => false,
    };
    let mut sum = 0_u64;
    for name in &station.names {
        let counted = passage.places.iter().find(|place| place.place == *name)?;
        sum = sum.saturating_add(match faces_a == (direction == 0) {
            true => counted.received,
            false => counted.sent,
        });
    }
    (!station.names.is_empty() && sum >= ends.received).then_some(sum)
}

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
            let of = |station: &Station| at(passage, station, site.kind, direction);
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
