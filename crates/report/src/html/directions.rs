//! Both directions at once against one: average, minimum, maximum and their ratios, the way
//! measurements of guests are usually printed (Internet Week 2011, S9).

use std::collections::BTreeMap;

use maud::{Markup, html};
use nicety_model::{CellKey, Direction};

use super::parts;
use crate::number::{self, ABSENT};
use crate::pick::Group;

/// Average, minimum and maximum over the repeats; the latter two where there are several.
type Spread = [Option<f64>; 3];

/// Cells that differ in direction only, where both have a throughput.
struct Pair<'a, 'r> {
    one: &'a Group<'r>,
    both: &'a Group<'r>,
}

impl Pair<'_, '_> {
    /// Frames/s in the one direction.
    fn one(&self) -> Spread {
        spread(self.one)
    }

    /// Frames/s of both directions together: a cell's throughput is that of each.
    fn both(&self) -> Spread {
        spread(self.both).map(|fps| fps.map(|fps| 2.0 * fps))
    }

    fn ratio(&self) -> Spread {
        let (one, both) = (self.one(), self.both());
        std::array::from_fn(|i| Some(both[i]? / one[i].filter(|fps| *fps > 0.0)?))
    }
}

fn spread(group: &Group<'_>) -> Spread {
    let extremes = group.extremes_fps();
    [
        group.throughput_fps(),
        extremes.map(|(min, _)| min),
        extremes.map(|(_, max)| max),
    ]
}

fn pairs<'a, 'r>(groups: &'a [Group<'r>]) -> Vec<Pair<'a, 'r>> {
    let in_one = |group: &Group<'_>| CellKey {
        direction: Direction::Uni,
        ..group.key.clone()
    };
    let with = |direction| {
        let of = move |group: &&Group<'_>| group.key.direction == direction;
        let found = groups.iter().filter(of);
        found.filter(|group| group.throughput_fps().is_some())
    };
    let both: BTreeMap<CellKey, &Group<'_>> = with(Direction::Bi).map(|g| (in_one(g), g)).collect();
    with(Direction::Uni)
        .filter_map(|one| {
            let both = both.get(one.key)?;
            Some(Pair { one, both })
        })
        .collect()
}

/// The table; nothing where no cell was measured both ways.
pub fn table(groups: &[Group<'_>]) -> Option<Markup> {
    let pairs = pairs(groups);
    if pairs.is_empty() {
        return None;
    }
    let repeated = pairs
        .iter()
        .any(|pair| pair.one()[1].is_some() || pair.both()[1].is_some());
    // Without repeats there is no minimum and no maximum.
    let shown = if repeated { 3 } else { 1 };
    let head = html! {
        tr {
            th scope="col" { "path" }
            th.num scope="col" { "bytes" }
            @for what in ["one way", "both ways", "both / one"] {
                @for of in &["", ", min", ", max"][..shown] {
                    th.num scope="col" { (what) (of) }
                }
            }
        }
    };
    let row = |pair: &Pair<'_, '_>| {
        let number = |value: Option<f64>, words: fn(f64) -> String| {
            html! { td.num data-v=[value.map(parts::sorted_by)] { (value.map_or_else(|| ABSENT.to_owned(), words)) } }
        };
        let key = pair.one.key;
        html! {
            tr {
                th scope="row" {
                    (key.path_name())
                    @if key.flows > 1 { span.sub { (crate::words::plural(key.flows as usize, "flow")) } }
                }
                td.num { (key.frame_size_bytes) }
                @for value in &pair.one()[..shown] { (number(*value, number::grouped)) }
                @for value in &pair.both()[..shown] { (number(*value, number::grouped)) }
                @for value in &pair.ratio()[..shown] { (number(*value, number::share)) }
            }
        }
    };
    let rows: Vec<Markup> = pairs.iter().map(row).collect();
    Some(html! {
        (parts::long_table("Both directions against one, in frames/s", &head, &rows))
        p.muted {
            "Frames of both directions are added up: 200 % is what a path carries that loses nothing by the "
            "second direction, 100 % one whose limit they share."
        }
    })
}
