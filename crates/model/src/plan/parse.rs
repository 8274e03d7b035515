//! From text to a checked [`Plan`].

use toml::de::DeValue;

use crate::frame::{Direction, FrameSize, RFC2544_SIZES};
use crate::plan::duration::parse_duration;
use crate::plan::read::{Entry, Section, Source, Table};
use crate::plan::words::DIRECTIONS;
use crate::plan::{MAX_CELLS, MAX_FLOWS, MAX_REPEATS, PathPlan, Plan, PlanError};
use crate::plan::{Preset, SearchPlan, Traffic, cells, path, sockets_read};

/// Longest name of a plan, in characters.
const NAME_CHARS: usize = 64;

impl Plan {
    /// Reads and checks a plan. `file_name` is for messages, and its stem is the plan's name
    /// when `name` is not given.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line and what to write instead.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, PlanError> {
        let source = Source {
            file: file_name,
            text,
        };
        let document = source.document()?;
        let known = ["name", "traffic", "search", "path", "sockets"];
        let top = Section::open(source, "the plan", document.get_ref(), &known)?;
        let sockets = sockets_read::read(&top)?;
        let mut plan = Self {
            name: name(&top)?,
            traffic: traffic(&top)?,
            search: search(&top)?,
            paths: paths(&top)?,
            sockets,
        };
        // A plan that speaks of sockets only asks for nothing else.
        let frames =
            plan.sockets.is_empty() || top.get("traffic").is_some() || top.get("search").is_some();
        if !frames {
            plan.traffic.frame_sizes.clear();
        }
        plan.check_size(&top)?;
        Ok(plan)
    }

    /// Refuses too many cells, then cells that come twice.
    fn check_size(&self, top: &Section<'_, '_>) -> Result<(), PlanError> {
        let path = top.get("path");
        let first = path.map_or(0, |entry| entry.offset());
        let sockets = self.sock_count();
        if sockets > MAX_CELLS {
            return Err(top.source.error(
                first,
                format!(
                    "the plan has {} socket tests ({} path settings), more than {}",
                    cells::thousands(sockets),
                    cells::thousands(self.point_count()),
                    cells::thousands(MAX_CELLS)
                ),
                "shorten a list or split the plan",
            ));
        }
        let count = self.cell_count();
        if count > MAX_CELLS {
            return Err(top.source.error(
                longest_list(top).unwrap_or(first),
                format!(
                    "the plan has {} cells ({}), more than {}",
                    cells::thousands(count),
                    self.factors(),
                    cells::thousands(MAX_CELLS)
                ),
                "shorten a list or split the plan",
            ));
        }
        if let Some((index, twice)) = self.first_double() {
            let items = path.map(|entry| entry.items()).transpose()?;
            let offset = items
                .and_then(|items| items.get(index).map(Entry::offset))
                .unwrap_or(first);
            return Err(top.source.error(
                offset,
                format!("path {twice} is in the plan twice"),
                "remove one of them",
            ));
        }
        Ok(())
    }
}

/// Offset of the longest list of the plan: most often the one to shorten.
fn longest_list(top: &Section<'_, '_>) -> Option<usize> {
    let tables = ["traffic", "path"]
        .into_iter()
        .filter_map(|key| top.get(key));
    let tables = tables.flat_map(|entry| match entry.value.get_ref() {
        DeValue::Array(items) => items.iter().collect(),
        _ => vec![entry.value],
    });
    tables
        .filter_map(|value| value.get_ref().as_table())
        .flat_map(|table: &Table<'_>| table.values())
        .filter_map(|value| Some((value.get_ref().as_array()?.len(), value.span().start)))
        .max_by_key(|(length, _)| *length)
        .map(|(_, offset)| offset)
}

/// `name`, or the stem of the file's name.
fn name(top: &Section<'_, '_>) -> Result<String, PlanError> {
    let Some(entry) = top.get("name") else {
        let file = top.source.file.rsplit('/').next().unwrap_or_default();
        let stem = file.strip_suffix(".toml").unwrap_or(file);
        let stem: String = stem
            .chars()
            .filter(|c| !c.is_control())
            .take(NAME_CHARS)
            .collect();
        return Ok(if stem.trim().is_empty() {
            "plan".to_owned()
        } else {
            stem
        });
    };
    let name = entry.string("a name in quotes, as in name = \"guest-drivers\"")?;
    if name.trim().is_empty() {
        return Err(entry.error("name is empty", "write a name or remove the line"));
    }
    if name.chars().count() > NAME_CHARS || name.chars().any(char::is_control) {
        return Err(entry.error(
            format!(
                "name = {} is too long or has control characters",
                entry.quote()
            ),
            format!("write at most {NAME_CHARS} printable characters"),
        ));
    }
    Ok(name.to_owned())
}

/// `[traffic]`.
fn traffic(top: &Section<'_, '_>) -> Result<Traffic, PlanError> {
    let mut traffic = Plan::default_bridge().traffic;
    let Some(entry) = top.get("traffic") else {
        return Ok(traffic);
    };
    let known = ["frame_sizes", "directions", "flows"];
    let table = entry.table("a table, as in [traffic]")?;
    let section = Section::open(top.source, "[traffic]", table, &known)?;
    if let Some(entry) = section.get("frame_sizes") {
        traffic.frame_sizes = entry.list(frame_size)?;
    }
    if let Some(entry) = section.get("directions") {
        let words = ["uni", "bi"];
        traffic.directions = entry.list(|item| item.word(&words).map(direction))?;
    }
    if let Some(entry) = section.get("flows") {
        let wanted = "whole numbers of flows, as in flows = 1";
        traffic.flows = entry.list(|item| item.whole(1..=MAX_FLOWS, wanted))?;
    }
    Ok(traffic)
}

/// One frame size.
fn frame_size(entry: &Entry<'_, '_>) -> Result<FrameSize, PlanError> {
    let (low, high) = (u32::from(FrameSize::MIN), u32::from(FrameSize::MAX));
    let smallest = RFC2544_SIZES[0];
    let wanted =
        format!("bytes of the Ethernet frame with FCS, as in frame_sizes = [{smallest}, 1518]");
    let bytes = entry.whole(low..=high, &wanted)?;
    u16::try_from(bytes)
        .ok()
        .and_then(|bytes| FrameSize::new(bytes).ok())
        .ok_or_else(|| entry.wrong_type(&wanted))
}

/// The direction of a known word.
fn direction(word: &str) -> Direction {
    let is = |direction: &Direction| direction.to_string() == word;
    DIRECTIONS.into_iter().find(is).unwrap_or(Direction::Uni)
}

/// `[search]`.
fn search(top: &Section<'_, '_>) -> Result<SearchPlan, PlanError> {
    let mut search = Plan::default_bridge().search;
    let Some(entry) = top.get("search") else {
        return Ok(search);
    };
    let known = ["preset", "loss_ratio", "repeats", "confirm"];
    let table = entry.table("a table, as in [search]")?;
    let section = Section::open(top.source, "[search]", table, &known)?;
    if let Some(entry) = section.get("preset") {
        let word = entry.word(&Preset::ALL.map(Preset::word))?;
        search.preset = word.parse().ok();
    }
    if let Some(entry) = section.get("loss_ratio") {
        search.loss_ratio = Some(loss_ratio(&entry)?);
    }
    if let Some(entry) = section.get("repeats") {
        search.repeats = entry.whole(
            1..=MAX_REPEATS,
            "how often to measure every cell, as in repeats = 3",
        )?;
    }
    if let Some(entry) = section.get("confirm") {
        search.confirm = Some(confirm(&entry)?);
    }
    Ok(search)
}

/// `loss_ratio`: a share, not a percentage.
fn loss_ratio(entry: &Entry<'_, '_>) -> Result<f64, PlanError> {
    let number = match entry.value.get_ref() {
        DeValue::Float(float) => float.as_str().parse::<f64>().ok(),
        DeValue::Integer(whole) => whole
            .as_str()
            .parse::<f64>()
            .ok()
            .filter(|_| whole.radix() == 10),
        _ => {
            return Err(entry.wrong_type(
                "the share of frames that may be lost as a number, 0.0001 for 0.01 %",
            ));
        }
    };
    match number {
        Some(ratio) if (0.0..1.0).contains(&ratio) => Ok(ratio.abs()),
        _ => Err(entry.error(
            format!("loss_ratio = {} is not between 0 and 1", entry.quote()),
            "write the share of frames that may be lost, 0.0001 for 0.01 %",
        )),
    }
}

/// `confirm`: a duration with its unit.
fn confirm(entry: &Entry<'_, '_>) -> Result<std::time::Duration, PlanError> {
    if matches!(
        entry.value.get_ref(),
        DeValue::Integer(_) | DeValue::Float(_)
    ) {
        return Err(entry.error(
            format!("confirm = {} has no unit", entry.quote()),
            format!(
                "write a duration in quotes, as in confirm = \"{}s\"",
                entry.quote()
            ),
        ));
    }
    let text = entry.string("a duration in quotes, as in confirm = \"30s\"")?;
    parse_duration(text).map_err(|error| {
        let problem = error.problem();
        entry.error(format!("confirm = {}", problem.what), problem.remedy)
    })
}

/// `[[path]]`.
fn paths(top: &Section<'_, '_>) -> Result<Vec<PathPlan>, PlanError> {
    let fix = "add a line [[path]] and below it kind = \"bridge\"";
    let Some(entry) = top.get("path") else {
        return Err(top.source.error(0, "the plan has no path", fix));
    };
    match entry.value.get_ref() {
        DeValue::Array(items) if items.is_empty() => {
            return Err(entry.error("the plan has no path", fix));
        }
        DeValue::Table(_) => {
            return Err(entry.error(
                "[path] is a single table",
                "write [[path]] in double brackets",
            ));
        }
        _ => {}
    }
    let items = entry.items()?;
    items
        .iter()
        .map(|item| {
            path::read(
                top.source,
                item.table("[[path]] with kind = \"bridge\" below it")?,
                item.offset(),
            )
        })
        .collect()
}
