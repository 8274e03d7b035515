//! The path of a trial of fates as a waterfall: what came to each station, went on and was lost there.
//!
//! Each lost frame has a place by its number, so what comes to a station is what was sent less what was lost before it.
//! The stations' own counters are not needed for that and check it. Of what was lost at no known station it is
//! not known where it falls out of the way; it is told apart, and the last station says that it is missing.

mod rows;
#[cfg(test)]
mod tests;

use nicety_model::fate::Way;
use nicety_model::hop::HopReport;
use nicety_model::route::SiteKind;
use nicety_model::waterfall::{Off, OffWhy, Unknown, Waterfall, WaterfallStation};
use nicety_model::{CellFate, CellResult, Direction, LossEntry, total};

use rows::{Row, Rows};

/// The name of what nothing explains.
const UNEXPLAINED: &str = "unexplained";

/// Those of all trials of fates.
pub fn of_cells(cells: &[CellResult]) -> Vec<Waterfall> {
    let fates = cells
        .iter()
        .flat_map(|cell| cell.fates.iter().map(move |fate| (cell, fate)));
    fates.flat_map(|(cell, fate)| of(cell, fate)).collect()
}

/// That of one trial of a cell; of one both ways there are two.
pub fn of(cell: &CellResult, fate: &CellFate) -> Vec<Waterfall> {
    let ways = fate.report.ways.iter().map(|way| {
        let told = Told {
            way: Some(way.way),
            sent: way.sent,
            lost: way.lost,
            ledger: &way.ledger,
            hops: way.hops.as_ref(),
        };
        one(cell, fate, &told)
    });
    let whole = Told {
        way: None,
        sent: fate.sent,
        lost: fate.lost,
        ledger: &fate.ledger,
        hops: fate.report.hops.as_ref(),
    };
    if fate.report.ways.is_empty() {
        vec![one(cell, fate, &whole)]
    } else {
        ways.collect()
    }
}

/// What a trial tells of one way, or of all its frames.
struct Told<'f> {
    way: Option<Way>,
    sent: u64,
    lost: u64,
    ledger: &'f [LossEntry],
    hops: Option<&'f HopReport>,
}

fn one(cell: &CellResult, fate: &CellFate, told: &Told<'_>) -> Waterfall {
    let hops = told.hops;
    let both = told.way.is_none()
        && match &fate.passage {
            Some(passage) => passage.ends.len() > 1,
            None => cell.key.direction == Direction::Bi,
        };
    let way = told.way.unwrap_or(Way::AToB);
    let mut rows = Rows::new(cell, fate.passage.as_ref(), way);
    if let Some(hops) = hops {
        rows.seen(hops);
    }
    let elsewhere = rows.lose(told.ledger, both);
    let received = told.sent.saturating_sub(told.lost);
    let followed = followed(told);
    let adds_up = !both && followed;
    let mut stations = rows.finish(hops);
    if adds_up {
        fall(&mut stations, told.sent, received, sum(&elsewhere));
    }
    let at_stations = total(stations.iter().map(|row| row.station.lost));
    let explained = at_stations.saturating_add(sum(&elsewhere));
    let unknown = [
        (hops.is_none(), Unknown::HopsNotTaken),
        (
            hops.is_some_and(|hops| hops.hops.is_empty()),
            Unknown::NoSampledFrame,
        ),
        (both, Unknown::BothWays),
        (!both && !followed, Unknown::NotFollowed),
    ];
    let timed = hops.filter(|hops| !hops.hops.is_empty());
    Waterfall {
        cell: cell.cell.clone(),
        repeat: cell.repeat,
        of: fate.of,
        way: told.way,
        load_fps: fate.load_fps,
        duration_s: fate.duration_s,
        sent: told.sent,
        received,
        stations: stations.into_iter().map(|row| row.station).collect(),
        off: difference(told.lost, explained),
        elsewhere,
        sampled: hops.map(|hops| hops.frames),
        end_to_end: timed.map(|hops: &HopReport| hops.end_to_end),
        unknown: unknown
            .into_iter()
            .filter_map(|(is, what)| is.then_some(what))
            .collect(),
    }
}

/// Whether lost frames were looked for by their number. Where they were not, counters alone make the ledger.
fn followed(told: &Told<'_>) -> bool {
    let found = |entry: &LossEntry| entry.cause.is_some() || entry.place == UNEXPLAINED;
    let ledger = told.ledger;
    told.lost == 0
        || ledger.iter().any(|entry| entry.cause.is_some())
        || (!ledger.is_empty() && ledger.iter().all(found))
}

/// Fills in what came to each station and went on, and compares it with what was counted. Of the frames lost
/// `elsewhere` any may have been lost before a station.
fn fall(rows: &mut [Row], sent: u64, received: u64, elsewhere: u64) {
    let mut left = sent;
    let last = rows.len().saturating_sub(1);
    for (n, row) in rows.iter_mut().enumerate() {
        let station = &mut row.station;
        let come = left;
        left = come.saturating_sub(station.lost);
        station.frames_in = Some(come);
        if n == last {
            station.frames_out = Some(received);
            station.off = match difference(received, left) {
                0 => None,
                off if off < 0 && off.unsigned_abs() <= elsewhere => Some(Off {
                    frames: off,
                    why: OffWhy::Elsewhere,
                }),
                off => Some(Off {
                    frames: off,
                    why: OffWhy::Unexplained,
                }),
            };
            continue;
        }
        station.frames_out = Some(left);
        if !matches!(row.site, SiteKind::TesterA | SiteKind::TesterB) {
            station.off = station
                .counted
                .and_then(|counted| check(counted, come, left, elsewhere));
        }
    }
}

/// What a counter says beside the numbers: it stands before or behind what is lost at its station.
fn check(counted: u64, come: u64, gone: u64, elsewhere: u64) -> Option<Off> {
    if counted > come {
        return Some(Off {
            frames: difference(counted, come),
            why: OffWhy::OtherFrames,
        });
    }
    (counted < gone).then(|| Off {
        frames: difference(counted, gone),
        why: if gone - counted <= elsewhere {
            OffWhy::Elsewhere
        } else {
            OffWhy::NotCounted
        },
    })
}

fn sum(entries: &[LossEntry]) -> u64 {
    total(entries.iter().map(|entry| entry.frames))
}

/// `a - b`; frames of a trial are far fewer than fit.
fn difference(a: u64, b: u64) -> i64 {
    a.cast_signed().wrapping_sub(b.cast_signed())
}

impl Row {
    fn of(site: SiteKind, names: Vec<String>, kind: &str) -> Self {
        Self {
            site,
            inner: false,
            station: WaterfallStation {
                station: label(&names, site),
                kind: kind.to_owned(),
                ..WaterfallStation::default()
            },
            names,
        }
    }
}

/// What a station is called: `d0`, `t0, t2`, `t0 … t14`.
fn label(names: &[String], site: SiteKind) -> String {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    if !matches!(site, SiteKind::Guests(_)) {
        names.dedup();
    }
    match names.as_slice() {
        [first, _, .., last] if names.len() > 3 => format!("{first} … {last}"),
        few => few.join(", "),
    }
}
