//! Picks what belongs together out of a run: the repeats of a cell, the series of a figure.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use nicety_model::cell;
use nicety_model::note::List;
use nicety_model::run::CellSummary;
use nicety_model::{
    CellKey, CellResult, Direction, Estimate, LatencySummary, LimitKey, Note, Purpose, Run,
    TrialRecord, Verdict,
};

/// A cell with its repeats.
pub struct Group<'a> {
    /// Name of the cell.
    pub name: &'a str,
    /// The cell's parameters.
    pub key: &'a CellKey,
    /// Its repeats, first one first; never empty.
    pub repeats: Vec<&'a CellResult>,
    /// The model's summary over them.
    pub summary: Option<&'a CellSummary>,
    /// The repeat whose details stand for the cell: of the visits with details the one nearest to
    /// the number, in older runs the repeat nearest to the average.
    pub shown: &'a CellResult,
}

impl Group<'_> {
    /// The number with its interval; absent in older runs and where nothing was found.
    pub fn estimate(&self) -> Option<&Estimate> {
        usable(self.summary?)
    }

    /// Throughput to show: the median of the visits; in runs older than it the average over
    /// repeats, else that of the repeat shown.
    pub fn throughput_fps(&self) -> Option<f64> {
        let number = self.summary.and_then(|summary| summary.throughput_fps);
        number
            .or(self.shown.throughput_fps)
            .filter(|fps| fps.is_finite())
    }

    /// The cell as one row: the details of the visit shown, with the number, its interval, capacity, verdict, effort and
    /// notes of all visits.
    pub fn row(&self) -> CellResult {
        let fps = self.throughput_fps();
        let l2_mbps = |fps| self.key.l2_mbps(nicety_model::units::Fps(fps));
        CellResult {
            throughput_fps: fps,
            throughput_l1_mbps: self.l1_mbps(),
            throughput_l2_mbps: fps.map(l2_mbps),
            estimate: self.estimate().copied(),
            capacity_fps: self.capacity_fps().or(self.shown.capacity_fps),
            trials: self.repeats.iter().map(|visit| visit.trials).sum(),
            search_s: self.repeats.iter().map(|visit| visit.search_s).sum(),
            verdict: self.verdict(),
            notes: self.notes().into_iter().cloned().collect(),
            ..self.shown.clone()
        }
    }

    /// Throughput at L1 in Mbit/s.
    pub fn l1_mbps(&self) -> Option<f64> {
        self.throughput_fps()
            .map(|fps| self.key.l1_mbps(nicety_model::units::Fps(fps)))
    }

    /// Smallest and largest throughput when several repeats have one; where an interval is known,
    /// that says more.
    pub fn extremes_fps(&self) -> Option<(f64, f64)> {
        self.summary
            .and_then(|summary| summary.spread_fps)
            .filter(|spread| spread.n > 1)
            .map(|spread| (spread.min, spread.max))
            .filter(|(min, max)| min.is_finite() && max.is_finite())
    }

    /// Verdict over the repeats.
    pub fn verdict(&self) -> Verdict {
        self.summary
            .map_or(self.shown.verdict, |summary| summary.verdict)
    }

    /// Why the verdict is not `ok`, the most important reason first.
    pub fn why(&self) -> &[Note] {
        self.summary.map_or(&[], |summary| &summary.why)
    }

    /// Path, direction and flows: what a line in a figure stands for.
    pub fn series(&self) -> SeriesKey {
        SeriesKey {
            path: self.key.path_name(),
            direction: self.key.direction,
            flows: self.key.flows,
            traffic: self.key.traffic_words(),
        }
    }

    /// Latency at the highest share of the throughput that was measured.
    pub fn latency(&self) -> Option<&LatencySummary> {
        self.shown
            .latency_us
            .as_ref()
            .or(self.shown.latency_by_load_us.last())
    }

    /// Why the verdict is what it is, then the notes of all repeats, each text once.
    pub fn notes(&self) -> Vec<&Note> {
        let mut seen = BTreeSet::new();
        let notes = self.repeats.iter().flat_map(|cell| &cell.notes);
        let mut notes: Vec<&Note> = self.why().iter().chain(notes).collect();
        notes.retain(|note| seen.insert(note.to_string()));
        notes
    }
}

/// What a line in a figure stands for: cells that differ only in frame size.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeriesKey {
    /// Name of the path.
    pub path: String,
    /// Direction.
    pub direction: Direction,
    /// Flows per direction.
    pub flows: u32,
    /// What is unusual about the frames, see [`CellKey::traffic_words`].
    pub traffic: String,
}

impl std::fmt::Display for SeriesKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}", self.path, direction(self.direction))?;
        if self.flows > 1 {
            write!(f, ", {} flows", self.flows)?;
        }
        if !self.traffic.is_empty() {
            write!(f, ", {}", self.traffic)?;
        }
        Ok(())
    }
}

/// Direction in words.
pub fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Uni => "one direction",
        Direction::Bi => "both directions",
    }
}

/// The run's [results](cell::results) with their repeats in the order of the summary, then those it
/// lacks by key.
pub fn groups(run: &Run) -> Vec<Group<'_>> {
    let mut by_name: HashMap<&str, Vec<&CellResult>> = HashMap::new();
    for cell in cell::results(&run.visits) {
        by_name.entry(&cell.cell).or_default().push(cell);
    }
    let mut groups: Vec<Group<'_>> = run
        .cells
        .iter()
        .filter_map(|summary| {
            let repeats = by_name.remove(summary.cell.as_str())?;
            group(repeats, Some(summary))
        })
        .collect();
    let mut rest: Vec<Vec<&CellResult>> = by_name.into_values().collect();
    rest.sort_by_cached_key(|repeats| order(repeats));
    groups.extend(rest.into_iter().filter_map(|repeats| group(repeats, None)));
    groups
}

/// By the words of paths, then frame size, mixes last, direction, flows and name.
fn order<'a>(repeats: &[&'a CellResult]) -> Option<impl Ord + use<'a>> {
    let cell = *repeats.first()?;
    let CellKey {
        path,
        frame_size_bytes,
        direction,
        flows,
        shape,
    } = &cell.key;
    let traffic = (shape.imix, *frame_size_bytes, *direction, *flows);
    Some((path.words(), traffic, cell.cell.as_str()))
}

/// The number of a cell, where it is one.
fn usable(summary: &CellSummary) -> Option<&Estimate> {
    let estimate = summary.estimate.as_ref();
    estimate.filter(|estimate| {
        let all = [estimate.low_fps, estimate.fps, estimate.high_fps];
        all.iter().all(|fps| fps.is_finite())
    })
}

fn group<'a>(
    mut repeats: Vec<&'a CellResult>,
    summary: Option<&'a CellSummary>,
) -> Option<Group<'a>> {
    repeats.sort_by_key(|cell| cell.repeat);
    let estimate = summary.and_then(usable);
    let number = summary.and_then(|summary| summary.throughput_fps);
    let distance = |cell: &CellResult| match (cell.throughput_fps, number) {
        (Some(fps), Some(number)) => (fps - number).abs(),
        (Some(_), None) => 0.0,
        (None, _) => f64::INFINITY,
    };
    // Of several visits one has the details: without them its row would be empty.
    let bare = |cell: &CellResult| {
        estimate.is_some() && cell.confirm.is_none() && cell.latency_us.is_none()
    };
    let shown = *repeats.iter().min_by(|a, b| {
        let nearer = || distance(a).total_cmp(&distance(b));
        bare(a).cmp(&bare(b)).then_with(nearer)
    })?;
    Some(Group {
        name: &shown.cell,
        key: &shown.key,
        repeats,
        summary,
        shown,
    })
}

/// Values with the same key together, in order of first appearance.
pub fn together<K: Clone + Ord, V>(pairs: impl Iterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut all: Vec<(K, Vec<V>)> = Vec::new();
    let mut at: BTreeMap<K, usize> = BTreeMap::new();
    for (key, value) in pairs {
        let index = *at.entry(key.clone()).or_insert_with(|| {
            all.push((key, Vec::new()));
            all.len() - 1
        });
        all[index].1.push(value);
    }
    all
}

/// Cells that differ only in frame size, in order of size; series in order of first appearance.
pub fn series<'a, 'r>(groups: &'a [Group<'r>]) -> Vec<(SeriesKey, Vec<&'a Group<'r>>)> {
    let mut all = together(groups.iter().map(|group| (group.series(), group)));
    for (_, members) in &mut all {
        members.sort_by_key(|group| group.key.frame_size_bytes);
    }
    all
}

/// Search and confirm trials by cell name, control visits left out.
pub fn trials_by_cell(run: &Run) -> HashMap<&str, Vec<&TrialRecord>> {
    let mut by_cell: HashMap<&str, Vec<&TrialRecord>> = HashMap::new();
    for trial in run.trials.iter().filter(|trial| {
        trial.control.is_none() && matches!(trial.purpose, Purpose::Search | Purpose::Confirm)
    }) {
        by_cell.entry(&trial.cell).or_default().push(trial);
    }
    by_cell
}

/// What one of the tester's limits was measured with: `64 bytes`, `64 bytes both ways`,
/// `64 bytes with af_packet`, where cells of the same run have several engines.
pub fn limit_words(key: &LimitKey) -> String {
    let bytes = if key.shape.imix.is_some() {
        ""
    } else {
        " bytes"
    };
    format!("{}{bytes}{}", key.size_name(), key.beside_size())
}

/// Speed in Mbit/s of the slowest link that reports one, and the interfaces that have it.
///
/// Drivers report "unknown" as 0 or as all ones (`SPEED_UNKNOWN`, linux/ethtool.h).
pub fn link_speed(run: &Run) -> Option<(f64, Vec<&str>)> {
    let interfaces = run.run.host.interfaces.iter();
    let known = interfaces.filter_map(|(name, facts)| {
        let speed = facts
            .speed_mbps
            .filter(|speed| ![0, u32::MAX].contains(speed));
        Some((name.as_str(), speed?))
    });
    let slowest = known.clone().map(|(_, speed)| speed).min()?;
    let names = known.filter(|(_, speed)| *speed == slowest);
    Some((f64::from(slowest), names.map(|(name, _)| name).collect()))
}

/// The verdicts that occur, in the model's order.
pub fn verdicts(groups: &[Group<'_>]) -> Vec<(Verdict, usize)> {
    let cells = |of: Verdict| groups.iter().filter(|g| g.verdict() == of).count();
    let all = Verdict::ALL.map(|verdict| (verdict, cells(verdict)));
    all.into_iter().filter(|(_, cells)| *cells > 0).collect()
}

/// A note of cells, and who else has one of its kind.
pub struct Noted<'a> {
    /// Its sentences.
    pub text: String,
    /// Cells that have it.
    pub cells: Vec<&'a str>,
    /// Cells that have one of its kind with other figures; each counts once.
    pub alike: Vec<&'a str>,
}

impl std::fmt::Display for Noted<'_> {
    /// `Other programs used 0.22 CPUs. (bridge/64/uni; similar in bridge/128/uni)`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}", self.text, named(&self.cells))?;
        if !self.alike.is_empty() {
            write!(f, "; similar in {}", named(&self.alike))?;
        }
        f.write_str(")")
    }
}

/// Notes of the cells that stand in `list`, each kind once with the cells that have it: those that
/// leave no number first, else in order of first appearance. Sentences without a code are a kind each.
pub fn notes<'a>(groups: &'a [Group<'_>], list: List) -> Vec<Noted<'a>> {
    let all = groups.iter().flat_map(|group| {
        let notes = group.notes().into_iter();
        notes.map(move |note| (note, group.name))
    });
    let mut told: Vec<(&Note, &str)> = all.filter(|(note, _)| note.list() == list).collect();
    told.sort_by_key(|(note, _)| Reverse(note.severity()));
    let kinds = together(
        told.into_iter()
            .map(|(note, name)| (kind(note), (note, name))),
    );
    let noted = kinds.into_iter().filter_map(|(_, of_kind)| {
        let text = of_kind.first()?.0.to_string();
        let (same, others): (Vec<_>, Vec<_>) = of_kind
            .into_iter()
            .partition(|(note, _)| note.to_string() == text);
        let cells: Vec<&str> = same.into_iter().map(|(_, name)| name).collect();
        let mut alike: Vec<&str> = others.into_iter().map(|(_, name)| name).collect();
        alike.dedup();
        alike.retain(|name| !cells.contains(name));
        Some(Noted { text, cells, alike })
    });
    noted.collect()
}

/// Notes of the run that stand in `list`, each kind once with how many more there are.
pub fn run_notes(run: &Run, list: List) -> Vec<String> {
    let notes = run.run.notes.iter().filter(|note| note.list() == list);
    let kinds = together(notes.map(|note| (kind(note), note))).into_iter();
    let lines = kinds.filter_map(|(_, of_kind)| {
        let first = of_kind.first()?;
        Some(match of_kind.len() {
            1 => first.to_string(),
            all => format!("{first} ({} more like it)", all - 1),
        })
    });
    lines.collect()
}

/// What two notes have in common that are told as one.
fn kind(note: &Note) -> (&'static str, String) {
    match note {
        // Of a socket test's ends, and of older versions, the words are all there is.
        Note::Recorded(_) | Note::Sock(_) => ("", note.to_string()),
        _ => (note.code().code, String::new()),
    }
}

/// Names of cells in a line: the first three and how many more.
pub fn named(cells: &[&str]) -> String {
    match cells {
        [a, b, c, rest @ ..] if !rest.is_empty() => {
            format!("{a}, {b}, {c} and {} more", rest.len())
        }
        few => few.join(", "),
    }
}
