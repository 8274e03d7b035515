//! One direction against both: average, minimum, maximum and their ratios by driver, queues and
//! placement of virtual CPUs, the way measurements of guests are usually printed (Internet Week
//! 2011, S9).

use std::collections::{BTreeMap, BTreeSet};

use nicety_model::{Direction, FrameSize};

use crate::confidence::Confidence;
use crate::pick::Group;

/// What a row's number is taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// The frame sizes that both directions were measured with, and their repeats.
    Sizes,
    /// The repeats of one frame size; of these only what was measured both ways.
    Repeats,
}

/// Frames/s of a row, those of both directions added up.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Side {
    /// Average, every frame size counting the same.
    pub(crate) ave: f64,
    /// Smallest and largest; absent where one number only stands behind the average.
    pub(crate) extremes: Option<(f64, f64)>,
    /// Verdicts.
    pub(crate) confidence: Confidence,
}

impl Side {
    /// Average, minimum and maximum in this order.
    pub(crate) fn values(&self) -> [Option<f64>; 3] {
        let (min, max) = self.extremes.unzip();
        [Some(self.ave), min, max]
    }
}

/// Two rows: the same path in one direction and in both.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pair {
    /// The path without the placement: driver, switch, queues, ….
    pub(crate) setting: String,
    /// Virtual CPUs and their pins, where the path has them.
    pub(crate) vcpus: Option<String>,
    pub(crate) pin: Option<String>,
    pub(crate) flows: u32,
    /// Frame sizes that the numbers are of, smallest first.
    pub(crate) sizes: Vec<FrameSize>,
    pub(crate) one: Option<Side>,
    pub(crate) both: Option<Side>,
}

impl Pair {
    /// Both directions over one: of the averages, the minima and the maxima.
    pub(crate) fn ratio(&self) -> Option<[Option<f64>; 3]> {
        let (one, both) = (self.one.as_ref()?.values(), self.both.as_ref()?.values());
        let of = |i: usize| Some(both[i]? / one[i].filter(|fps| *fps > 0.0)?);
        of(0).is_some().then(|| std::array::from_fn(of))
    }

    /// Verdicts behind the ratio.
    pub(crate) fn confidence(&self) -> Confidence {
        let of = |side: &Option<Side>| {
            side.as_ref()
                .map(|s| s.confidence.clone())
                .unwrap_or_default()
        };
        of(&self.one).and(&of(&self.both))
    }

    /// The rows there are.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (Direction, &Side)> {
        let one = self.one.as_ref().map(|side| (Direction::Uni, side));
        let both = self.both.as_ref().map(|side| (Direction::Bi, side));
        one.into_iter().chain(both)
    }
}

/// Cells by frame size.
type BySize<'g, 'r> = BTreeMap<FrameSize, &'g Group<'r>>;

/// Cells that differ in direction and frame size only.
struct Alike<'g, 'r> {
    setting: String,
    first: &'g Group<'r>,
    one: BySize<'g, 'r>,
    both: BySize<'g, 'r>,
}

/// The rows, those of a setting next to each other; empty where no path was measured both ways
/// and none places virtual CPUs.
pub(crate) fn pairs(groups: &[Group<'_>], over: Over) -> Vec<Pair> {
    let found = alike(groups);
    let mut pairs: Vec<Pair> = match over {
        Over::Sizes => found.iter().map(|cells| pair(cells, None)).collect(),
        Over::Repeats => found
            .iter()
            .flat_map(|cells| {
                let sizes: BTreeSet<&FrameSize> =
                    cells.one.keys().chain(cells.both.keys()).collect();
                sizes.into_iter().map(|size| pair(cells, Some(*size)))
            })
            .collect(),
    };
    pairs.retain(|pair| match over {
        Over::Sizes => pair.one.is_some() || pair.both.is_some(),
        Over::Repeats => pair.ratio().is_some(),
    });
    let compares = |pair: &Pair| pair.ratio().is_some() || pair.pin.is_some();
    if pairs.iter().any(compares) {
        pairs
    } else {
        Vec::new()
    }
}

fn alike<'g, 'r>(groups: &'g [Group<'r>]) -> Vec<Alike<'g, 'r>> {
    let mut all: Vec<Alike<'g, 'r>> = Vec::new();
    let mut at = BTreeMap::new();
    let mut settings: BTreeMap<String, usize> = BTreeMap::new();
    for group in groups.iter().filter(|g| g.throughput_fps().is_some()) {
        let index = *at
            .entry((&group.key.path, group.key.flows, group.key.traffic_words()))
            .or_insert_with(|| {
                all.push(Alike {
                    setting: setting(group),
                    first: group,
                    one: BTreeMap::new(),
                    both: BTreeMap::new(),
                });
                all.len() - 1
            });
        let cells = &mut all[index];
        match group.key.direction {
            Direction::Uni => cells.one.insert(group.key.frame_size_bytes, group),
            Direction::Bi => cells.both.insert(group.key.frame_size_bytes, group),
        };
    }
    for (place, cells) in all.iter().enumerate() {
        settings.entry(cells.setting.clone()).or_insert(place);
    }
    all.sort_by_key(|cells| settings.get(&cells.setting).copied());
    all
}

/// Name of a path without the placement of its virtual CPUs.
fn setting(group: &Group<'_>) -> String {
    let path = group.key.path.clone().without_placement().to_string();
    match group.key.traffic_words() {
        usual if usual.is_empty() => path,
        traffic => format!("{path}, {traffic}"),
    }
}

fn pair(cells: &Alike<'_, '_>, only: Option<FrameSize>) -> Pair {
    let has = |of: &BySize<'_, '_>, size: &FrameSize| of.is_empty() || of.contains_key(size);
    let all: BTreeSet<FrameSize> = cells.one.keys().chain(cells.both.keys()).copied().collect();
    let sizes: Vec<FrameSize> = match only {
        Some(size) => vec![size],
        // An average over other frame sizes would not compare.
        None => all
            .into_iter()
            .filter(|size| has(&cells.one, size) && has(&cells.both, size))
            .collect(),
    };
    let path = &cells.first.key.path;
    Pair {
        setting: cells.setting.clone(),
        vcpus: path.word("vcpus"),
        pin: path.word("pin"),
        flows: cells.first.key.flows,
        one: side(&cells.one, &sizes, 1.0),
        both: side(&cells.both, &sizes, 2.0),
        sizes,
    }
}

/// Average and extremes over the cells of these sizes; a cell's throughput is that of each of
/// its `directions`.
fn side(cells: &BySize<'_, '_>, sizes: &[FrameSize], directions: f64) -> Option<Side> {
    let found: Vec<(f64, &Group<'_>)> = sizes
        .iter()
        .filter_map(|size| cells.get(size))
        .filter_map(|group| Some((group.throughput_fps()?, *group)))
        .collect();
    if found.is_empty() {
        return None;
    }
    let extremes = || {
        found
            .iter()
            .map(|(fps, g)| g.extremes_fps().unwrap_or((*fps, *fps)))
    };
    let ave = found.iter().map(|(fps, _)| fps).sum::<f64>() / found.len() as f64;
    let min = extremes().map(|(min, _)| min).fold(f64::INFINITY, f64::min);
    let max = extremes().map(|(_, max)| max).fold(0.0, f64::max);
    let several = found.len() > 1 || found.iter().any(|(_, g)| g.extremes_fps().is_some());
    Some(Side {
        ave: directions * ave,
        extremes: several.then_some((directions * min, directions * max)),
        confidence: found.iter().fold(Confidence::default(), |all, (_, g)| {
            all.and(&Confidence::of(g))
        }),
    })
}

/// What stands under every such table.
pub(crate) const LEGEND: &str = "Frames of both directions are added up: 200 % is what a path carries \
     that loses nothing by the second direction, 100 % one whose limit they share. Average, minimum and \
     maximum are over the repeats and the frame sizes named, which are those measured in both directions.";
