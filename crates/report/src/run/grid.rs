//! Cells against each other: both directions against one, and paths in order of what they carry.

use nicety_model::{Direction, FrameSize};

use crate::confidence::{self, Confidence};
use crate::directions::{self, Over, Pair, Side};
use crate::document::table::Narrow;
use crate::document::{Cell, Medium, Table, columns};
use crate::number;
use crate::pick::Group;
use crate::ranking::{self, LayerCost, Place, Ranking};

/// Rows pin × direction over the frame sizes, and where there are several also for each; nothing where
/// no path was measured both ways and none has pins.
pub(super) fn directions(groups: &[Group<'_>]) -> Vec<Table> {
    let pairs = directions::pairs(groups, Over::Sizes);
    let sized = pairs.iter().any(|pair| pair.sizes.len() > 1);
    let caption = if sized {
        "Both directions against one over the frame sizes, in frames/s"
    } else {
        "Both directions against one, in frames/s"
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
        let words = |fps| {
            if side.confidence.is_noisy() {
                number::short(number::rounded(fps, 2))
            } else {
                number::short(fps)
            }
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

/// Rankings told of in a terminal, and paths of each.
const RANKINGS: usize = 2;
const PATHS: usize = 30;

/// A ranking of every direction and number of flows with two paths or more; in a terminal the first of both.
pub(super) fn rankings(groups: &[Group<'_>], medium: Medium) -> Vec<Table> {
    let (most, paths) = match medium {
        Medium::Terminal => (RANKINGS, PATHS),
        _ => (usize::MAX, usize::MAX),
    };
    let all = ranking::told(groups);
    let told = all.iter().take(most);
    told.map(|ranking| ranked(ranking, paths)).collect()
}

fn ranked(ranking: &Ranking<'_, '_>, paths: usize) -> Table {
    let own = |place: &Place<'_, '_>| Confidence::of(place.group);
    let mbps = |mbps| number::mbps(Some(mbps));
    let layered = ranking.places.iter().any(|place| place.layer.is_some());
    let bounded = ranking.places.iter().any(|place| ends(place).is_some());
    let engines = ranking.engines_differ();
    let doubted = |place: &Place<'_, '_>| !place.confidence.mark().is_empty();
    let marked = ranking.places.iter().any(doubted);
    let more = ranking.places.len().saturating_sub(paths);
    let legend = [
        (more > 0).then(|| format!("The HTML report has {more} more.")),
        ranking.left_out(),
        Some(ranking::LEGEND.to_owned()),
        layered.then(|| ranking::LAYERS.to_owned()),
        bounded.then(|| ranking::ENDS.to_owned()),
        engines.then(|| ranking::ENGINES.to_owned()),
        marked.then(|| confidence::LEGEND.to_owned()),
    ];
    let legend: Vec<String> = legend.into_iter().flatten().collect();
    let mut table = Table::of(
        format!("Ranking of the paths: {}", ranking.of()),
        ranking.places.iter().take(paths).enumerate(),
        columns![|(n, place)|
            "place" Number: Cell::count(*n as u64 + 1);
            "path" Name: place.group.key.path_name();
            "frames/s" Number: Cell::from(place.group.fps_text()).by(Some(place.fps)).marked(&own(place));
            "Mbit/s" Number: Cell::sorted(place.group.told_mbps(), mbps).marked(&own(place));
            "of the best" Number: Cell::sorted(place.share, number::share).marked(&place.confidence);
            "cost against the best" Number: Cell::sorted(place.cost(), number::share).marked(&place.confidence);
            "layer" Tight: place.layer.as_ref().map(LayerCost::what);
            "its cost, ns a frame" Number: cost(place);
            "from … to, ns" Tight: ends(place);
            "engine" Text: ranking::engine(place.group);
            "verdict" Text: place.group.verdict();
        ],
    )
    .legend(legend.join(" "))
    .narrow(&[
        ("of the best", Narrow::Named),
        ("Mbit/s", Narrow::Named),
        ("engine", Narrow::Named),
        ("from … to, ns", Narrow::Named),
        ("layer", Narrow::Named),
        ("its cost, ns a frame", Narrow::Named),
    ]);
    table.keep(&[
        true, true, true, true, true, true, layered, layered, bounded, engines, true,
    ]);
    table
}

/// `+900 to +2,010`
fn ends(place: &Place<'_, '_>) -> Option<String> {
    let (least, most) = place.layer.as_ref()?.ends_ns?;
    let known = least.is_finite() && most.is_finite();
    known.then(|| format!("{} to {}", signed(least), signed(most)))
}

/// `+1,465`, `−302`.
fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { '−' } else { '+' };
    format!("{sign}{}", number::grouped(ns.abs()))
}

fn cost(place: &Place<'_, '_>) -> Cell {
    match &place.layer {
        Some(layer) => Cell::from(signed(layer.ns))
            .by(Some(layer.ns))
            .marked(&layer.confidence),
        None => Cell::absent(),
    }
}
