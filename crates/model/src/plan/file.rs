//! A plan as it stands in a file: what [`Plan::parse`](crate::Plan::parse) reads,
//! [`Plan::to_toml`](crate::Plan::to_toml) writes and `plan.schema.json` describes.

use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use toml::Spanned;

use crate::fate::FateMode;
use crate::frame::Direction;
use crate::mix::Mix;
use crate::path::Cpus;
use crate::plan::goals::GoalFile;
use crate::plan::{MAX_FLOWS, MAX_NEIGHBOURS, MAX_REPEATS, PathParams, Preset, SockClient};
use crate::recovery::{MAX_OVERLOAD, MIN_OVERLOAD};
use crate::sock::{Family, SockTest};
use crate::source::{EMPTY, List, Raw, Time, Top, Wrong, written_as_list};
use crate::traffic::{MAX_NEW_FLOWS, Popularity, Tags, Transport};
use crate::{integers, kind};

/// Longest name of a plan, in characters.
pub(super) const NAME_CHARS: usize = 64;

/// A plan file. Every list multiplies the matrix; a single value may stand for a list of one.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["path"]))]
pub struct PlanFile {
    /// Name of the run; the file's name without `.toml` when absent.
    pub(super) name: Option<Name>,
    /// What is sent.
    pub(super) traffic: Option<TrafficFile>,
    /// How the throughput is searched.
    pub(super) search: Option<SearchFile>,
    /// What is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<PathParams>")]
    pub(super) path: Vec<Spanned<PathParams>>,
    /// Socket workloads over every path. A plan with them and without `traffic` and `search`
    /// measures nothing else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<SockFile>")]
    pub(super) sockets: Vec<Spanned<SockFile>>,
}

/// Message for a plan without a path.
pub(super) const NO_PATH: [&str; 2] = [
    "the plan has no path",
    "add a line [[path]] and below it kind = \"bridge\"",
];

/// The tables of a plan.
pub(super) const TABLES: [Top; 4] = [
    ("traffic", "a table, as in [traffic]", None),
    ("search", "a table, as in [search]", None),
    (
        "path",
        "[[path]] with kind = \"bridge\" below it",
        Some(NO_PATH),
    ),
    (
        "sockets",
        "[[sockets]] with test = \"tcp_rr\" below it",
        Some(EMPTY),
    ),
];

/// What is sent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TrafficFile {
    /// Frame sizes in bytes with FCS.
    pub(super) frame_sizes: Option<List<FrameBytes>>,
    /// Mixes of frame sizes (IMIX): weights and sizes, as in `7:64,4:594,1:1518`, or `simple`, `tolly`, `ipsec`.
    /// `frame_sizes` then has no default.
    #[schemars(with = "Option<List<String>>")]
    pub(super) imix: Option<List<MixText>>,
    /// Directions.
    pub(super) directions: Option<List<Direction>>,
    /// Flows per direction.
    pub(super) flows: Option<List<Flows>>,
    /// How often frames are of which flow: `uniform`, or `zipf:1.1` with the exponent of the distribution.
    #[schemars(with = "Option<String>")]
    pub(super) popularity: Option<Spanned<PopularityText>>,
    /// Flows that take the place of older ones per second and direction.
    pub(super) new_flows_per_s: Option<NewFlows>,
    /// IP version of the frames.
    #[schemars(with = "Option<Family>")]
    pub(super) family: Option<Spanned<Family>>,
    /// Header behind IP's.
    #[schemars(with = "Option<Transport>")]
    pub(super) protocol: Option<Spanned<Transport>>,
    /// DSCP of the frames.
    pub(super) dscp: Option<Dscp>,
    /// VLAN tag of the frames as they are sent, or two for QinQ: `100`, `"200.100"`.
    #[schemars(with = "Option<TagsText>")]
    pub(super) vlan: Option<Spanned<TagsText>>,
}

/// How the throughput is searched.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchFile {
    /// Named search.
    pub(super) preset: Option<Preset>,
    /// Highest share of frames that may be lost, 0 up to but without 1.
    pub(super) loss_ratio: Option<LossShare>,
    /// Several goals in place of `loss_ratio`, strictest first: `{ name = "NDR", loss_ratio = 0 }`.
    pub(super) goals: Option<List<GoalFile>>,
    /// Repeats of every cell.
    pub(super) repeats: Option<Repeats>,
    /// Length of the confirm trial, as in `30s`; `0s` for none.
    pub(super) confirm: Option<Time>,
    /// Loads at which latency, forwarding rate and loss are measured, in per cent of the throughput; 0 is one frame at
    /// a time. When absent, latency alone at 10, 50 and 90 %.
    pub(super) latency_load: Option<List<LoadPercent>>,
    /// Whether every cell's longest burst without loss is searched for, and the depth of the path's buffer (RFC 9004).
    pub(super) bursts: Option<bool>,
    /// How long every cell's path is overloaded to measure system recovery (RFC 2544 §26.5), as in `60s`; `0s` for
    /// none.
    pub(super) recovery: Option<OverloadTime>,
    /// Whether every cell's path is reset to see how long it is down (RFC 2544 §26.6, RFC 6201).
    pub(super) reset: Option<bool>,
    /// Whether the run finds out what became of every lost frame; `auto` when absent.
    pub(super) fate: Option<FateMode>,
}

/// Socket workloads: every list multiplies.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SockFile {
    /// What the endpoints exchange.
    #[schemars(with = "List<SockTest>")]
    pub(super) test: Option<List<SockTest>>,
    /// Bytes of a request, response, write or datagram; each test's own when absent.
    pub(super) message_bytes: Option<List<MessageBytes>>,
    /// Flows at once; with `saturate` the most that are tried.
    pub(super) parallel: Option<List<Parallel>>,
    /// Transactions or datagrams per second over all flows (open loop).
    pub(super) rate: Option<List<PerSecond>>,
    /// IP versions.
    pub(super) family: Option<List<Family>>,
    /// Pairs that flood the same switch meanwhile.
    pub(super) neighbours: Option<List<Neighbours>>,
    /// Where the client runs; `host` when absent.
    pub(super) client: Option<List<SockClient>>,
    /// CPUs of the client's workers in turn, a list per placement.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    #[serde(serialize_with = "written_as_list")]
    #[schemars(with = "Vec<Cpus>")]
    pub(super) pin: List<Cpus>,
    /// The same of the server's workers, outside of guests.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    #[serde(serialize_with = "written_as_list")]
    #[schemars(with = "Vec<Cpus>")]
    pub(super) server_pin: List<Cpus>,
    /// Length of one test, as in `5s`.
    #[schemars(with = "Option<String>")]
    pub(super) time: Option<Spanned<Time>>,
    /// How often every test is run; with `confidence` the most of it.
    #[schemars(with = "Option<SockRepeats>")]
    pub(super) repeats: Option<Spanned<SockRepeats>>,
    /// Repeat until the interval of LEVEL per cent (90, 95, 99) is WIDTH per cent of the mean
    /// wide: `95,2`.
    #[schemars(with = "Option<String>")]
    pub(super) confidence: Option<Confidence>,
    /// Raise the number of flows until the rate stops growing.
    #[schemars(with = "Option<bool>")]
    pub(super) saturate: Option<Spanned<bool>>,
}

integers! {
    FrameBytes 64 to 9018, "bytes of the Ethernet frame with FCS, as in frame_sizes = [64, 1518]";
    Flows 1 to MAX_FLOWS, "whole numbers of flows, as in flows = 1";
    NewFlows 0 to MAX_NEW_FLOWS, "flows that take the place of older ones per second, as in new_flows_per_s = 1000";
    Dscp 0 to 63, "a DSCP from 0 to 63, as in dscp = 46";
    LoadPercent 0 to crate::curve::MAX_LOAD_PERCENT, "per cent of the throughput, as in latency_load = [0, 50, 90, 120]";
    Repeats 1 to MAX_REPEATS, "how often to measure every cell, as in repeats = 3";
    MessageBytes 0 to u32::MAX, "bytes of a message, as in message_bytes = [64, 1024]";
    Parallel 1 to crate::sock::MAX_FLOWS, "flows at once, as in parallel = [1, 150]";
    PerSecond 1 to 1_000_000_000, "transactions per second over all flows, as in rate = 1000";
    Neighbours 0 to MAX_NEIGHBOURS, "pairs that flood the same switch, as in neighbours = [0, 1]";
    SockRepeats 1 to 1_000, "how often to run every test, as in repeats = 3";
}

/// `imix`: a mix of frame sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct MixText(pub(super) Mix);

kind!(
    MixText,
    "weights and frame sizes or a name in quotes, as in imix = \"7:64,4:594,1:1518\"",
    |raw| {
        let mix = raw.text()?.parse::<Mix>();
        mix.map(Self)
            .map_err(|error| told("imix", &error.to_string()))
    }
);

/// `popularity`.
#[derive(Debug, Clone, Copy)]
pub(super) struct PopularityText(pub(super) Popularity);

kind!(
    PopularityText,
    "uniform or zipf in quotes, as in popularity = \"zipf:1.1\"",
    |raw| {
        let popularity = raw.text()?.parse::<Popularity>();
        popularity
            .map(Self)
            .map_err(|error| told("popularity", &error.to_string()))
    }
);

/// `vlan`: a tag or two.
#[derive(Debug, Clone, Copy)]
pub(super) struct TagsText(pub(super) Tags);

kind!(
    TagsText,
    "a VLAN, or two in quotes, as in vlan = 100 or vlan = \"200.100\"",
    |raw| {
        let text = match raw {
            Raw::Integer(id) => id.to_string(),
            raw => raw.text()?.to_owned(),
        };
        let tags = text.parse::<Tags>();
        tags.map(Self)
            .map_err(|error| told("vlan", &error.to_string()))
    }
);

impl JsonSchema for TagsText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "VlanTags".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer"] })
    }
}

/// An error that says what is wrong, and behind a semicolon what to write.
fn told(key: &str, error: &str) -> Wrong {
    let (what, remedy) = error
        .rsplit_once("; ")
        .unwrap_or((error, "write another one"));
    Wrong::value(format!("{key}: {what}"), remedy)
}

/// Written as they are read.
macro_rules! written {
    ($($name:ident)+) => {
        $(impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&self.0)
            }
        })+
    };
}

written! { MixText PopularityText TagsText }

impl From<Mix> for MixText {
    fn from(mix: Mix) -> Self {
        Self(mix)
    }
}

/// A plan's name.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Name(pub(super) String);

kind!(
    Name,
    "a name in quotes, as in name = \"guest-drivers\"",
    |raw| {
        let text = raw.text()?;
        if text.trim().is_empty() {
            let remedy = "write a name or remove the line";
            return Err(Wrong::value("name is empty", remedy));
        }
        if text.chars().count() > NAME_CHARS || text.chars().any(crate::visible::is_hidden) {
            return Err(Wrong::value(
                "name = {value} is too long or has control characters",
                format!("write at most {NAME_CHARS} printable characters"),
            ));
        }
        Ok(Self(text.to_owned()))
    }
);

/// `loss_ratio`: a share, not a percentage.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub(super) struct LossShare(#[schemars(range(min = 0, max = 1))] pub(super) f64);

kind!(
    LossShare,
    "the share of frames that may be lost as a number, 0.0001 for 0.01 %",
    |raw| {
        match raw.real()? {
            share if (0.0..1.0).contains(&share) => Ok(Self(share)),
            _ => Err(Wrong::value(
                "loss_ratio = {value} is not between 0 and 1",
                "write the share of frames that may be lost, 0.0001 for 0.01 %",
            )),
        }
    }
);

/// `recovery`: how long the path is overloaded; zero for never.
#[derive(Debug, Clone, Copy, JsonSchema)]
pub(super) struct OverloadTime(#[schemars(with = "String")] pub(super) Duration);

kind!(
    OverloadTime,
    "a duration in quotes, as in recovery = \"60s\"",
    |raw| {
        let Time(time) = Time::of(raw)?;
        if time.is_zero() || (MIN_OVERLOAD..=MAX_OVERLOAD).contains(&time) {
            Ok(Self(time))
        } else {
            Err(Wrong::value(
                "recovery = {value} is not between 1s and 10m",
                "write \"60s\", as RFC 2544 asks for, or \"0s\" for none",
            ))
        }
    }
);

impl Serialize for OverloadTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Time(self.0).serialize(serializer)
    }
}

/// `confidence`: how sure a mean must be, level and width in per cent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Confidence(pub(super) u32, pub(super) f64);

kind!(
    Confidence,
    "level and width in per cent, as in confidence = \"95,2\"",
    |raw| {
        let (level, width) = raw.text()?.split_once(',').unwrap_or_default();
        match (level.trim().parse(), width.trim().parse()) {
            (Ok(level @ (90 | 95 | 99)), Ok(width)) if width > 0.0 && width <= 100.0 => {
                Ok(Self(level, width))
            }
            _ => Err(Wrong::value(
                "confidence = {value} is not a level and width",
                "write 90, 95 or 99 and a width up to 100 per cent, as in confidence = \"95,2\"",
            )),
        }
    }
);

impl Serialize for Confidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{},{}", self.0, self.1))
    }
}
