//! What a run knows of a path, laid over the stations that its parameters tell of.

use std::collections::{BTreeMap, BTreeSet};

use nicety_model::route::{self, Route, SiteKind, StationKind};
use nicety_model::{BuiltThread, CellResult, LossEntry, Passage, Run};

use super::{Picture, Runs, Site, Station, passed};
use crate::number::{self, plural};
use crate::pick::{self, Group};
use crate::threads;

/// How much a picture of this cell could tell.
pub(super) fn told(cell: &CellResult) -> u8 {
    match &cell.built {
        Some(built) if built.overload.is_some() => 4,
        Some(built) if built.confirm.is_some() => 3,
        Some(_) => 2,
        None => u8::from(!cell.overload_ledger.is_empty() || !cell.loss_ledger.is_empty()),
    }
}

/// The picture of a cell's path.
pub(super) fn picture(run: &Run, group: &Group<'_>) -> Picture {
    let cell = group.shown;
    let built = cell.built.as_ref();
    let places = built.map_or(&[][..], |built| &built.places);
    let mut route = Route::of(&group.key.path);
    route.lay_out(places.iter().map(|place| place.name.as_str()));
    // What gave out first says most; without it the confirm trial.
    let overload = built.and_then(|built| built.overload.as_ref());
    let confirm = built.and_then(|built| built.confirm.as_ref());
    let over = overload.is_some() || (confirm.is_none() && !cell.overload_ledger.is_empty());
    let (passage, ledger) = if over {
        (overload, &cell.overload_ledger)
    } else {
        (confirm, &cell.loss_ledger)
    };
    let (lost, elsewhere) = by_station(&route, ledger);
    let threads = Threads::of(cell, &route);
    let mut lost = lost.into_iter();
    let mut sites = Vec::new();
    for (at, of) in route.sites.iter().enumerate() {
        let stations = of
            .stations
            .iter()
            .enumerate()
            .map(|(number, station)| Station {
                label: label(station, of.kind),
                kind: station.kind,
                queues: places
                    .iter()
                    .find(|place| station.names.contains(&place.name))
                    .and_then(|place| place.queues)
                    .or_else(|| queues_of_port(run, station)),
                threads: threads.of_station(at, number),
                passed: [0, 1].map(|direction| {
                    passage.and_then(|passage| station.counted(passage, of.kind, direction))
                }),
                lost: lost.next().unwrap_or_default(),
            });
        sites.push(Site {
            kind: of.kind,
            about: match of.kind {
                SiteKind::Guests(_) => about_guests(group),
                _ => String::new(),
            },
            stations: stations.collect(),
            threads: threads.of_site(at),
        });
    }
    Picture {
        title: title(group),
        path: group.key.path_name(),
        wires: passed::wires(&route, passage),
        sites,
        elsewhere,
        remark: remark(cell, passage, over, !ledger.is_empty()),
    }
}

/// How guests are connected, their CPUs, and the busiest of these by their own count:
/// `virtio-net, 2 virtual CPUs, busiest by its own count 0: 98 % softirq`.
fn about_guests(group: &Group<'_>) -> String {
    let Some(vm) = group.key.path.vm() else {
        return String::new();
    };
    let ask = vm.config();
    let what = if ask.netns {
        "network namespace".to_owned()
    } else {
        plural(ask.vcpus, "virtual CPU")
    };
    let own = group.shown.cpu.as_ref().and_then(threads::guest);
    let own = own.map(|cpu| format!("busiest by its own count {cpu}"));
    let told: Vec<String> = [ask.nic.to_string(), what].into_iter().chain(own).collect();
    told.join(", ")
}

/// `bridge, 64 bytes, one direction`
fn title(group: &Group<'_>) -> String {
    let key = group.key;
    format!(
        "{}, {}, {}",
        key.path_name(),
        key.size_words(),
        pick::direction(key.direction)
    )
}

/// Which trials the numbers are of; empty where there are none.
fn remark(cell: &CellResult, passage: Option<&Passage>, over: bool, ledger: bool) -> String {
    let load = passage.map_or_else(String::new, |passage| {
        format!(
            " ({} at {} frames/s)",
            number::seconds(passage.duration_s),
            number::short(passage.load_fps)
        )
    });
    let frames = passage.is_some() || ledger;
    let cpu = cell.cpu.is_some();
    match (frames, over, cpu) {
        (true, true, true) => format!(
            "Frames are those of the trial just above the throughput{load}, CPU time that of the \
             confirm trial."
        ),
        (true, true, false) => {
            format!("Frames are those of the trial just above the throughput{load}.")
        }
        (true, false, true) => {
            format!("Frames and CPU time are those of the confirm trial{load}.")
        }
        (true, false, false) => format!("Frames are those of the confirm trial{load}."),
        (false, _, true) => "CPU time is that of the confirm trial.".to_owned(),
        (false, _, false) => String::new(),
    }
}

/// A port that was there before: what the run's facts say of its queues, where it has one number of
/// them.
fn queues_of_port(run: &Run, station: &route::Station) -> Option<u32> {
    let name = station.names.first()?;
    let facts = run.run.host.interfaces.get(name)?;
    // `4 tx, 4 rx`
    let (_, received) = facts.queues.as_ref()?.split_once(", ")?;
    received.strip_suffix(" rx")?.parse().ok()
}

/// What a station is called in its site: `d0`, `t0, t2`, `t0 … t14`.
fn label(station: &route::Station, site: SiteKind) -> String {
    let own = |name: &String| match site {
        SiteKind::Guests(_) => name
            .split_once(' ')
            .map_or(&**name, |(_, own)| own)
            .to_owned(),
        _ => name.clone(),
    };
    let mut names: Vec<String> = station.names.iter().map(own).collect();
    names.dedup();
    match names.as_slice() {
        [first, _, .., last] if names.len() > 3 => format!("{first} … {last}"),
        few => few.join(", "),
    }
}

/// The lines of a ledger for each station in order, named by their counters alone; and the others.
fn by_station(route: &Route, ledger: &[LossEntry]) -> (Vec<Vec<LossEntry>>, Vec<LossEntry>) {
    let mut lost = vec![Vec::new(); route.stations().count()];
    let mut elsewhere = Vec::new();
    for entry in ledger.iter().filter(|entry| entry.frames > 0) {
        let Some((at, counter)) = route.station_of(&entry.place) else {
            elsewhere.push(entry.clone());
            continue;
        };
        let own: &mut Vec<LossEntry> = &mut lost[at];
        match own.iter_mut().find(|line| line.place == counter) {
            // Of several guests' stations the counters are one.
            Some(line) => line.frames = line.frames.saturating_add(entry.frames),
            None => own.push(LossEntry {
                place: counter.to_owned(),
                ..entry.clone()
            }),
        }
    }
    (lost, elsewhere)
}

/// Where the threads of a path are at home: a site, and a station of it.
struct Threads {
    at: Vec<(usize, Option<usize>, Runs)>,
}

impl Threads {
    fn of(cell: &CellResult, route: &Route) -> Self {
        let who = cell.cpu.as_ref().map(|cpu| &cpu.who);
        let share = |name: &str| who?.get(name).copied().filter(|share| share.is_finite());
        let polls = |name: &str| {
            cell.cpu
                .as_ref()
                .is_some_and(|cpu| cpu.polls(name).is_some())
        };
        let known: Vec<BuiltThread> = match &cell.built {
            Some(built) => built.threads.clone(),
            // Labels of older runs name the interface.
            None => {
                let labels = who.into_iter().flat_map(BTreeMap::keys);
                let napi = labels.filter_map(|name| {
                    let at = name.strip_prefix("napi/").unwrap_or(name);
                    (at != name || name.contains('/')).then(|| BuiltThread {
                        at: at.to_owned(),
                        name: name.clone(),
                        cpus: Vec::new(),
                    })
                });
                napi.collect()
            }
        };
        let mut at: Vec<(usize, Option<usize>, Runs)> = Vec::new();
        for thread in known {
            let Some((site, station)) = home(&thread, route) else {
                continue;
            };
            let same = |(s, n, runs): &&mut (usize, Option<usize>, Runs)| {
                (*s, *n, &runs.name) == (site, station, &thread.name)
            };
            match at.iter_mut().find(same) {
                Some((.., runs)) => {
                    let cpus: BTreeSet<u32> = runs.cpus.drain(..).chain(thread.cpus).collect();
                    runs.cpus = cpus.into_iter().collect();
                }
                None => at.push((
                    site,
                    station,
                    Runs {
                        share: share(&thread.name),
                        polls: polls(&thread.name),
                        name: thread.name,
                        cpus: thread.cpus,
                    },
                )),
            }
        }
        let tester = "tester";
        let cpus = cell.built.as_ref().map(|built| built.tester_cpus.clone());
        if cpus.is_some() || share(tester).is_some() {
            for (site, share) in [(0, share(tester)), (route.sites.len() - 1, None)] {
                let runs = Runs {
                    name: tester.to_owned(),
                    cpus: cpus.clone().unwrap_or_default(),
                    share,
                    polls: false,
                };
                at.push((site, Some(0), runs));
            }
        }
        Self { at }
    }

    fn of_station(&self, site: usize, station: usize) -> Vec<Runs> {
        self.select(|at| at == (site, Some(station)))
    }

    fn of_site(&self, site: usize) -> Vec<Runs> {
        self.select(|at| at == (site, None))
    }

    fn select(&self, wanted: impl Fn((usize, Option<usize>)) -> bool) -> Vec<Runs> {
        let own = self
            .at
            .iter()
            .filter(|(site, station, _)| wanted((*site, *station)));
        own.map(|(.., runs)| runs.clone()).collect()
    }
}

/// The site and the station where a thread works; a guest's threads work for all of it, those of a
/// program for the switch that it is.
fn home(thread: &BuiltThread, route: &Route) -> Option<(usize, Option<usize>)> {
    let find = |wanted: &dyn Fn(&route::Station) -> bool| {
        route.sites.iter().enumerate().find_map(|(site, of)| {
            let station = of.stations.iter().position(wanted)?;
            Some((site, Some(station)))
        })
    };
    if let Some(found) = find(&|station| station.names.contains(&thread.at)) {
        return Some(found);
    }
    let owner = thread.name.split('/').next().unwrap_or_default();
    let of_guest = route.sites.iter().position(|site| {
        let mut names = site.stations.iter().flat_map(|station| &station.names);
        matches!(site.kind, SiteKind::Guests(_))
            && names.any(|name| name.split(' ').next() == Some(owner))
    });
    if let Some(site) = of_guest {
        return Some((site, None));
    }
    find(&|station| {
        matches!(
            station.kind,
            StationKind::Ovs | StationKind::OvsDpdk | StationKind::Testpmd
        )
    })
}
