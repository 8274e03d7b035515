//! What was recorded, laid over a route by the names of its stations.

use super::{Counts, Route, SiteKind, Station};
use crate::built::Passage;

impl Route {
    /// The station to which the place of a loss ledger's line belongs, and what is left of its name:
    /// `tx_dropped` of `ovs p0 tx_dropped`, which is not at `ovs`.
    pub fn station_of<'p>(&self, place: &'p str) -> Option<(usize, &'p str)> {
        let names = self.stations().enumerate().flat_map(|(at, station)| {
            let names = station.names.iter();
            names.filter_map(move |name| {
                let counter = place.strip_prefix(name.as_str())?;
                Some((name.len(), at, counter.strip_prefix(' ')?))
            })
        });
        let found = names.max_by_key(|(length, ..)| *length);
        found.map(|(_, at, counter)| (at, counter))
    }
}

impl Station {
    /// Frames that it counted in a direction (0: A to B); for a port of the tester's what the tester
    /// sent or received. Absent where a counter saw fewer frames than arrived in the end: then it does not
    /// count them all, as those of interfaces do not that XDP takes frames from.
    pub fn counted(&self, passage: &Passage, site: SiteKind, direction: usize) -> Option<u64> {
        let ends = passage.ends.get(direction)?;
        match (site, direction) {
            (SiteKind::TesterA, 0) | (SiteKind::TesterB, 1) => return Some(ends.sent),
            (SiteKind::TesterB, _) | (SiteKind::TesterA, _) => return Some(ends.received),
            _ => {}
        }
        let faces_a = match self.counts {
            Counts::Neither => return None,
            Counts::Received => true,
            Counts::Sent => false,
        };
        let mut sum = 0_u64;
        for name in &self.names {
            let counted = passage.places.iter().find(|place| place.place == *name)?;
            sum = sum.saturating_add(if faces_a == (direction == 0) {
                counted.received
            } else {
                counted.sent
            });
        }
        (!self.names.is_empty() && sum >= ends.received).then_some(sum)
    }
}
