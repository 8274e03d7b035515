//! What host and agent say to each other.

use nicety_model::FrameSize;
use nicety_packet::RunMark;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::names::TesterPorts;
use crate::windows::Windows;

/// Key of the question among all that a guest may be asked.
const KEY: &str = "follow";
/// Most rows of numbers in an answer.
pub(super) const ROWS_MAX: usize = 1 << 18;
/// Most sightings in an answer.
pub(super) const SEEN_MAX: usize = 1 << 17;
/// Most characters of a name.
pub(super) const NAME_MAX: usize = 64;
/// Most characters of a reason why not.
pub(super) const WHY_MAX: usize = 300;

/// What the host asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ask {
    /// Follow the frames of a trial from now on.
    Begin(Follow),
    /// The guest's clock.
    Clock,
    /// What was noted; the programs end.
    End,
}

impl Ask {
    /// As the channel has it.
    pub fn value(&self) -> Value {
        json!({ KEY: self })
    }

    /// The question, where it is one of these.
    pub fn read(value: &Value) -> Option<Self> {
        Self::deserialize(value.get(KEY)?).ok()
    }
}

/// Which frames are followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Follow {
    pub(super) trial: u8,
    pub(super) frames: u64,
    pub(super) frame_size: u16,
    pub(super) streams: u32,
    /// As in the IPv4 identification.
    pub(super) mark: u16,
    /// Whether lost ones get their causes.
    pub(super) drops: bool,
    /// Windows of the frames whose way is noted, by the host's clock: when one begins, and how long it is.
    pub(super) windows: Option<[u64; 2]>,
}

impl Follow {
    /// Frames of `trial` (low byte of its counter), `frames` in each of so many streams.
    pub fn new(trial: u8, frames: u64, frame: FrameSize, (streams, mark): (u32, RunMark)) -> Self {
        Self {
            trial,
            frames,
            frame_size: frame.bytes(),
            streams,
            mark: mark.identification(),
            drops: false,
            windows: None,
        }
    }

    /// Has lost frames get their causes.
    #[must_use]
    pub fn drops(self, drops: bool) -> Self {
        Self { drops, ..self }
    }

    /// Has the way of frames in these windows be noted.
    #[must_use]
    pub fn hops(self, windows: Option<Windows>) -> Self {
        Self {
            windows: windows.map(Windows::words),
            ..self
        }
    }

    /// The tester, which is not in the guest.
    pub(super) fn tester(&self) -> TesterPorts {
        TesterPorts {
            mark: match self.mark & RunMark::MASK {
                0 => RunMark::NONE,
                mark => RunMark::of(u32::from(mark >> RunMark::MASK.trailing_zeros()) - 1),
            },
            ..TesterPorts::default()
        }
    }
}

/// What the agent answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Answer {
    /// It follows.
    Begun,
    /// It does not.
    Refused(String),
    /// Its clock, in nanoseconds.
    Clock(u64),
    /// What it noted.
    Told(Box<Noted>),
}

/// What was noted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Noted {
    pub(super) causes: Vec<Cause>,
    /// By stream: numbers without a cause before the row, its length, its cause; all again.
    pub(super) rows: Vec<String>,
    /// Rows that there was no room for.
    pub(super) rows_left_out: u64,
    pub(super) stations: Vec<Place>,
    /// Stream, number, sent, seen at, station, CPU, merged frames; all again.
    pub(super) seen: String,
    /// Times that there was no room to note a frame.
    pub(super) unnoted: u64,
}

/// Why frames are thrown away.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cause {
    pub(super) number: u8,
    pub(super) device: Option<String>,
    pub(super) function: Option<String>,
    pub(super) reason: Option<String>,
}

/// Where frames are seen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Place {
    pub(super) does: Does,
    /// Empty where it has none.
    pub(super) device: String,
    pub(super) function: Option<String>,
    pub(super) reason: Option<String>,
}

/// What happens there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Does {
    /// Nobody was seen there.
    #[default]
    Nothing,
    /// Frames are received.
    Receives,
    /// Frames are sent.
    Sends,
    /// Frames are thrown away.
    Frees,
}
