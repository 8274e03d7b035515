//! Paths in order of what they carry, with what each costs against the best.

use std::collections::{BTreeMap, BTreeSet};

use nicety_model::path::Layer;
use nicety_model::{Direction, FrameSize, Verdict};

use crate::confidence::Confidence;
use crate::number;
use crate::pick::{self, Group};

/// A path in a ranking.
pub(crate) struct Place<'g, 'r> {
    pub(crate) group: &'g Group<'r>,
    /// Frames/s per direction.
    pub(crate) fps: f64,
    /// Its share of what the best carries, 1 for the best.
    pub(crate) share: f64,
    /// Verdicts behind the share: its own and that of the best.
    pub(crate) confidence: Confidence,
    /// What its last layer costs, where the same path without it was measured too.
    pub(crate) layer: Option<LayerCost<'g, 'r>>,
}

/// Who sent and counted: `xdp`, `af_xdp`.
pub(crate) fn engine<'g>(group: &'g Group<'_>) -> &'g str {
    group.shown.engine.split(' ').next().unwrap_or_default()
}

/// A layer, and how much longer a frame takes with it.
pub(crate) struct LayerCost<'g, 'r> {
    pub(crate) layer: Layer,
    /// The path without it.
    pub(crate) base: &'g Group<'r>,
    /// Nanoseconds a frame: the difference of the times between two frames, 1 / rate.
    pub(crate) ns: f64,
    /// The least and the most that the intervals of both rates allow, where both have one.
    pub(crate) ends_ns: Option<(f64, f64)>,
    /// Verdicts behind both rates.
    pub(crate) confidence: Confidence,
}

impl LayerCost<'_, '_> {
    /// `rules=100 over routed`.
    pub(crate) fn what(&self) -> String {
        let layer = match &self.layer {
            Layer::Tags => "tags",
            Layer::Tunnel => "the tunnel",
            Layer::LogicalSwitch => "the logical switch",
            Layer::Bundle => "bundling two links",
            Layer::Guest => "the guest",
            Layer::Parameter(word) => word,
        };
        format!("{layer} over {}", self.base.key.path_name())
    }
}

impl Place<'_, '_> {
    /// What it costs against the best: the part of the best's frames/s that it does not carry.
    pub(crate) fn cost(&self) -> f64 {
        1.0 - self.share
    }
}

/// Paths that were measured with frames of one size, in one direction or both, with as many
/// flows; the best first.
pub(crate) struct Ranking<'g, 'r> {
    pub(crate) direction: Direction,
    pub(crate) flows: u32,
    pub(crate) size: FrameSize,
    /// What is unusual about the frames.
    pub(crate) traffic: String,
    pub(crate) places: Vec<Place<'g, 'r>>,
    /// Paths left out because only a bound of theirs is known.
    bounds: usize,
}

/// Paths from which on their order is a part of the answer.
const FEW: usize = 3;

impl Ranking<'_, '_> {
    /// Whether it has so many paths that their order is a part of the answer.
    pub(crate) fn tells(&self) -> bool {
        self.places.len() >= FEW
    }

    /// `Of 2 more paths only a lower bound is known.`
    pub(crate) fn left_out(&self) -> Option<String> {
        let more = number::plural(self.bounds, "more path");
        (self.bounds > 0).then(|| format!("Of {more} only a lower bound is known."))
    }

    /// Whether not all its paths were measured with one engine.
    pub(crate) fn engines_differ(&self) -> bool {
        let engines: BTreeSet<&str> = self.places.iter().map(|at| engine(at.group)).collect();
        engines.len() > 1
    }

    /// `64 bytes, both directions, 256 flows`.
    pub(crate) fn of(&self) -> String {
        let size = if self.traffic.is_empty() {
            format!("{} bytes", self.size)
        } else {
            format!("{} bytes ({})", self.size, self.traffic)
        };
        let mut text = format!("{size}, {}", pick::direction(self.direction));
        if self.flows > 1 {
            text.push_str(&format!(", {} flows", self.flows));
        }
        text
    }
}

/// A ranking for every direction, number of flows and frame size with two paths or more.
pub(crate) fn all<'g, 'r>(groups: &'g [Group<'r>]) -> Vec<Ranking<'g, 'r>> {
    let mut alike = BTreeMap::<_, Vec<(f64, &Group<'_>)>>::new();
    for group in groups {
        let Some(fps) = group.throughput_fps().filter(|fps| *fps > 0.0) else {
            continue;
        };
        let key = &group.key;
        let traffic = key.traffic_words();
        let key = (key.direction, key.flows, key.frame_size_bytes, traffic);
        alike.entry(key).or_default().push((fps, group));
    }
    let ranking = |((direction, flows, size, traffic), cells): (_, Vec<(f64, _)>)| {
        let is_bound = |(_, group): &(f64, &Group<'_>)| group.verdict() == Verdict::Bound;
        let (bounds, cells): (Vec<_>, Vec<_>) = cells.into_iter().partition(is_bound);
        Ranking {
            direction,
            flows,
            size,
            traffic,
            places: places(cells),
            bounds: bounds.len(),
        }
    };
    let rankings = alike.into_iter().map(ranking);
    rankings
        .filter(|ranking| ranking.places.len() > 1)
        .collect()
}

/// Of every direction and number of flows one ranking: for the frame size that most paths were
/// measured with, of several the smallest, which tells the most.
pub(crate) fn told<'g, 'r>(groups: &'g [Group<'r>]) -> Vec<Ranking<'g, 'r>> {
    let mut told: Vec<Ranking<'g, 'r>> = Vec::new();
    for ranking in all(groups) {
        let same = |other: &&mut Ranking<'_, '_>| {
            (other.direction, other.flows) == (ranking.direction, ranking.flows)
        };
        match told.iter_mut().find(same) {
            Some(other) if ranking.places.len() > other.places.len() => *other = ranking,
            Some(_) => {}
            None => told.push(ranking),
        }
    }
    told
}

fn places<'g, 'r>(mut cells: Vec<(f64, &'g Group<'r>)>) -> Vec<Place<'g, 'r>> {
    cells.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let Some((best, first)) = cells.first().copied() else {
        return Vec::new();
    };
    let all = cells.clone();
    let place = |(fps, group): (f64, &'g Group<'r>)| Place {
        group,
        fps,
        share: fps / best,
        confidence: Confidence::of(group).and(&Confidence::of(first)),
        layer: layer(fps, group, &all),
    };
    cells.into_iter().map(place).collect()
}

/// What a path's last layer costs: against the path that is it but for one thing, of several the one with the most
/// in common.
fn layer<'g, 'r>(
    fps: f64,
    group: &'g Group<'r>,
    cells: &[(f64, &'g Group<'r>)],
) -> Option<LayerCost<'g, 'r>> {
    let path = &group.key.path;
    // What another engine costs is no cost of the layer.
    let alike = cells
        .iter()
        .filter(|(_, base)| engine(base) == engine(group));
    let bases = alike.filter_map(|(rate, base)| {
        let layer = path.layer_over(&base.key.path)?;
        Some((layer, *rate, *base))
    });
    let (layer, rate, base) = bases.max_by_key(|(_, _, base)| base.key.path.words().len())?;
    Some(LayerCost {
        layer,
        base,
        ns: 1e9 / fps - 1e9 / rate,
        ends_ns: group.interval().zip(base.interval()).map(|(own, other)| {
            let between = |of: f64, than: f64| 1e9 / of - 1e9 / than;
            (between(own.1, other.0), between(own.0, other.1))
        }),
        confidence: Confidence::of(group).and(&Confidence::of(base)),
    })
}

/// Frame sizes that occur, smallest first.
pub(crate) fn sizes(groups: &[Group<'_>]) -> Vec<FrameSize> {
    let single = groups.iter().filter(|g| g.key.shape.imix.is_none());
    let sizes: BTreeSet<FrameSize> = single.map(|g| g.key.frame_size_bytes).collect();
    sizes.into_iter().collect()
}

/// What stands under every ranking.
pub(crate) const LEGEND: &str = "The cost against the best is how much less a path carries.";
/// And where engines differ.
pub(crate) const ENGINES: &str = "An engine counts frames on CPUs of the path and costs it time: compare closely only \
     paths measured with the same one.";
/// And where the rates have intervals.
pub(crate) const ENDS: &str =
    "The intervals of both rates bound it: bounds on either side of 0 do not tell the two apart.";
/// And where layers are told of.
pub(crate) const LAYERS: &str = "A layer's cost is how much longer it takes from one frame to the next than without it: \
     the difference of 1 / rate, whichever CPU held up either.";
