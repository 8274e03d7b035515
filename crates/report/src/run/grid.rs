//! Cells against each other: both directions against one, and paths in order of what they carry.

use nicety_model::{Direction, FrameSize};

use crate::confidence::{self, Confidence};
use crate::directions::{self, Over, Pair, Side};
use crate::document::{Cell, Table, columns};
use crate::number;
use crate::pick::Group;
use crate::ranking::{self, LayerCost, Place, Ranking};

/// Rows pin × direction over the frame sizes, and where there are several also for each; nothing where
/// no path was measured both ways and none has pins.
pub(super) fn directions(groups: &[Group<'_>]) -> Vec<Table> {
    let pairs = directions::pairs(groups, Over::Sizes);
    let sized = pairs.iter().any(|pair| pair.sizes.len() > 1);
    let caption = match sized {
        true => "Both directions against one over the frame sizes, in frames/s",
        false => "Both directions against one, in frames/s",
    };
    let all = rows(&pairs, caption);
    let each = sized.then(|| directions::pairs(groups, Over::Repeats));
    let caption = "Both directions against one by frame size, in frames/s";
    all.into_iter()
        .chain(each.and_then(|pairs| rows(&pairs, caption)))
        .collect()
}

/// A pair's row of one direction.
type Row<'p> = (&'p Pair, Direction, &'p Side);

fn rows(pairs: &[Pair], caption: &str) -> Option<Table> {
    let any = |has: fn(&Pair) -> bool| pairs.iter().any(has);
    if pairs.is_empty() {
        return None;
    }
    let placed = any(|pair| pair.pin.is_some() || pair.vcpus.is_some());
    let compared = any(|pair| pair.ratio().is_some());
    // Without repeats of one frame size there is no minimum and no maximum.
    let several = any(|pair| pair.rows().any(|(_, side)| side.extremes.is_some()));
    let fps = |(_, _, side): &Row<'_>, at: usize| {
        let words = |fps| match side.confidence.is_noisy() {
            true => number::short(number::rounded(fps, 2)),
            false => number::short(fps),
        };
        Cell::sorted(side.values()[at], words).marked(&side.confidence)
    };
    let ratio = |(pair, direction, _): &Row<'_>, at: usize| {
        // Beside both directions, as the ratio is theirs.
        let ratio = pair.ratio().filter(|_| *direction == Direction::Bi);
        match ratio.and_then(|ratio| ratio[at]) {
            Some(ratio) => Cell::sorted(ratio, number::share).marked(&pair.confidence()),
            None => Cell::absent(),
        }
    };
    let mut table = Table::of(
        caption,
        pairs.iter().flat_map(|pair| {
            pair.rows()
                .map(move |(direction, side)| (pair, direction, side))
        }),
        columns![|row|
            "path" Name: name(row.0);
            "vCPUs" Text: row.0.vcpus.as_ref();
            "pin" Text: row.0.pin.as_ref();
            "direction" Text: row.1;
            "bytes" Number: sizes(&row.0.sizes);
            "ave" Number: fps(row, 0);
            "min" Number: fps(row, 1);
            "max" Number: fps(row, 2);
            "bi / uni" Number: ratio(row, 0);
            "bi / uni, min" Number: ratio(row, 1);
            "bi / uni, max" Number: ratio(row, 2);
        ],
    )
    .legend(format!("{} {}", directions::LEGEND, confidence::LEGEND));
    let ratios = [compared, compared && several, compared && several];
    let kept = [true, placed, placed, true, true, true, several, several];
    table.keep(&[&kept[..], &ratios].concat());
    Some(table)
}

fn name(pair: &Pair) -> String {
    match pair.flows {
        1 => pair.setting.clone(),
        many => format!("{}, {many} flows", pair.setting),
    }
}

/// `64`, `64, 1518`, and of more `64 to 1518 (7)`.
fn sizes(sizes: &[FrameSize]) -> String {
    match sizes {
        [first, _, .., last] if sizes.len() > 2 => format!("{first} to {last} ({})", sizes.len()),
        few => {
            let few: Vec<String> = few.iter().map(FrameSize::to_string).collect();
            few.join(", ")
        }
    }
}

/// A ranking of every direction and number of flows with two paths or more.
pub(super) fn rankings(groups: &[Group<'_>]) -> Vec<Table> {
    ranking::told(groups).iter().map(ranked).collect()
}

fn ranked(ranking: &Ranking<'_, '_>) -> Table {
    let own = |place: &Place<'_, '_>| Confidence::of(place.group);
    let mbps = |mbps| number::mbps(Some(mbps));
    let layered = ranking.places.iter().any(|place| place.layer.is_some());
    let legend = match layered {
        true => format!(
            "{} {} {}",
            ranking::LEGEND,
            ranking::LAYERS,
            confidence::LEGEND
        ),
        false => format!("{} {}", ranking::LEGEND, confidence::LEGEND),
    };
    let mut table = Table::of(
        format!("Ranking of the paths: {}", ranking.of()),
        ranking.places.iter().enumerate(),
        columns![|(n, place)|
            "place" Number: Cell::count(*n as u64 + 1);
            "path" Name: place.group.key.path_name();
            "frames/s" Number: Cell::from(place.group.fps_text()).by(Some(place.fps)).marked(&own(place));
            "Mbit/s" Number: Cell::sorted(place.group.told_mbps(), mbps).marked(&own(place));
            "of the best" Number: Cell::sorted(place.share, number::share).marked(&place.confidence);
            "cost against the best" Number: Cell::sorted(place.cost(), number::share).marked(&place.confidence);
            "layer" Tight: place.layer.as_ref().map(LayerCost::what);
            "its cost, ns a frame" Number: cost(place);
            "verdict" Text: place.group.verdict();
        ],
    )
    .legend(legend);
    table.keep(&[true, true, true, true, true, true, layered, layered, true]);
    table
}

fn cost(place: &Place<'_, '_>) -> Cell {
    match &place.layer {
        Some(layer) => Cell::from(format!("{:+.0}", layer.ns))
            .by(Some(layer.ns))
            .marked(&layer.confidence),
        None => Cell::absent(),
    }
}

/// Rankings told of in a terminal, and paths of each: it is not a report.
const RANKINGS: usize = 2;
const PATHS: usize = 5;

/// Rankings in lines under their headings, the best paths first.
pub(super) fn ranking_lines(groups: &[Group<'_>]) -> Vec<(String, Vec<String>)> {
    let all = ranking::told(groups);
    let lines = |ranking: &Ranking<'_, '_>| {
        let places = ranking.places.iter().take(PATHS).enumerate();
        let mut lines: Vec<String> = places
            .map(|(n, place)| {
                let (group, mark) = (place.group, place.confidence.mark());
                let cost = match n {
                    0 => String::new(),
                    _ => format!(
                        ", cost against the best {}{mark}",
                        number::share(place.cost())
                    ),
                };
                let layer = place.layer.as_ref().map_or_else(String::new, |layer| {
                    let mark = layer.confidence.mark();
                    format!(", {}: {:+.0} ns{mark} a frame", layer.what(), layer.ns)
                });
                let (path, fps) = (group.key.path_name(), group.fps_text());
                format!(
                    "{}. {path}: {fps} frames/s{cost}{layer} ({})",
                    n + 1,
                    group.verdict()
                )
            })
            .collect();
        let more = ranking.places.len().saturating_sub(PATHS);
        if more > 0 {
            lines.push(format!("and {more} more; the HTML report has them all"));
        }
        (format!("Ranking of the paths: {}", ranking.of()), lines)
    };
    all.iter().take(RANKINGS).map(lines).collect()
}
