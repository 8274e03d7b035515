//! The matrix a plan spans, counted without walking it and walked without storing it.

use std::collections::BTreeSet;

use crate::cell::{CellKey, SkippedCell};
use crate::path::{PathSpec, VmConfig};
use crate::plan::{PathPlan, Plan};
use crate::problem::{Problem, ProblemCode};

/// Most cells of one plan.
pub const MAX_CELLS: u64 = 100_000;

impl PathPlan {
    /// The kind, as plans write it.
    pub fn kind(&self) -> &str {
        match self {
            Self::Bridge => "bridge",
            Self::Ports { .. } => "ports",
            Self::Switch { kind, .. } => kind.word(),
            Self::Vm { .. } => "vm",
        }
    }

    /// The tester's interfaces that are there already and connected with the path from outside, where
    /// it is such a path.
    pub fn interfaces(&self) -> Option<[&str; 2]> {
        match self {
            Self::Ports { a, b } => Some([a, b]),
            Self::Switch { params, .. } => params.ends(),
            _ => None,
        }
    }

    /// Why no machine can build a point.
    fn refusal(point: &PathSpec) -> Option<Problem> {
        match point {
            PathSpec::Vm(vm) => VmConfig::refusal_of(vm),
            // Beside a list of rules with 0 in it: the same cell as without lookup, by another name.
            PathSpec::Routed(ask) if ask.lookup.is_some() && ask.rules() == 0 => {
                let problem = Problem::new(
                    ProblemCode::WithoutEffect,
                    "rules = 0: there is nothing to look through",
                );
                Some(problem.with("write rules = 0 in a [[path]] of its own, without lookup"))
            }
            _ => None,
        }
    }

    /// Every combination of the path's lists: what [`CellKey::path`] is.
    fn points(&self) -> impl Iterator<Item = PathSpec> + use<> {
        let path = self.clone();
        (0..self.point_count()).map(move |index| path.point(index))
    }
}

impl Plan {
    /// Number of cells, repeats not counted. Saturates; no cell is built for it.
    pub fn cell_count(&self) -> u64 {
        self.point_count().saturating_mul(self.cells_per_point())
    }

    /// Points of all paths.
    pub(super) fn point_count(&self) -> u64 {
        self.paths
            .iter()
            .fold(0_u64, |sum, path| sum.saturating_add(path.point_count()))
    }

    /// Every point of every path, and why no machine can build it.
    pub(super) fn refusals(&self) -> impl Iterator<Item = (PathSpec, Option<Problem>)> + '_ {
        let points = self.paths.iter().flat_map(PathPlan::points);
        points.map(|point| {
            let refusal = PathPlan::refusal(&point);
            (point, refusal)
        })
    }

    /// Every cell in the plan's order, those that cannot be built among them: paths, then
    /// frame sizes, directions, flows.
    pub fn cells(&self) -> impl Iterator<Item = CellKey> + '_ {
        self.paths.iter().flat_map(|path| self.cells_of(path))
    }

    /// The cells this version knows how to build.
    pub fn buildable_cells(&self) -> impl Iterator<Item = CellKey> + '_ {
        self.cells()
            .filter(|key| PathPlan::refusal(&key.path).is_none())
    }

    /// The cells it does not, with reason and remedy.
    pub fn unavailable_cells(&self) -> impl Iterator<Item = SkippedCell> + '_ {
        self.cells().filter_map(|key| {
            let refusal = PathPlan::refusal(&key.path)?;
            Some(SkippedCell::new(key.name(), refusal))
        })
    }

    /// The cells of one of the plan's paths.
    pub fn cells_of<'p>(&'p self, path: &PathPlan) -> impl Iterator<Item = CellKey> + use<'p> {
        let traffic = &self.traffic;
        path.points().flat_map(move |point| {
            traffic.sizes().flat_map(move |(size, mix)| {
                let point = point.clone();
                traffic.directions.iter().flat_map(move |direction| {
                    let point = point.clone();
                    traffic.flows.iter().map(move |flows| CellKey {
                        path: point.clone(),
                        frame_size_bytes: size,
                        direction: *direction,
                        flows: *flows,
                        shape: traffic.shape.with_mix(mix),
                    })
                })
            })
        })
    }

    /// Cells per point of the paths.
    fn cells_per_point(&self) -> u64 {
        let traffic = &self.traffic;
        product([
            traffic.frame_sizes.len() + traffic.mixes.len(),
            traffic.directions.len(),
            traffic.flows.len(),
        ])
    }

    /// What multiplies the matrix, in words: `2 path settings x 7 frame sizes x …`.
    pub(super) fn factors(&self) -> String {
        let points = self.point_count();
        let traffic = &self.traffic;
        let factors = [
            (points, "path setting"),
            (traffic.sizes().count() as u64, "frame size"),
            (traffic.directions.len() as u64, "direction"),
            (traffic.flows.len() as u64, "flow count"),
        ];
        let words = factors.map(|(count, what)| {
            let plural = if count == 1 { "" } else { "s" };
            format!("{} {what}{plural}", thousands(count))
        });
        words.join(" x ")
    }

    /// The first path that has a point another one before it has: its number and that point's
    /// name. Walks all points, so the plan's size must have been checked.
    pub(super) fn first_double(&self) -> Option<(usize, String)> {
        let mut seen = BTreeSet::new();
        for (index, path) in self.paths.iter().enumerate() {
            for point in path.points() {
                if seen.contains(&point) {
                    return Some((index, point.to_string()));
                }
                seen.insert(point);
            }
        }
        None
    }
}

/// Product of lengths, saturating.
pub(super) fn product(lengths: impl IntoIterator<Item = usize>) -> u64 {
    lengths.into_iter().fold(1, |product: u64, length| {
        product.saturating_mul(length as u64)
    })
}

/// A number with commas between thousands.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
