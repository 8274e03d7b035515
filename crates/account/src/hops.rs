//! How long frames were where: what programs saw of each sampled frame, joined by its number.
//!
//! A frame's stations are in the order in which it was noted. Its hops are the times between them, from the sender's
//! stamp to its arrival. Frames that were not seen everywhere on the usual way enter no figure and are counted.

mod stations;

use std::collections::{BTreeMap, BTreeSet};

use nicety_model::FateCause;
use nicety_model::hop::{Hop, HopReport, HopTime};

pub(crate) use stations::end;

use crate::AccountError;
use crate::latency::Latency;

/// Times of stamps wrap after so many nanoseconds.
const WRAP_MASK: u64 = (1 << 48) - 1;
/// What the hops of a frame may differ from its time from end to end.
const TOLERANCE: f64 = 0.01;

/// A frame at a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Stream in the upper half, number in the lower.
    pub frame: u64,
    /// When it was sent, by its stamp, in nanoseconds.
    pub sent_ns: u64,
    /// When it was seen.
    pub at_ns: u64,
    /// Number of the station.
    pub station: usize,
    /// CPU that ran there.
    pub cpu: u32,
    /// Frames that GRO had merged into one there, this one the first of them; 0 or 1 where it had not.
    pub merged: u16,
}

impl Seen {
    /// The frame's stream.
    pub fn stream(&self) -> u32 {
        (self.frame >> 32) as u32
    }
}

/// A place where frames are seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Station {
    /// In words: `received at d0`.
    pub name: String,
    /// The interface: `d0`.
    pub device: String,
    /// Inode of its network namespace: others may have one of the same name.
    pub netns: u64,
    /// The tester receives here: the frame has arrived.
    pub arrives: bool,
    /// Why frames are thrown away here; absent where they pass or have arrived.
    pub cause: Option<FateCause>,
    /// What is thrown away here is a copy mostly, as of frames for others.
    pub copies: bool,
    /// Most by which times here may be wrong, in nanoseconds: another clock took them. Absent of the host's.
    pub clock_error_ns: Option<u64>,
}

impl Station {
    fn loses(&self) -> bool {
        self.cause.is_some()
    }
}

/// One frame on the usual way.
struct Chain {
    sent_ns: u64,
    stations: Vec<Seen>,
}

/// Joins what was seen. `sender` is the first station in words.
///
/// # Errors
/// When a histogram cannot be made.
pub fn join(
    seen: Vec<Seen>,
    stations: &[Station],
    sender: &str,
) -> Result<HopReport, AccountError> {
    let seen = own(seen, stations);
    let mut report = HopReport {
        stations: stations::count(&seen, stations),
        ..HopReport::default()
    };
    let mut ways: BTreeMap<Vec<usize>, Vec<Chain>> = BTreeMap::new();
    for frame in seen.chunk_by(same_frame) {
        let is = |of: &Seen, what: fn(&Station) -> bool| stations.get(of.station).is_some_and(what);
        let Some(end) = frame
            .iter()
            .position(|of| is(of, |station| station.arrives))
        else {
            report.cut += 1;
            continue;
        };
        let way = &frame[..=end];
        // Its times are those of all frames in it, and stations of the others are not known.
        let merged = way.iter().map(|of| of.merged).max().unwrap_or(0);
        if merged > 1 {
            report.merged += u64::from(merged);
            continue;
        }
        // Copies that were thrown away on the way are no station.
        let way: Vec<Seen> = way
            .iter()
            .filter(|of| is(of, |station| station.arrives || !station.loses()))
            .copied()
            .collect();
        let numbers = way.iter().map(|of| of.station).collect();
        let chain = Chain {
            sent_ns: way[0].sent_ns,
            stations: way,
        };
        ways.entry(numbers).or_default().push(chain);
    }
    let usual = ways.iter().max_by_key(|(_, chains)| chains.len());
    let Some(usual) = usual.map(|(way, _)| way.clone()) else {
        return Ok(report);
    };
    let chains = ways.remove(&usual).unwrap_or_default();
    report.other_ways = ways.values().map(|chains| chains.len() as u64).sum();
    report.frames = chains.len() as u64;
    let mut times: Vec<Latency> = Vec::new();
    for _ in &usual {
        times.push(Latency::new()?);
    }
    let mut whole = Latency::new()?;
    let mut cpus: Vec<BTreeMap<u32, u64>> = vec![BTreeMap::new(); usual.len()];
    for chain in &chains {
        let mut sum = 0;
        let mut before = chain.sent_ns;
        for (n, of) in chain.stations.iter().enumerate() {
            // Where clocks of CPUs differ, one may go back: the hops are then more than the whole.
            let time = since(before, of.at_ns);
            before = of.at_ns;
            sum += time.max(0);
            times[n].record(time.max(0));
            *cpus[n].entry(of.cpu).or_default() += 1;
        }
        let end = chain.stations.last().map_or(0, |of| of.at_ns);
        let all = since(chain.sent_ns, end);
        whole.record(all.max(0));
        let off = sum.abs_diff(all) as f64;
        report.summed += u64::from(off <= TOLERANCE * all as f64);
    }
    report.end_to_end = time(&whole);
    let name = |n: usize| {
        let station = usual.get(n).and_then(|at| stations.get(*at));
        station.map_or_else(String::new, |station| station.name.clone())
    };
    let clock = |n: usize| {
        let station = usual.get(n).and_then(|at| stations.get(*at));
        station.and_then(|station| station.clock_error_ns)
    };
    report.hops = (times.iter().zip(&cpus).enumerate())
        .map(|(n, (times, cpus))| {
            let mut by_count: Vec<(&u32, &u64)> = cpus.iter().collect();
            by_count.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
            Hop {
                from: match n {
                    0 => sender.to_owned(),
                    n => name(n - 1),
                },
                to: name(n),
                cpus: by_count.into_iter().map(|(cpu, _)| *cpu).collect(),
                time: time(times),
                error_ns: crossing(n.checked_sub(1).and_then(clock), clock(n)),
            }
        })
        .collect();
    Ok(report)
}

/// How wrong the time between two places may be, by those of the clocks that took theirs: not at all where one did.
pub(crate) fn crossing(from: Option<u64>, to: Option<u64>) -> Option<u64> {
    match (from, to) {
        (Some(_), Some(_)) => None,
        (from, to) => from.or(to),
    }
}

/// Whether both are of one frame. Its number alone does not say it: another tester may be at work.
pub(crate) fn same_frame(a: &Seen, b: &Seen) -> bool {
    (a.frame, a.sent_ns) == (b.frame, b.sent_ns)
}

/// What was seen of the tester's own frames, by frame: those of another tester on the machine keep to namespaces that
/// no frame comes through which arrives here. Where none arrives at all, there is no telling.
pub(crate) fn own(mut seen: Vec<Seen>, stations: &[Station]) -> Vec<Seen> {
    // Stable: those of a frame stay in the order in which they were noted, whatever the clocks of CPUs say.
    seen.sort_by_key(|of| (of.frame, of.sent_ns));
    let station = |of: &Seen| stations.get(of.station);
    let mut home: BTreeSet<u64> = BTreeSet::new();
    for frame in seen.chunk_by(same_frame) {
        let way = || frame.iter().filter_map(station);
        if way().any(|station| station.arrives) {
            home.extend(way().map(|station| station.netns));
        }
    }
    if home.is_empty() {
        return seen;
    }
    let at_home = |of: &Seen| station(of).is_none_or(|station| home.contains(&station.netns));
    let frames = seen.chunk_by(same_frame);
    let own = frames.filter(|frame| frame.iter().any(at_home));
    own.flatten().copied().collect()
}

/// Nanoseconds from one time to another, both of a clock that wraps.
pub(crate) fn since(from: u64, to: u64) -> i64 {
    let unused = u64::BITS - WRAP_MASK.count_ones();
    (to.wrapping_sub(from) << unused).cast_signed() >> unused
}

fn time(of: &Latency) -> HopTime {
    let ns = |us: f64| (us * 1e3).round().max(0.0) as u64;
    of.summary().map_or_else(HopTime::default, |times| HopTime {
        mean_ns: ns(times.mean),
        p50_ns: ns(times.p50),
        p99_ns: ns(times.p99),
        p999_ns: ns(times.p999),
        max_ns: ns(times.max),
    })
}

#[cfg(test)]
mod tests;
