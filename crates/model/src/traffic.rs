//! What test frames are beyond one size of IPv4 and UDP: mixes, headers, tags, and how flows come.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::frame::{FCS_BYTES, FrameSize};
use crate::mix::Mix;
use crate::sock::Family;

/// Bytes of nicety's stamp in every test frame.
pub const STAMP_BYTES: u16 = 14;
/// Bytes of a VLAN tag.
const TAG_BYTES: u16 = 4;
/// Most new flows per second.
pub const MAX_NEW_FLOWS: u32 = 1_000_000;
/// Largest exponent of a Zipf distribution, in thousandths.
const MAX_EXPONENT: u32 = 5_000;

crate::keywords::keywords! {
    /// The header behind IP's.
    Transport {
        /// User datagrams.
        Udp = "udp",
        /// Segments of no connection: sequence numbers stay, the flag is ACK.
        Tcp = "tcp",
    }
}

/// VLAN tags of a frame, the outer one first: `100`, or `200.100` for a service tag (802.1ad) with a
/// customer tag in it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay, DeserializeFromStr,
)]
pub struct Tags {
    /// Identifier of the outer tag, 1 to 4094.
    pub outer: u16,
    /// Identifier of the tag in it, where there are two.
    pub inner: Option<u16>,
}

/// Not VLAN tags.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a VLAN; write an identifier from 1 to 4094, or two for QinQ, as in \"200.100\""
)]
pub struct NoTags(String);

impl Tags {
    /// Bytes of all of them.
    pub fn bytes(self) -> u16 {
        TAG_BYTES * (1 + u16::from(self.inner.is_some()))
    }
}

impl FromStr for Tags {
    type Err = NoTags;

    fn from_str(text: &str) -> Result<Self, NoTags> {
        let id = |text: &str| {
            let id = text
                .trim()
                .parse()
                .ok()
                .filter(|id| (1..=4094).contains(id));
            id.ok_or_else(|| NoTags(text.to_owned()))
        };
        let wrong = |_| NoTags(text.to_owned());
        match text.split_once('.') {
            Some((outer, inner)) => Ok(Self {
                outer: id(outer).map_err(wrong)?,
                inner: Some(id(inner).map_err(wrong)?),
            }),
            None => Ok(Self {
                outer: id(text).map_err(wrong)?,
                inner: None,
            }),
        }
    }
}

impl fmt::Display for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.outer)?;
        self.inner.map_or(Ok(()), |inner| write!(f, ".{inner}"))
    }
}

/// How often frames are of which flow.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    SerializeDisplay,
    DeserializeFromStr,
)]
pub enum Popularity {
    /// All alike: flows take turns.
    #[default]
    Uniform,
    /// Flow `k` of `n`, counted from 1, has a share of `k^-s`; the exponent in thousandths.
    Zipf(u32),
}

/// Not a popularity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a popularity of flows; write uniform, or zipf with its exponent from 0.001 to 5, as in zipf:1.1"
)]
pub struct NoPopularity(String);

impl FromStr for Popularity {
    type Err = NoPopularity;

    fn from_str(text: &str) -> Result<Self, NoPopularity> {
        if text == "uniform" {
            return Ok(Self::Uniform);
        }
        let exponent = text
            .strip_prefix("zipf:")
            .and_then(|text| text.trim().parse::<f64>().ok());
        let thousandths = exponent.map(|exponent| (exponent * 1e3).round());
        let valid = thousandths.filter(|n| (1.0..=f64::from(MAX_EXPONENT)).contains(n));
        valid
            .map(|n| Self::Zipf(n as u32))
            .ok_or_else(|| NoPopularity(text.to_owned()))
    }
}

impl fmt::Display for Popularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf(thousandths) => write!(f, "zipf:{}", f64::from(*thousandths) / 1e3),
        }
    }
}

crate::keywords::text_schema! {
    Tags "Identifier of a VLAN, `100`; service and customer tag for QinQ: `200.100`.",
    Popularity "`uniform`, or `zipf:1.1` with the exponent.",
}

/// What frames are beyond their one size, IPv4 and UDP. Absent keys are the usual.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
pub struct Shape {
    /// Sizes in a mix, of which the frame size is the largest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imix: Option<Mix>,
    /// IP version; IPv4 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
    /// Header behind IP's; UDP when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Transport>,
    /// DSCP of every frame, 0 to 63 (RFC 2474); 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    /// VLAN tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<Tags>,
    /// How often frames are of which flow; all alike when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub popularity: Option<Popularity>,
    /// Flows that take the place of older ones per second and direction; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_flows_per_s: Option<u32>,
}

impl Shape {
    /// Whether frames are what every engine sends.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Without what is the usual anyway, so that equal traffic is equal.
    #[must_use]
    pub fn tidy(self) -> Self {
        Self {
            family: self.family.filter(|family| *family != Family::Ipv4),
            protocol: self.protocol.filter(|protocol| *protocol != Transport::Udp),
            dscp: self.dscp.filter(|dscp| *dscp != 0),
            popularity: self
                .popularity
                .filter(|popularity| *popularity != Popularity::Uniform),
            new_flows_per_s: self.new_flows_per_s.filter(|rate| *rate != 0),
            ..self
        }
    }

    /// The same frames of flows that take turns.
    #[must_use]
    pub fn frames_only(self) -> Self {
        Self {
            popularity: None,
            new_flows_per_s: None,
            ..self
        }
    }

    /// The same with a mix, or without.
    #[must_use]
    pub fn with_mix(self, imix: Option<Mix>) -> Self {
        Self { imix, ..self }
    }

    /// Whether packets are of IPv6.
    pub fn is_ipv6(&self) -> bool {
        self.family == Some(Family::Ipv6)
    }

    /// Whether packets are of TCP.
    pub fn is_tcp(&self) -> bool {
        self.protocol == Some(Transport::Tcp)
    }

    /// Smallest frame that holds headers, tags and stamp, in bytes with FCS: 64 to 100.
    pub fn smallest(&self) -> u16 {
        let ip = if self.is_ipv6() { 40 } else { 20 };
        let transport = if self.is_tcp() { 20 } else { 8 };
        let tags = self.vlan.map_or(0, Tags::bytes);
        (14 + tags + ip + transport + STAMP_BYTES + FCS_BYTES).max(FrameSize::MIN)
    }

    /// The first frame, of one size or a mix, that is too small for headers, tags and stamp.
    pub fn too_small(&self, size: FrameSize) -> Option<FrameSize> {
        let smallest = self.imix.map_or(size, |mix| mix.smallest());
        (smallest.bytes() < self.smallest()).then_some(smallest)
    }

    /// Headers in words: `IPv6, TCP, 2 VLAN tags`.
    pub fn headers(&self) -> String {
        let ip = if self.is_ipv6() { "IPv6" } else { "IPv4" };
        let transport = if self.is_tcp() { "TCP" } else { "UDP" };
        let tags = match self.vlan {
            None => "",
            Some(Tags { inner: None, .. }) => ", a VLAN tag",
            Some(_) => ", two VLAN tags",
        };
        format!("{ip}, {transport}{tags}")
    }

    /// What is unusual but the mix, in words that follow a name: `ipv6`, `tcp`, `dscp=46`, `vlan=200.100`,
    /// `zipf:1.1`, `new-flows=1000`.
    pub fn words(&self) -> Vec<String> {
        let words = [
            self.family.map(|family| family.to_string()),
            self.protocol.map(|protocol| protocol.to_string()),
            self.dscp.map(|dscp| format!("dscp={dscp}")),
            self.vlan.map(|vlan| format!("vlan={vlan}")),
            self.popularity.map(|popularity| popularity.to_string()),
            self.new_flows_per_s.map(|rate| format!("new-flows={rate}")),
        ];
        words.into_iter().flatten().collect()
    }

    /// Takes one of [`Self::words`] in; whether it is one.
    pub fn take(&mut self, word: &str) -> bool {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "dscp" => self.dscp = value.parse().ok(),
            "vlan" => self.vlan = value.parse().ok(),
            "new-flows" => self.new_flows_per_s = value.parse().ok(),
            _ => {
                self.family = Family::of(word).or(self.family);
                self.protocol = Transport::of(word).or(self.protocol);
                self.popularity = word.parse().ok().or(self.popularity);
            }
        }
        self.words().iter().any(|known| known == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_traffic_has_no_words() {
        let shape = Shape {
            family: Some(Family::Ipv4),
            protocol: Some(Transport::Udp),
            dscp: Some(0),
            popularity: Some(Popularity::Uniform),
            new_flows_per_s: Some(0),
            ..Shape::default()
        };
        assert!(!shape.is_plain() && shape.tidy().is_plain());
        assert_eq!(serde_json::to_string(&Shape::default()).unwrap(), "{}");
    }

    #[test]
    fn words_are_read_back() {
        let shape = Shape {
            imix: None,
            family: Some(Family::Ipv6),
            protocol: Some(Transport::Tcp),
            dscp: Some(46),
            vlan: Some("200.100".parse().unwrap()),
            popularity: Some("zipf:1.1".parse().unwrap()),
            new_flows_per_s: Some(1000),
        };
        let words = shape.words();
        assert_eq!(
            words.join("/"),
            "ipv6/tcp/dscp=46/vlan=200.100/zipf:1.1/new-flows=1000"
        );
        let mut read = Shape::default();
        assert!(words.iter().all(|word| read.take(word)));
        assert_eq!(read, shape);
        for word in ["", "bi", "dscp=x", "vlan=5000", "ipv5"] {
            assert!(!Shape::default().take(word), "{word}");
        }
        let json = serde_json::to_string(&shape).unwrap();
        assert_eq!(serde_json::from_str::<Shape>(&json).unwrap(), shape);
    }

    #[test]
    fn the_smallest_frame_holds_headers_and_stamp() {
        let of = |family, protocol, vlan: Option<&str>| {
            let vlan = vlan.map(|text| text.parse().unwrap());
            Shape {
                family,
                protocol,
                vlan,
                ..Shape::default()
            }
            .smallest()
        };
        let (six, tcp) = (Some(Family::Ipv6), Some(Transport::Tcp));
        assert_eq!(of(None, None, None), 64);
        assert_eq!(of(None, None, Some("100")), 64);
        assert_eq!(of(None, None, Some("200.100")), 68);
        assert_eq!(of(None, tcp, None), 72);
        assert_eq!(of(six, None, None), 80);
        assert_eq!(of(six, tcp, Some("200.100")), 100);
    }

    #[test]
    fn other_text_is_refused_with_what_to_write() {
        for text in ["", "0", "4095", "1.", ".1", "1.2.3", "x", "-1"] {
            let error = text.parse::<Tags>().unwrap_err().to_string();
            assert!(error.contains("from 1 to 4094"), "{text}: {error}");
        }
        for text in [
            "", "zipf", "zipf:", "zipf:0", "zipf:6", "zipf:nan", "zipf:-1", "normal",
        ] {
            let error = text.parse::<Popularity>().unwrap_err().to_string();
            assert!(error.contains("zipf:1.1"), "{text}: {error}");
        }
        for text in ["100", "200.100", "4094"] {
            assert_eq!(text.parse::<Tags>().unwrap().to_string(), text);
        }
        for text in ["uniform", "zipf:1", "zipf:0.001", "zipf:1.25"] {
            assert_eq!(text.parse::<Popularity>().unwrap().to_string(), text);
        }
    }
}
