//! Reads `[[sockets]]`.

use std::time::Duration;

use crate::path::PathSpec;
use crate::plan::cells::thousands;
use crate::plan::duration::parse_duration;
use crate::plan::path::placements;
use crate::plan::read::{Entry, Section};
use crate::plan::{HowOften, MAX_CELLS, MAX_NEIGHBOURS, PlanError, SockClient, SockPlan};
use crate::sock::{Family, MAX_FLOWS, SockAskError, SockTest};

/// Keys of a `[[sockets]]`.
const KEYS: [&str; 13] = [
    "test",
    "message_bytes",
    "parallel",
    "rate",
    "family",
    "neighbours",
    "client",
    "pin",
    "server_pin",
    "time",
    "repeats",
    "confidence",
    "saturate",
];
/// Length of a test when the plan does not say.
const TIME: Duration = Duration::from_secs(5);
/// Most repeats of one test.
const MAX_REPEATS: u32 = 1_000;
/// Most repeats with `confidence` when `repeats` does not say.
const CONFIDENCE_REPEATS: u32 = 10;
/// Most pairs with `saturate` when `parallel` does not say.
const SATURATE_PAIRS: u32 = 512;

/// Reads every `[[sockets]]`.
pub(super) fn read(top: &Section<'_, '_>) -> Result<Vec<SockPlan>, PlanError> {
    let Some(entry) = top.get("sockets") else {
        return Ok(Vec::new());
    };
    if entry.value.get_ref().as_table().is_some() {
        return Err(entry.error(
            "[sockets] is a single table",
            "write [[sockets]] in double brackets",
        ));
    }
    let mut tables = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    // Whatever the path: what is twice over one is twice over all.
    let path = PathSpec::Bridge;
    for item in entry.items()? {
        let table = item.table("[[sockets]] with test = \"tcp_rr\" below it")?;
        let section = Section::open(top.source, "[[sockets]]", table, &KEYS)?;
        let table = read_one(&section, item.offset())?;
        if table.len() > MAX_CELLS {
            return Err(item.error(
                format!(
                    "[[sockets]] asks for {} tests, more than {}",
                    thousands(table.len()),
                    thousands(MAX_CELLS)
                ),
                "shorten a list",
            ));
        }
        for cell in table.cells_over(&path) {
            let name = cell.name().replacen("bridge/", "", 1);
            if !seen.insert(name.clone()) {
                return Err(item.error(
                    format!("socket test {name} is in the plan twice"),
                    "remove one of them",
                ));
            }
        }
        tables.push(table);
    }
    Ok(tables)
}

fn read_one(section: &Section<'_, '_>, offset: usize) -> Result<SockPlan, PlanError> {
    let Some(test) = section.get("test") else {
        return Err(section.source.error(
            offset,
            "a [[sockets]] without test",
            "add test = \"tcp_rr\" or another test",
        ));
    };
    let words = SockTest::ALL.map(SockTest::word);
    let tests = test.list(|item| {
        let word = item.word(&words)?;
        word.parse::<SockTest>()
            .map_err(|error| item.error(error.to_string(), "name one of the tests"))
    })?;
    let numbers = |key, range: std::ops::RangeInclusive<u32>, wanted: &str| match section.get(key) {
        Some(entry) => entry.list(|item| item.whole(range.clone(), wanted)),
        None => Ok(Vec::new()),
    };
    let or = |list: Vec<u32>, usual: u32| if list.is_empty() { vec![usual] } else { list };
    let clients = match section.get("client") {
        Some(entry) => entry.list(|item| {
            let word = item.word(&SockClient::ALL.map(SockClient::word))?;
            let mut all = SockClient::ALL.into_iter();
            Ok(all.find(|c| c.word() == word).unwrap_or(SockClient::Host))
        })?,
        None => vec![SockClient::Host],
    };
    let families = match section.get("family") {
        Some(entry) => entry.list(|item| {
            Ok(match item.word(&["ipv4", "ipv6"])? {
                "ipv6" => Family::Ipv6,
                _ => Family::Ipv4,
            })
        })?,
        None => vec![Family::Ipv4],
    };
    let time = match section.get("time") {
        Some(entry) => time(&entry)?,
        None => TIME,
    };
    let given = numbers(
        "parallel",
        1..=MAX_FLOWS,
        "flows at once, as in parallel = [1, 150]",
    )?;
    let how_often = how_often(section, given.iter().max().copied())?;
    let plan = SockPlan {
        tests,
        message_bytes: numbers(
            "message_bytes",
            0..=u32::MAX,
            "bytes of a message, as in message_bytes = [64, 1024]",
        )?,
        rates: numbers(
            "rate",
            1..=1_000_000_000,
            "transactions per second over all flows, as in rate = 1000",
        )?,
        neighbours: or(
            numbers(
                "neighbours",
                0..=MAX_NEIGHBOURS,
                "pairs that flood the same switch, as in neighbours = [0, 1]",
            )?,
            0,
        ),
        clients,
        pins: placements(section, "pin")?,
        server_pins: placements(section, "server_pin")?,
        families,
        time,
        parallel: match how_often {
            HowOften::Saturate(most) => vec![most],
            _ => or(given, 1),
        },
        how_often,
    };
    for ask in plan.asks() {
        if let Err(error) = ask.check() {
            let key = match error {
                SockAskError::MessageBytes { .. } => "message_bytes",
                SockAskError::Flows { .. } => "parallel",
                SockAskError::Duration { .. } => "time",
                SockAskError::Rate { .. } | SockAskError::NoRate { .. } => "rate",
            };
            let at = section.get(key).map_or(offset, |entry| entry.offset());
            let problem = error.problem();
            return Err(section.source.error(at, problem.what, problem.remedy));
        }
    }
    Ok(plan)
}

/// `repeats`, `confidence` and `saturate`.
fn how_often(section: &Section<'_, '_>, most_pairs: Option<u32>) -> Result<HowOften, PlanError> {
    let wanted = "how often to run every test, as in repeats = 3";
    let repeats = match section.get("repeats") {
        Some(entry) => Some((entry, entry.whole(1..=MAX_REPEATS, wanted)?)),
        None => None,
    };
    let saturate = match section.get("saturate") {
        Some(entry) => Some((entry, entry.truth()?)).filter(|(_, yes)| *yes),
        None => None,
    };
    let confidence = section.get("confidence");
    if let Some((entry, _)) = saturate {
        for key in ["repeats", "confidence", "rate"] {
            if section.get(key).is_some() {
                return Err(entry.error(
                    format!("saturate and {key} in one [[sockets]]"),
                    "write two tables",
                ));
            }
        }
        return Ok(HowOften::Saturate(match most_pairs {
            Some(most) if most > 1 => most,
            _ => SATURATE_PAIRS,
        }));
    }
    let Some(entry) = confidence else {
        return Ok(HowOften::Times(repeats.map_or(1, |(_, times)| times)));
    };
    let wanted = "level and width in per cent, as in confidence = \"95,2\"";
    let text = entry.string(wanted)?;
    let parsed = text.split_once(',').and_then(|(level, width)| {
        let level: u32 = level.trim().parse().ok()?;
        let width: f64 = width.trim().parse().ok()?;
        let known = [90, 95, 99].contains(&level) && width > 0.0 && width <= 100.0;
        known.then_some((level, width))
    });
    let Some((level_percent, width_percent)) = parsed else {
        return Err(entry.error(
            format!("confidence = {} is no level and width", entry.quote()),
            "write 90, 95 or 99 and a width up to 100 per cent, as in confidence = \"95,2\"",
        ));
    };
    if let Some((entry, _)) = repeats.filter(|(_, times)| !(3..=30).contains(times)) {
        return Err(entry.error(
            format!("repeats = {} with confidence", entry.quote()),
            "write the most repeats, 3 to 30",
        ));
    }
    Ok(HowOften::Until {
        level_percent,
        width_percent,
        most: repeats.map_or(CONFIDENCE_REPEATS, |(_, times)| times),
    })
}

/// `time`: a duration with its unit.
fn time(entry: &Entry<'_, '_>) -> Result<Duration, PlanError> {
    let text = entry.string("a duration in quotes, as in time = \"5s\"")?;
    parse_duration(text).map_err(|error| {
        let problem = error.problem();
        entry.error(format!("time = {}", problem.what), problem.remedy)
    })
}
