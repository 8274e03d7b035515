//! What a measured limit of the tester applies to.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::frame::{Direction, FrameSize};
use crate::mix::Mix;
use crate::traffic::Shape;

crate::keywords::keywords! {
    /// An engine that sends and receives frames.
    EngineName {
        /// BPF programs at the interfaces.
        Xdp = "xdp",
        /// Sockets whose rings the driver fills.
        AfXdp = "af_xdp",
        /// The kernel's packet generator.
        Pktgen = "pktgen",
        /// Packet sockets.
        AfPacket = "af_packet",
    }
}

/// The engine that a run is asked to measure with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, derive_more::Display)]
pub enum EngineChoice {
    /// The fastest that proves itself on the ports.
    #[default]
    #[display("auto")]
    Auto,
    /// No other than this one.
    Only(EngineName),
}

/// Not the name of an engine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown engine {0:?}: write auto, xdp, af_xdp, pktgen or af_packet")]
pub struct NoEngine(String);

impl FromStr for EngineChoice {
    type Err = NoEngine;

    fn from_str(text: &str) -> Result<Self, NoEngine> {
        match EngineName::of(text) {
            Some(engine) => Ok(Self::Only(engine)),
            None if text == "auto" => Ok(Self::Auto),
            None => Err(NoEngine(text.to_owned())),
        }
    }
}

/// Key of a limit: what the tester sent when it was found. Keys are in order of frame size, then
/// one direction before both.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay, DeserializeFromStr,
)]
pub struct LimitKey {
    /// Frame size.
    pub frame_size: FrameSize,
    /// Which ports sent.
    pub direction: Direction,
    /// The engine, where other cells of the run have another.
    pub engine: Option<EngineName>,
    /// What its frames are beyond one size of IPv4 and UDP, see [`Shape::frames_only`].
    pub shape: Shape,
}

impl LimitKey {
    /// The frame size, or the mix: `64`, `imix:simple`.
    pub fn size_name(&self) -> String {
        match &self.shape.imix {
            Some(mix) => format!("imix:{}", mix.called()),
            None => self.frame_size.to_string(),
        }
    }

    /// Direction, headers and engine in words that follow a frame size: nothing, ` both ways`,
    /// ` both ways with af_packet`.
    pub fn beside_size(&self) -> String {
        let direction = match self.direction {
            Direction::Uni => "",
            Direction::Bi => " both ways",
        };
        let engine = self.engine.map(|engine| format!(" with {engine}"));
        let shape: String = self
            .shape
            .words()
            .iter()
            .map(|word| format!(" {word}"))
            .collect();
        format!("{direction}{shape}{}", engine.unwrap_or_default())
    }
}

/// As keys in JSON are: `64`, `64/bi` when both ports sent, `64/af_packet`, `64/bi/af_packet`,
/// `imix:simple/ipv6/af_packet`.
impl fmt::Display for LimitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.size_name())?;
        if self.direction == Direction::Bi {
            write!(f, "/{}", self.direction)?;
        }
        for word in self.shape.words() {
            write!(f, "/{word}")?;
        }
        self.engine.map_or(Ok(()), |engine| write!(f, "/{engine}"))
    }
}

/// Not the key of a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a key of a tester's limit: it is a frame size, /bi for both directions and /ENGINE, \
     as in 64/bi/af_packet"
)]
pub struct NoLimitKey(String);

impl FromStr for LimitKey {
    type Err = NoLimitKey;

    fn from_str(text: &str) -> Result<Self, NoLimitKey> {
        let no = || NoLimitKey(text.to_owned());
        let mut parts = text.split('/').peekable();
        let size = parts.next().ok_or_else(no)?;
        let imix: Option<Mix> = match size.strip_prefix("imix:") {
            Some(mix) => Some(mix.parse().map_err(|_| no())?),
            None => None,
        };
        let number = || size.parse().ok().and_then(|size| FrameSize::new(size).ok());
        let frame_size = imix.map(|mix| mix.largest()).or_else(number);
        let direction = match parts.next_if(|part| *part == "bi") {
            Some(_) => Direction::Bi,
            None => Direction::Uni,
        };
        let mut shape = Shape::default().with_mix(imix);
        while parts.next_if(|part| shape.take(part)).is_some() {}
        let engine = parts.next().map(|part| EngineName::of(part).ok_or_else(no));
        let key = Self {
            frame_size: frame_size.ok_or_else(no)?,
            direction,
            engine: engine.transpose()?,
            shape,
        };
        parts.next().map_or(Ok(key), |_| Err(no()))
    }
}

/// Writes limits in the order of their keys' text, as all objects in JSON are.
///
/// # Errors
/// Those of the serializer.
pub fn in_order_of_text<S: Serializer>(
    limits: &BTreeMap<LimitKey, f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let by_text = limits.iter().map(|(key, fps)| (key.to_string(), fps));
    by_text.collect::<BTreeMap<_, _>>().serialize(serializer)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(text: &str) -> LimitKey {
        text.parse().unwrap()
    }

    #[test]
    fn keys_are_written_as_ever() {
        for (text, words) in [
            ("64", ""),
            ("64/bi", " both ways"),
            ("1518/af_packet", " with af_packet"),
            ("9018/bi/af_xdp", " both ways with af_xdp"),
            ("imix:simple/af_packet", " with af_packet"),
            (
                "imix:1:64,1:128/bi/ipv6/dscp=46/af_packet",
                " both ways ipv6 dscp=46 with af_packet",
            ),
        ] {
            assert_eq!(key(text).to_string(), text);
            assert_eq!(key(text).beside_size(), words);
        }
        let bi = key("128/bi/pktgen");
        assert_eq!(bi.frame_size.bytes(), 128);
        assert_eq!(
            (bi.direction, bi.engine),
            (Direction::Bi, Some(EngineName::Pktgen))
        );
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "bi",
            "63",
            "64/",
            "64/uni",
            "64/xdp/bi",
            "64/bi/bi",
            "64/xdp/x",
            "64/no",
            "imix:x",
            "64/dscp=x",
        ] {
            let error = text.parse::<LimitKey>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("{text:?} is not a key")),
                "{error}"
            );
        }
    }

    #[test]
    fn smaller_frames_come_first_and_text_in_its_own_order() {
        #[derive(Serialize)]
        struct Limits(#[serde(serialize_with = "in_order_of_text")] BTreeMap<LimitKey, f64>);
        let texts = ["64", "64/af_packet", "64/bi", "128", "1024/bi"];
        let limits: BTreeMap<_, _> = texts.iter().map(|text| (key(text), 1.0)).collect();
        let keys: Vec<String> = limits.keys().map(LimitKey::to_string).collect();
        assert_eq!(keys, texts);
        assert_eq!(
            serde_json::to_string(&Limits(limits)).unwrap(),
            r#"{"1024/bi":1.0,"128":1.0,"64":1.0,"64/af_packet":1.0,"64/bi":1.0}"#
        );
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            size in FrameSize::MIN..=FrameSize::MAX, bi: bool,
            engine in prop::option::of(prop::sample::select(&EngineName::ALL[..])),
        ) {
            let key = LimitKey {
                frame_size: FrameSize::new(size).unwrap(),
                direction: if bi { Direction::Bi } else { Direction::Uni },
                engine,
                shape: Shape::default(),
            };
            prop_assert_eq!(key.to_string().parse(), Ok(key));
            let json = serde_json::to_string(&key).unwrap();
            prop_assert_eq!(serde_json::from_str::<LimitKey>(&json).unwrap(), key);
        }
    }

    #[test]
    fn names_of_engines_are_what_asks_for_them() {
        let named = EngineName::ALL.map(EngineChoice::Only);
        for choice in named.into_iter().chain([EngineChoice::Auto]) {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        assert_eq!(
            "dpdk".parse::<EngineChoice>().unwrap_err().to_string(),
            "unknown engine \"dpdk\": write auto, xdp, af_xdp, pktgen or af_packet"
        );
    }
}
