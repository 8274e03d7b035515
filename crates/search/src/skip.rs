//! Cells to skip when one of them cannot be measured here.

use std::collections::{BTreeMap, BTreeSet};

use nicety_model::{CellKey, CellResult, FrameSize, Problem};

/// Why a cell cannot be measured here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Reason.
    pub problem: Problem,
    /// Whether every cell of the same path meets it.
    pub lasts: bool,
}

/// The cells on one path, which differ in frames only; never empty.
#[derive(Debug, Clone, Copy)]
pub struct Point<'a> {
    first: u32,
    keys: &'a [CellKey],
}

/// The points of the matrix: cells on one path stand together in the plan.
pub fn points(cells: &[CellKey]) -> impl Iterator<Item = Point<'_>> {
    let mut first = 0;
    cells.chunk_by(|a, b| a.path == b.path).map(move |keys| {
        let point = Point { first, keys };
        first += keys.len() as u32;
        point
    })
}

impl Point<'_> {
    /// Whether any of its cells is among `open`.
    pub fn has_any(&self, open: &BTreeSet<u32>) -> bool {
        let last = self.first + self.keys.len() as u32;
        open.range(self.first..last).next().is_some()
    }

    /// Those of its cells among `open` that are ruled out. `look` says what stands in the way of a
    /// cell; it is asked as seldom as possible.
    pub fn rule_out(
        &self,
        open: &BTreeSet<u32>,
        look: impl Fn(&CellKey) -> Option<Refused>,
    ) -> Vec<(u32, Refused)> {
        let sizes = self.keys.iter().map(|key| key.frame_size_bytes).collect();
        let refused = by_size(&sizes, |size| {
            look(&CellKey {
                frame_size_bytes: size,
                ..self.keys[0].clone()
            })
        });
        (self.first..)
            .zip(self.keys)
            .filter(|(cell, _)| open.contains(cell))
            .filter_map(|(cell, key)| Some((cell, refused.get(&key.frame_size_bytes)?.clone())))
            .collect()
    }
}

/// The frame sizes that are ruled out. What refuses the smallest and is not the size's fault
/// refuses all; where the largest is carried, all are.
fn by_size(
    sizes: &BTreeSet<FrameSize>,
    refused: impl Fn(FrameSize) -> Option<Refused>,
) -> BTreeMap<FrameSize, Refused> {
    let (Some(smallest), Some(largest)) = (sizes.first(), sizes.last()) else {
        return BTreeMap::new();
    };
    match refused(*smallest) {
        Some(why) if why.lasts => sizes.iter().map(|size| (*size, why.clone())).collect(),
        None if smallest == largest || refused(*largest).is_none() => BTreeMap::new(),
        _ => sizes
            .iter()
            .filter_map(|size| Some((*size, refused(*size)?)))
            .collect(),
    }
}

/// The cells among `open` that are skipped when `cell` could not be measured: all on its path where
/// they would meet the same (`lasts`); not where the path has been there before, because then
/// something else is the matter.
pub fn with_path(
    cells: &[CellKey],
    results: &[CellResult],
    open: BTreeSet<u32>,
    cell: u32,
    lasts: bool,
) -> BTreeSet<u32> {
    let path = cells.get(cell as usize).map(|key| &key.path);
    let on_path = |key: &&CellKey| Some(&key.path) == path;
    let was_there = |key: &CellKey| {
        let name = key.name();
        results.iter().any(|result| result.cell == name)
    };
    let alone = !lasts || cells.iter().filter(on_path).any(was_there);
    let same = |number: &u32| {
        let key = cells.get(*number as usize);
        *number == cell || (!alone && key.as_ref().is_some_and(on_path))
    };
    open.into_iter().filter(same).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use nicety_model::{Plan, ProblemCode, Verdict};

    use super::*;
    use crate::summary::tests::cell as result;

    fn keys(sizes: &str) -> Vec<CellKey> {
        let paths = "[[path]]\nkind = \"bridge\"\n[[path]]\nkind = \"testpmd\"\n";
        let text = format!("[traffic]\nframe_sizes = {sizes}\n{paths}");
        Plan::parse("plan.toml", &text).unwrap().cells().collect()
    }

    fn refused(lasts: bool) -> Refused {
        Refused {
            problem: Problem::new(ProblemCode::NotInstalled, "dpdk-testpmd is not installed"),
            lasts,
        }
    }

    #[test]
    fn what_refuses_one_size_refuses_all_or_the_larger_ones() {
        let keys = keys("[64, 1518, 9018]");
        let [bridge, testpmd] = points(&keys).collect::<Vec<_>>()[..] else {
            panic!("two paths");
        };
        let all: BTreeSet<u32> = (0..6).collect();
        assert!(bridge.has_any(&all) && !testpmd.has_any(&BTreeSet::from([0, 2])));
        let looks = Cell::new(0);
        let out = |open: &BTreeSet<u32>, least: u16, lasts| {
            looks.set(0);
            let ruled_out = testpmd.rule_out(open, |key| {
                looks.set(looks.get() + 1);
                (key.frame_size_bytes.bytes() > least).then(|| refused(lasts))
            });
            let cells: Vec<u32> = ruled_out.into_iter().map(|(cell, _)| cell).collect();
            (cells, looks.get())
        };
        assert_eq!(out(&all, 0, true), (vec![3, 4, 5], 1));
        assert_eq!(out(&BTreeSet::from([1, 4]), 0, true), (vec![4], 1));
        assert_eq!(out(&all, 1518, false), (vec![5], 5));
        assert_eq!(out(&all, 9018, false), (vec![], 2));
    }

    #[test]
    fn cells_of_one_path_go_together_unless_one_was_measured() {
        let keys = keys("[64, 128]");
        let open = || BTreeSet::from([0, 2, 3]);
        let measured = |cell: &CellKey| vec![result(&cell.name(), None, Verdict::Ok)];
        for (results, lasts, expected) in [
            (vec![], true, vec![2, 3]),
            (vec![], false, vec![2]),
            (measured(&keys[3]), true, vec![2]),
            (measured(&keys[1]), true, vec![2, 3]),
        ] {
            let skipped = with_path(&keys, &results, open(), 2, lasts);
            assert_eq!(Vec::from_iter(skipped), expected);
        }
    }
}
