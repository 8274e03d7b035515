//! Tables as data, the same for HTML and Markdown: directions, rankings, paths by frame size.

use nicety_model::{Direction, FrameSize, Verdict};

use crate::directions::{self, Over, Pair};
use crate::doubt::{self, Doubt};
use crate::number::{self, ABSENT};
use crate::pick::{self, Group};
use crate::ranking::{self, Place, Ranking};

/// What stands in a table's field.
pub(crate) enum Field {
    /// Names the row, or a part of its name.
    Name(String),
    Text(String),
    /// A number that nobody doubts: a frame size, a place.
    Count(String),
    /// A number with the verdicts it rests on.
    Number {
        text: String,
        value: f64,
        doubt: Doubt,
    },
    /// A number that is not there.
    Absent,
    Verdict(Verdict),
}

impl Field {
    fn some(value: Option<f64>, words: fn(f64) -> String, doubt: &Doubt) -> Self {
        value.map_or(Self::Absent, |value| Self::number(value, words, doubt))
    }

    fn number(value: f64, words: fn(f64) -> String, doubt: &Doubt) -> Self {
        Self::Number {
            text: words(value),
            value,
            doubt: doubt.clone(),
        }
    }

    /// As plain text with its mark; not escaped.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Name(text) | Self::Text(text) | Self::Count(text) => text.clone(),
            Self::Number { text, doubt, .. } => format!("{text}{}", doubt.mark()),
            Self::Absent => ABSENT.to_owned(),
            Self::Verdict(verdict) => verdict.to_string(),
        }
    }
}

/// A heading of a column and whether numbers stand under it.
pub(crate) type Heading = (String, bool);

/// A table.
pub(crate) struct Grid {
    pub(crate) caption: String,
    pub(crate) head: Vec<Heading>,
    pub(crate) rows: Vec<Vec<Field>>,
    /// Sentences below it.
    pub(crate) legend: String,
}

fn words(text: &str) -> Heading {
    (text.to_owned(), false)
}

fn numbers(text: &str) -> Heading {
    (text.to_owned(), true)
}

/// Rows pin × direction over the frame sizes, and where there are several also for each; nothing where
/// no path was measured both ways and none has pins.
pub(crate) fn directions(groups: &[Group<'_>]) -> Vec<Grid> {
    let pairs = directions::pairs(groups, Over::Sizes);
    let sized = pairs.iter().any(|pair| pair.sizes.len() > 1);
    let caption = match sized {
        true => "Both directions against one over the frame sizes, in frames/s",
        false => "Both directions against one, in frames/s",
    };
    let all = rows(&pairs, caption);
    let each = sized.then(|| directions::pairs(groups, Over::Repeats));
    let each = each.and_then(|pairs| {
        rows(
            &pairs,
            "Both directions against one by frame size, in frames/s",
        )
    });
    all.into_iter().chain(each).collect()
}

fn rows(pairs: &[Pair], caption: &str) -> Option<Grid> {
    let any = |has: fn(&Pair) -> bool| pairs.iter().any(has);
    if pairs.is_empty() {
        return None;
    }
    let placed = any(|pair| pair.pin.is_some() || pair.vcpus.is_some());
    let compared = any(|pair| pair.ratio().is_some());
    // Without repeats of one frame size there is no minimum and no maximum.
    let several = any(|pair| pair.rows().any(|(_, side)| side.extremes.is_some()));
    let shown = if several { 3 } else { 1 };
    let mut head = vec![words("path")];
    if placed {
        head.extend([words("vCPUs"), words("pin")]);
    }
    head.extend([words("direction"), numbers("bytes")]);
    head.extend(["ave", "min", "max"][..shown].iter().copied().map(numbers));
    if compared {
        let of = ["bi / uni", "bi / uni, min", "bi / uni, max"];
        head.extend(of[..shown].iter().copied().map(numbers));
    }
    let rows = pairs.iter().flat_map(|pair| {
        let row = move |(direction, side): (Direction, &directions::Side)| {
            let mut row = vec![Field::Name(name(pair))];
            if placed {
                let or_absent = |text: &Option<String>| match text {
                    Some(text) => Field::Text(text.clone()),
                    None => Field::Absent,
                };
                row.extend([or_absent(&pair.vcpus), or_absent(&pair.pin)]);
            }
            row.push(Field::Text(direction.to_string()));
            row.push(Field::Count(sizes(&pair.sizes)));
            let values = side.values();
            let fps: fn(f64) -> String = match side.intervals {
                true => number::short,
                false => number::grouped,
            };
            let number = |value: &Option<f64>| Field::some(*value, fps, &side.doubt);
            row.extend(values[..shown].iter().map(number));
            // Beside both directions, as the ratio is theirs.
            let both = direction == Direction::Bi;
            let ratio = pair.ratio().filter(|_| both).unwrap_or_default();
            if compared {
                let number =
                    |ratio: &Option<f64>| Field::some(*ratio, number::share, &pair.doubt());
                row.extend(ratio[..shown].iter().map(number));
            }
            row
        };
        pair.rows().map(row).collect::<Vec<_>>()
    });
    let rows: Vec<Vec<Field>> = rows.collect();
    Some(Grid {
        caption: caption.to_owned(),
        head,
        rows,
        legend: format!("{} {}", directions::LEGEND, doubt::LEGEND),
    })
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
pub(crate) fn rankings(groups: &[Group<'_>]) -> Vec<Grid> {
    ranking::told(groups).iter().map(ranked).collect()
}

fn ranked(ranking: &Ranking<'_, '_>) -> Grid {
    let row = |(n, place): (usize, &Place<'_, '_>)| {
        let own = Doubt::of(place.group);
        vec![
            Field::Count((n + 1).to_string()),
            Field::Name(place.group.key.path_name()),
            Field::Number {
                text: place.group.fps_text(),
                value: place.fps,
                doubt: own.clone(),
            },
            Field::some(
                place.group.told_mbps(),
                |mbps| number::mbps(Some(mbps)),
                &own,
            ),
            Field::number(place.share, number::share, &place.doubt),
            Field::number(place.cost(), number::share, &place.doubt),
            Field::Verdict(place.group.verdict()),
        ]
    };
    Grid {
        caption: format!("Ranking of the paths: {}", ranking.of()),
        head: vec![
            numbers("place"),
            words("path"),
            numbers("frames/s"),
            numbers("Mbit/s"),
            numbers("of the best"),
            numbers("cost against the best"),
            words("verdict"),
        ],
        rows: ranking.places.iter().enumerate().map(row).collect(),
        legend: format!("{} {}", ranking::LEGEND, doubt::LEGEND),
    }
}

/// Paths against frame sizes, frames/s and Mbit/s at L1 in a field; nothing for less than two paths
/// or sizes.
pub(crate) fn by_size(groups: &[Group<'_>]) -> Option<Grid> {
    let (series, sizes) = (pick::series(groups), ranking::sizes(groups));
    if series.len() < 2 || sizes.len() < 2 {
        return None;
    }
    let mut head = vec![words("path")];
    head.extend(sizes.iter().map(|size| numbers(&format!("{size} bytes"))));
    let field =
        |group: Option<&&Group<'_>>| match group.and_then(|g| Some((g, g.throughput_fps()?))) {
            Some((group, fps)) => Field::Number {
                text: format!("{} / {}", group.fps_text(), number::mbps(group.told_mbps())),
                value: fps,
                doubt: Doubt::of(group),
            },
            None => Field::Absent,
        };
    let row = |(key, cells): &(pick::SeriesKey, Vec<&Group<'_>>)| {
        let mut row = vec![Field::Name(key.to_string())];
        let of = |size: &FrameSize| cells.iter().find(|g| g.key.frame_size_bytes == *size);
        row.extend(sizes.iter().map(|size| field(of(size))));
        row
    };
    Some(Grid {
        caption: "Paths against frame sizes, in frames/s / Mbit/s (L1) per direction".to_owned(),
        head,
        rows: series.iter().map(row).collect(),
        legend: doubt::LEGEND.to_owned(),
    })
}
