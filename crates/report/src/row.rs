//! One cell as texts, the same in the terminal table and in Markdown.

use crate::number::{self, ABSENT};
use crate::pick::{self, Group};
use crate::threads;

/// Column of the table of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    Path,
    Direction,
    Size,
    Throughput,
    /// What the throughput is known to.
    Interval,
    /// Load that held for ten seconds, beside an interval.
    TenSeconds,
    /// Forwarding rate under overload.
    Capacity,
    /// Of runs without intervals: lower load that held.
    Held,
    Range,
    Variation,
    L1,
    Loss,
    P50,
    P99,
    Cpu,
    Guest,
    Verdict,
}

impl Column {
    /// All columns in order; the verdict stands last.
    pub const ALL: [Self; 17] = [
        Self::Path,
        Self::Direction,
        Self::Size,
        Self::Throughput,
        Self::Interval,
        Self::TenSeconds,
        Self::Capacity,
        Self::Held,
        Self::Range,
        Self::Variation,
        Self::L1,
        Self::Loss,
        Self::P50,
        Self::P99,
        Self::Cpu,
        Self::Guest,
        Self::Verdict,
    ];

    /// Heading with the unit.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Direction => "direction",
            Self::Size => "bytes",
            Self::Throughput => "frames/s",
            Self::Interval => "interval",
            Self::TenSeconds => "10 s",
            Self::Capacity => "capacity",
            Self::Held => "held",
            Self::Range => "min to max",
            Self::Variation => "cv",
            Self::L1 => "Mbit/s",
            Self::Loss => "loss",
            Self::P50 => "p50 µs",
            Self::P99 => "p99 µs",
            Self::Cpu => "busiest CPU",
            Self::Guest => "guest CPU",
            Self::Verdict => "verdict",
        }
    }

    /// Whether the column holds numbers.
    pub fn is_number(self) -> bool {
        !matches!(
            self,
            Self::Path | Self::Direction | Self::Cpu | Self::Guest | Self::Verdict
        )
    }

    /// Text of this column for a cell; not escaped.
    pub fn text(self, group: &Group<'_>) -> String {
        let known = group.estimate().is_some();
        match self {
            Self::Path => path(group),
            Self::Direction => group.key.direction.to_string(),
            Self::Size => group.key.frame_size_bytes.to_string(),
            Self::Throughput => group.fps_text(),
            Self::Interval => group.interval_text().unwrap_or_else(absent),
            Self::TenSeconds if known => group.held_text(),
            Self::Capacity => group.capacity_fps().map_or_else(absent, number::short),
            // What an interval says better, or another column.
            Self::Held | Self::Range | Self::Variation if known => absent(),
            Self::TenSeconds => absent(),
            Self::Held => group
                .shown
                .held
                .map_or_else(absent, |held| number::grouped(held.load_fps)),
            Self::Range => group.extremes_fps().map_or_else(absent, |(min, max)| {
                format!("{} to {}", number::grouped(min), number::grouped(max))
            }),
            Self::Variation => group
                .summary
                .and_then(|summary| summary.throughput_fps?.cv)
                .map_or_else(absent, number::variation),
            Self::L1 => number::mbps(group.told_mbps()),
            Self::Loss => match (loss(group), group.stalls_text()) {
                (loss, Some(stalls)) => format!("{loss}, {stalls}"),
                (loss, None) => loss,
            },
            Self::P50 => group
                .latency()
                .map_or_else(absent, |latency| number::micros(latency.p50)),
            Self::P99 => group
                .latency()
                .map_or_else(absent, |latency| number::micros(latency.p99)),
            Self::Cpu => cpu(group),
            Self::Guest => group
                .shown
                .cpu
                .as_ref()
                .and_then(threads::guest)
                .unwrap_or_else(absent),
            Self::Verdict => group.verdict().to_string(),
        }
    }
}

fn absent() -> String {
    ABSENT.to_owned()
}

/// Loss of the confirm trial.
pub fn loss(group: &Group<'_>) -> String {
    let confirm = group.shown.confirm;
    confirm.map_or_else(absent, |confirm| number::loss(confirm.loss_ratio.0))
}

fn path(group: &Group<'_>) -> String {
    let mut path = group.key.path_name();
    if group.key.flows > 1 {
        path.push_str(&format!(", {} flows", group.key.flows));
    }
    path
}

/// A CPU on which a thread polls is always busy: how much of that was of use stands beside it.
fn cpu(group: &Group<'_>) -> String {
    let Some(cpu) = &group.shown.cpu else {
        return absent();
    };
    let Some(busiest) = &cpu.busiest else {
        return absent();
    };
    let (number, busy) = (busiest.cpu, number::share(busiest.busy_ratio));
    match cpu
        .polls_on_busiest()
        .map(|thread| (&thread.who, thread.useful_ratio))
    {
        None => format!("{number}: {busy} {}", threads::greatest_user(busiest)),
        Some((who, Some(useful))) => {
            format!("{number}: {who} polls, {} useful", number::share(useful))
        }
        Some((who, None)) => format!("{number}: {who} polls"),
    }
}

/// Columns for which at least one cell has something to show; path, direction, size,
/// throughput and verdict always.
pub fn columns(groups: &[Group<'_>]) -> Vec<Column> {
    let always = [
        Column::Path,
        Column::Direction,
        Column::Size,
        Column::Throughput,
        Column::Verdict,
    ];
    Column::ALL
        .into_iter()
        .filter(|column| {
            always.contains(column) || groups.iter().any(|group| column.text(group) != ABSENT)
        })
        .collect()
}

/// Heading of the rows of a series: `bridge, one direction`.
pub fn series_heading(group: &Group<'_>) -> String {
    format!("{}, {}", path(group), pick::direction(group.key.direction))
}
