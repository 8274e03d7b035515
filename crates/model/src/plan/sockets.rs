//! `[[sockets]]`: socket workloads over the plan's paths.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::cell::{SkippedCell, path_name};
use crate::plan::cells::{product, thousands};
use crate::plan::duration::parse_duration;
use crate::plan::read::{Entry, Section};
use crate::plan::{MAX_CELLS, Plan, PlanError};
use crate::sock::{Family, MAX_FLOWS, SockAsk, SockAskError, SockTest};

/// Keys of a `[[sockets]]`.
const KEYS: [&str; 10] = [
    "test",
    "message_bytes",
    "parallel",
    "rate",
    "family",
    "neighbours",
    "time",
    "repeats",
    "confidence",
    "saturate",
];
/// Length of a test when the plan does not say.
const TIME: Duration = Duration::from_secs(5);
/// Most pairs of neighbours: each has two namespaces of its own.
pub const MAX_NEIGHBOURS: u32 = 64;
/// Most repeats of one test.
const MAX_REPEATS: u32 = 1_000;
/// Most repeats with `confidence` when `repeats` does not say.
const CONFIDENCE_REPEATS: u32 = 10;
/// Most pairs with `saturate` when `parallel` does not say.
const SATURATE_PAIRS: u32 = 512;

/// One `[[sockets]]`; every list multiplies.
#[derive(Debug, Clone, PartialEq)]
pub struct SockPlan {
    /// Tests; never empty.
    pub tests: Vec<SockTest>,
    /// Message sizes in bytes; empty for the default of each test.
    pub message_bytes: Vec<u32>,
    /// Flows at once; never empty.
    pub parallel: Vec<u32>,
    /// Transactions or datagrams per second over all flows; empty for the closed loop.
    pub rates: Vec<u32>,
    /// IP versions; never empty.
    pub families: Vec<Family>,
    /// Pairs that flood the same switch meanwhile; never empty.
    pub neighbours: Vec<u32>,
    /// Length of one test.
    pub time: Duration,
    /// How often each of them.
    pub how_often: HowOften,
}

/// How often one socket test is run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HowOften {
    /// So many times.
    Times(u32),
    /// Until the interval of the mean is narrow enough.
    Until {
        /// Level in per cent: 90, 95 or 99.
        level_percent: u32,
        /// Width of the whole interval in per cent of the mean.
        width_percent: f64,
        /// Most repeats.
        most: u32,
    },
    /// Once for every number of pairs until the rate stops growing, to at most this many.
    Saturate(u32),
}

/// One point: a test with its parameters over one path.
#[derive(Debug, Clone, PartialEq)]
pub struct SockCell {
    /// The path's parameters in words; `kind` is always there.
    pub path: BTreeMap<String, String>,
    /// The test.
    pub ask: SockAsk,
    /// IP version.
    pub family: Family,
    /// Pairs that flood the same switch meanwhile.
    pub neighbours: u32,
    /// How often.
    pub how_often: HowOften,
}

impl SockCell {
    /// Kind of the path.
    pub fn kind(&self) -> &str {
        self.path.get("kind").map_or("?", String::as_str)
    }

    /// Name of the path: `bridge`, `vm,nic=e1000`.
    pub fn path_name(&self) -> String {
        path_name(&self.path)
    }

    /// Name of the cell: `bridge/tcp_rr/64/parallel=150`. What is as usual is left out.
    pub fn name(&self) -> String {
        let mut ask = self.ask.clone();
        let saturate = matches!(self.how_often, HowOften::Saturate(_));
        if saturate {
            // Their number is what is looked for.
            ask.parallel = 1;
        }
        let mut name = format!("{}/{}", self.path_name(), ask.name());
        if saturate {
            name.push_str("/saturate");
        }
        if self.family == Family::Ipv6 {
            name.push_str("/ipv6");
        }
        if self.neighbours > 0 {
            name.push_str(&format!("/neighbours={}", self.neighbours));
        }
        name
    }

    /// Shortest time it takes in seconds: repeats until sure may take more.
    pub fn least_s(&self) -> f64 {
        let times = match self.how_often {
            HowOften::Times(times) => times,
            HowOften::Until { most, .. } => most.min(3),
            HowOften::Saturate(most) => most.ilog2().clamp(1, 4) + 1,
        };
        f64::from(times) * self.ask.duration().as_secs_f64()
    }
}

impl SockPlan {
    fn asks(&self) -> impl Iterator<Item = SockAsk> + '_ {
        let parallel: &[u32] = match self.how_often {
            // The search begins with one pair, whatever the most is.
            HowOften::Saturate(_) => &[1],
            _ => &self.parallel,
        };
        self.tests.iter().flat_map(move |test| {
            let sizes = match self.message_bytes.as_slice() {
                [] => vec![test.default_message_bytes()],
                sizes => sizes.to_vec(),
            };
            let rates = match self.rates.as_slice() {
                [] => vec![None],
                rates => rates.iter().map(|rate| Some(f64::from(*rate))).collect(),
            };
            sizes.into_iter().flat_map(move |message_bytes| {
                let rates = rates.clone();
                parallel.iter().flat_map(move |parallel| {
                    let rates = rates.clone();
                    rates.into_iter().map(move |rate_per_s| SockAsk {
                        message_bytes,
                        parallel: *parallel,
                        rate_per_s,
                        ..SockAsk::new(*test, self.time)
                    })
                })
            })
        })
    }

    /// The cells of this table over one path.
    fn cells_over<'p>(
        &'p self,
        path: &'p BTreeMap<String, String>,
    ) -> impl Iterator<Item = SockCell> + 'p {
        self.asks().flat_map(move |ask| {
            self.families.iter().flat_map(move |family| {
                let ask = ask.clone();
                self.neighbours.iter().map(move |neighbours| SockCell {
                    path: path.clone(),
                    ask: ask.clone(),
                    family: *family,
                    neighbours: *neighbours,
                    how_often: self.how_often,
                })
            })
        })
    }

    fn len(&self) -> u64 {
        product([
            self.tests.len(),
            self.message_bytes.len().max(1),
            self.parallel.len(),
            self.rates.len().max(1),
            self.families.len(),
            self.neighbours.len(),
        ])
    }
}

impl Plan {
    /// Number of socket cells; saturates, no cell is built for it.
    pub fn sock_count(&self) -> u64 {
        let of_path = self
            .sockets
            .iter()
            .fold(0_u64, |sum, table| sum.saturating_add(table.len()));
        self.point_count().saturating_mul(of_path)
    }

    /// Every socket cell that this version knows how to build, in the plan's order.
    pub fn sock_cells(&self) -> impl Iterator<Item = SockCell> + '_ {
        self.sock_points(|refused| refused.is_none())
            .map(|(cell, _)| cell)
    }

    /// The socket cells that it does not, with reason and remedy.
    pub fn unavailable_sock_cells(&self) -> impl Iterator<Item = SkippedCell> + '_ {
        self.sock_points(|refused| refused.is_some())
            .filter_map(|(cell, refused)| {
                let (reason, remedy) = refused?;
                Some(SkippedCell {
                    cell: cell.name(),
                    reason,
                    remedy,
                })
            })
    }

    fn sock_points(
        &self,
        wanted: fn(&Option<(String, String)>) -> bool,
    ) -> impl Iterator<Item = (SockCell, Option<(String, String)>)> + '_ {
        self.refusals()
            .filter(move |(_, refused)| wanted(refused))
            .flat_map(move |(point, refused)| {
                let cells: Vec<SockCell> = self
                    .sockets
                    .iter()
                    .flat_map(|table| table.cells_over(&point))
                    .collect();
                cells.into_iter().map(move |cell| (cell, refused.clone()))
            })
    }
}

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
    let path = BTreeMap::from([("kind".to_owned(), "path".to_owned())]);
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
            let name = cell.name().replacen("path/", "", 1);
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
            let said = error.to_string();
            let (what, fix) = said.split_once("; ").unwrap_or((&said, "change it"));
            return Err(section.source.error(at, what, fix));
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
        let said = error.to_string();
        let (what, fix) = said.split_once("; ").unwrap_or((&said, "write \"5s\""));
        entry.error(format!("time = {what}"), fix)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "[[path]]\nkind = \"bridge\"\n[[sockets]]\n";

    fn plan(sockets: &str) -> Result<Plan, String> {
        Plan::parse("p.toml", &format!("{HEAD}{sockets}")).map_err(|error| error.to_string())
    }

    #[test]
    fn every_list_multiplies_and_sockets_alone_measure_no_frames() {
        let text =
            "test = [\"tcp_rr\", \"udp_rr\"]\nmessage_bytes = [64, 1024]\nparallel = [1, 150]";
        let plan = plan(text).unwrap();
        assert_eq!((plan.cell_count(), plan.sock_count()), (0, 8));
        let names: Vec<String> = plan.sock_cells().map(|cell| cell.name()).collect();
        assert_eq!(names[0], "bridge/tcp_rr/64");
        assert_eq!(names[7], "bridge/udp_rr/1024/parallel=150");
        let both = format!("[traffic]\nframe_sizes = 64\n{HEAD}{text}");
        let both = Plan::parse("p.toml", &both).unwrap();
        assert_eq!((both.cell_count(), both.sock_count()), (1, 8));
    }

    #[test]
    fn what_is_written_is_read_back() {
        for sockets in [
            "test = \"tcp_stream\"",
            "test = \"udp_rr\"\nrate = [10, 1000]\nfamily = [\"ipv4\", \"ipv6\"]\nneighbours = [0, 2]",
            "test = \"tcp_rr\"\nconfidence = \"95,2.5\"\nrepeats = 7\ntime = \"250ms\"",
            "test = \"tcp_rr\"\nsaturate = true\nparallel = 64",
            "test = \"tcp_rr\"\nsaturate = false\nrepeats = 2",
        ] {
            let once = plan(sockets).unwrap();
            let text = once.to_toml().unwrap();
            assert_eq!(Plan::parse("p.toml", &text).unwrap(), once, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (sockets, says) in [
            (
                "",
                "3: a [[sockets]] without test; add test = \"tcp_rr\" or another test",
            ),
            (
                "test = \"tcp_r\"",
                "4: unknown test \"tcp_r\"; did you mean \"tcp_rr\"?",
            ),
            (
                "test = \"udp_rr\"\nmessage_bytes = 65508",
                "5: a message of 65508 bytes does not work with udp_rr; write 1 to 65507",
            ),
            (
                "test = \"tcp_stream\"\nrate = 5",
                "5: tcp_stream has no rate, TCP paces it itself; leave the rate out or take udp_stream",
            ),
            (
                "test = \"tcp_rr\"\ntime = \"1ms\"",
                "5: a test of 1 ms does not work; write 100ms to 1h",
            ),
            (
                "test = \"tcp_rr\"\nsaturate = true\nrepeats = 2",
                "5: saturate and repeats in one [[sockets]]; write two tables",
            ),
            (
                "test = \"tcp_rr\"\nneighbours = 65",
                "5: neighbours = 65 is outside 0 to 64; write pairs that flood the same switch, as in neighbours = [0, 1]",
            ),
            (
                "test = \"tcp_rr\"\n[[sockets]]\ntest = [\"udp_rr\", \"tcp_rr\"]",
                "5: socket test tcp_rr/1 is in the plan twice; remove one of them",
            ),
            (
                "test = \"tcp_rr\"\nconfidence = \"94,2\"",
                "5: confidence = \"94,2\" is no level and width; write 90, 95 or 99 and a width up to 100 per cent, as in confidence = \"95,2\"",
            ),
        ] {
            assert_eq!(
                plan(sockets).unwrap_err(),
                format!("p.toml:{says}"),
                "{sockets}"
            );
        }
    }
}
