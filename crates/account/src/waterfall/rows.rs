//! Stations of a built path, and what was recorded of each.

use nicety_model::fate::Way;
use nicety_model::hop::{Hop, HopReport};
use nicety_model::route::{Route, SiteKind, StationKind};
use nicety_model::waterfall::{Unknown, WaterfallStation};
use nicety_model::{BuiltPath, CellResult, FateCause, LossEntry, Passage, total};

/// The tester's own socket, as counters alone call it.
const TESTER_RING: &str = "tester receive ring";
/// What an interface is that the path's parameters do not tell of.
const INTERFACE: &str = "interface";

/// A station under way.
pub(super) struct Row {
    pub(super) site: SiteKind,
    /// Names as counters have them.
    pub(super) names: Vec<String>,
    /// The guest is a namespace of this kernel: it calls `g0` what is `guest g0` here.
    pub(super) inner: bool,
    pub(super) station: WaterfallStation,
}

impl Row {
    fn has(&self, device: &str) -> bool {
        let last = |name: &str| {
            name.rsplit_once(' ')
                .is_some_and(|(_, last)| last == device)
        };
        let is = |name: &String| name == device || (self.inner && last(name));
        self.names.iter().any(is)
    }
}

/// Stations in the order of the way.
pub(super) struct Rows {
    rows: Vec<Row>,
    route: Route,
    built: Option<BuiltPath>,
    sender: SiteKind,
}

impl Rows {
    /// Those that the path's parameters and its places tell of.
    pub(super) fn new(cell: &CellResult, passage: Option<&Passage>, way: Way) -> Self {
        let built = cell.built.clone();
        let mut route = Route::of(&cell.key.path);
        let places = built.iter().flat_map(|built| &built.places);
        route.lay_out(places.map(|place| place.name.as_str()));
        let netns = cell.key.path.vm().is_some_and(|vm| vm.config().netns);
        let direction = usize::from(way == Way::BToA);
        let mut rows = Vec::new();
        for site in &route.sites {
            for station in &site.stations {
                let mut row = Row::of(site.kind, station.names.clone(), station.kind.words());
                row.station.counted =
                    passage.and_then(|passage| station.counted(passage, site.kind, direction));
                row.inner = netns && matches!(site.kind, SiteKind::Guests(_));
                row.station.no_time = if row.inner {
                    no_time(SiteKind::Host, station.kind)
                } else {
                    no_time(site.kind, station.kind)
                };
                rows.push(row);
            }
        }
        if way == Way::BToA {
            rows.reverse();
        }
        Self {
            rows,
            route,
            built,
            sender: match way {
                Way::AToB => SiteKind::TesterA,
                Way::BToA => SiteKind::TesterB,
            },
        }
    }

    /// Adds interfaces at which sampled frames were seen where these belong.
    pub(super) fn seen(&mut self, hops: &HopReport) {
        let devices: Vec<&str> = if hops.stations.is_empty() {
            hops.hops.iter().map(|hop| device(&hop.to)).collect()
        } else {
            hops.stations.iter().map(|of| of.device.as_str()).collect()
        };
        let mut at = 0;
        for device in devices {
            match self.rows.iter().position(|row| row.has(device)) {
                Some(known) => at = known,
                None => {
                    at = (at + 1).min(self.rows.len().saturating_sub(1));
                    self.insert(at, device);
                }
            }
        }
    }

    fn insert(&mut self, at: usize, device: &str) {
        let names = vec![device.to_owned()];
        self.rows
            .insert(at, Row::of(SiteKind::Host, names, INTERFACE));
        // What stood for what nobody knew is not needed any more.
        let unknown = |row: &Row| row.site == SiteKind::Outside && row.names.is_empty();
        self.rows.retain(|row| !unknown(row));
    }

    /// Puts each line of a ledger to its station; those without one are left.
    pub(super) fn lose(&mut self, ledger: &[LossEntry], both: bool) -> Vec<LossEntry> {
        let mut elsewhere: Vec<LossEntry> = Vec::new();
        for entry in ledger.iter().filter(|entry| entry.frames > 0) {
            match self.at(entry, both) {
                Some(at) => {
                    let station = &mut self.rows[at].station;
                    station.lost = station.lost.saturating_add(entry.frames);
                    station.causes.push(entry.clone());
                }
                None => elsewhere.push(entry.clone()),
            }
        }
        // One interface that nothing else tells of can only be between the ports.
        let mut strangers: Vec<&str> = elsewhere.iter().filter_map(at_device).collect();
        strangers.sort_unstable();
        strangers.dedup();
        let inner = |row: &Row| {
            !matches!(
                row.site,
                SiteKind::TesterA | SiteKind::TesterB | SiteKind::Outside
            )
        };
        if let ([one], false) = (strangers.as_slice(), self.rows.iter().any(inner)) {
            let one = (*one).to_owned();
            self.insert(1, &one);
            return self.lose_again(elsewhere, &one);
        }
        elsewhere
    }

    fn lose_again(&mut self, entries: Vec<LossEntry>, device: &str) -> Vec<LossEntry> {
        let (own, others): (Vec<_>, Vec<_>) = entries
            .into_iter()
            .partition(|entry| at_device(entry) == Some(device));
        if let Some(row) = self.rows.iter_mut().find(|row| row.has(device)) {
            let more = total(own.iter().map(|entry| entry.frames));
            row.station.lost = row.station.lost.saturating_add(more);
            row.station.causes.extend(own);
        }
        others
    }

    /// The row of a ledger's line.
    fn at(&self, entry: &LossEntry, both: bool) -> Option<usize> {
        if let Some(device) = at_device(entry) {
            return self.rows.iter().position(|row| row.has(device));
        }
        if entry.cause.is_some() {
            return None;
        }
        if entry.place == TESTER_RING {
            return (!both).then(|| self.rows.len().saturating_sub(1));
        }
        let (at, _) = self.route.station_of(&entry.place)?;
        let names = &self.route.stations().nth(at)?.names;
        self.rows.iter().position(|row| row.names == *names)
    }

    /// The rows with times and CPUs.
    pub(super) fn finish(mut self, hops: Option<&HopReport>) -> Vec<Row> {
        for row in &mut self.rows {
            let timed = hops.iter().flat_map(|hops| &hops.hops);
            let own: Vec<Hop> = timed
                .filter(|hop| row.has(device(&hop.to)))
                .cloned()
                .collect();
            let mut sampled = hops.iter().flat_map(|hops| &hops.stations);
            let sampled = sampled.find(|of| row.has(&of.device)).cloned();
            let seen = sampled.as_ref().map(|of| of.cpus.clone());
            let seen = seen.or_else(|| own.last().map(|hop| hop.cpus.clone()));
            let allowed = self.built.as_ref().map(|built| allowed(built, row));
            row.station.cpus_seen = seen.is_some();
            row.station.cpus = seen.or(allowed).unwrap_or_default();
            // Frames begin at the sender.
            let begins = row.site == self.sender;
            row.station.no_time = if own.is_empty() && hops.is_some() && !begins {
                row.station.no_time.or(Some(Unknown::NotSeen))
            } else {
                None
            };
            row.station.hops = own;
            row.station.sampled = sampled;
        }
        // The guest's own kernel was asked: its bridge is as the host's.
        let in_guest = |row: &Row| matches!(row.site, SiteKind::Guests(_));
        let asked = |row: &Row| in_guest(row) && !row.station.hops.is_empty();
        if self.rows.iter().any(asked) {
            let silent = |row: &&mut Row| row.station.no_time == Some(Unknown::InGuest);
            for row in self.rows.iter_mut().filter(silent) {
                row.station.no_time = Some(if row.names.is_empty() {
                    Unknown::InNextStation
                } else {
                    Unknown::NotSeen
                });
            }
        }
        self.rows
    }
}

/// CPUs on which the threads of a station may run.
fn allowed(built: &BuiltPath, row: &Row) -> Vec<u32> {
    if matches!(row.site, SiteKind::TesterA | SiteKind::TesterB) {
        return built.tester_cpus.clone();
    }
    let threads = built
        .threads
        .iter()
        .filter(|thread| row.names.contains(&thread.at));
    let mut cpus: Vec<u32> = threads
        .flat_map(|thread| thread.cpus.iter().copied())
        .collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// Why a station of this kind is not seen.
fn no_time(site: SiteKind, kind: StationKind) -> Option<Unknown> {
    if matches!(site, SiteKind::Guests(_)) {
        return Some(Unknown::InGuest);
    }
    match kind {
        StationKind::Bridge
        | StationKind::FilteringBridge
        | StationKind::Ovs
        | StationKind::Router
        | StationKind::Redirect
        | StationKind::XdpRedirect => Some(Unknown::InNextStation),
        StationKind::OvsDpdk
        | StationKind::Testpmd
        | StationKind::SwitchPort
        | StationKind::NicSwitch
        | StationKind::Function
        | StationKind::Unknown => Some(Unknown::OutsideKernel),
        _ => None,
    }
}

/// The interface of a station in words: `d0` of `received at d0`.
fn device(station: &str) -> &str {
    station
        .rsplit_once(" at ")
        .map_or(station, |(_, device)| device)
}

/// The interface that a cause names.
fn at_device(entry: &LossEntry) -> Option<&str> {
    match entry.cause.as_ref()? {
        FateCause::Dropped { device, .. } => device.as_deref(),
        FateCause::Refused { device }
        | FateCause::TesterSocket { device }
        | FateCause::Program { device }
        | FateCause::Xdp { device, .. } => Some(device),
        FateCause::Merged | FateCause::Others | FateCause::Beyond | FateCause::EitherWay => None,
    }
}
