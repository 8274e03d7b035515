//! How many of the sampled frames were seen where, and what became of them there.

use std::collections::BTreeMap;

use nicety_model::hop::HopStation;

use super::{Seen, Station, same_frame};

/// What is known of an interface so far.
#[derive(Default)]
struct Tally {
    station: HopStation,
    /// Places in frames' ways, added up, to find the order of interfaces.
    places: u64,
    cpus: BTreeMap<u32, u64>,
}

/// Counts sampled frames by interface, in the order in which they meet these. `seen` is in the order of frames.
pub(super) fn count(seen: &[Seen], stations: &[Station]) -> Vec<HopStation> {
    let mut tallies: BTreeMap<(&str, u64), Tally> = BTreeMap::new();
    for frame in seen.chunk_by(same_frame) {
        let known = |of: &Seen| stations.get(of.station).map(|station| (*of, station));
        let mut way: Vec<(Seen, &Station)> = frame.iter().filter_map(known).collect();
        if let Some(end) = way.iter().position(|(_, station)| station.arrives) {
            way.truncate(end + 1);
        }
        let Some((_, last)) = end(&way) else {
            continue;
        };
        let mut met: Vec<(&str, u64)> = Vec::new();
        for (of, station) in &way {
            let place = met.len() as u64;
            let device = (station.device.as_str(), station.netns);
            let tally = tallies.entry(device).or_default();
            *tally.cpus.entry(of.cpu).or_default() += 1;
            if !met.contains(&device) {
                met.push(device);
                tally.places += place;
                tally.station.frames += 1;
            }
        }
        for device in met {
            let Some(tally) = tallies.get_mut(&device) else {
                continue;
            };
            let of = &mut tally.station;
            match (
                device == (last.device.as_str(), last.netns),
                last.arrives,
                last.loses(),
            ) {
                (false, ..) | (true, true, _) => of.passed += 1,
                (true, false, true) => of.dropped += 1,
                (true, false, false) => of.left += 1,
            }
        }
    }
    let mut ordered: Vec<(f64, HopStation)> = tallies
        .into_iter()
        .map(|((device, _), tally)| {
            let mut cpus: Vec<(u32, u64)> = tally.cpus.into_iter().collect();
            cpus.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
            let station = HopStation {
                device: device.to_owned(),
                cpus: cpus.into_iter().map(|(cpu, _)| cpu).collect(),
                ..tally.station
            };
            (tally.places as f64 / station.frames.max(1) as f64, station)
        })
        .collect();
    ordered.sort_by(|a, b| a.0.total_cmp(&b.0));
    ordered.into_iter().map(|(_, station)| station).collect()
}

/// Where a frame was seen last. A copy that was thrown away tells nothing, unless nothing else was seen.
pub(crate) fn end<'a>(way: &[(Seen, &'a Station)]) -> Option<(Seen, &'a Station)> {
    let own = way.iter().rev().find(|(_, station)| !station.copies);
    own.or(way.last()).copied()
}
