//! What another program has set at an interface, byte for byte: as it is kept until it is given back.

use std::fmt::{self, Write as _};
use std::str::FromStr;

/// Stands between the words for people and the bytes.
const RAW: &str = " raw ";

/// One object, as the kernel has told of it: the message behind the netlink header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// A queueing discipline.
    Qdisc(Vec<u8>),
    /// A class of one.
    Class(Vec<u8>),
    /// A filter with its actions.
    Filter(Vec<u8>),
}

impl Recorded {
    /// The message.
    pub fn body(&self) -> &[u8] {
        match self {
            Self::Qdisc(body) | Self::Class(body) | Self::Filter(body) => body,
        }
    }

    /// Whether it is a discipline at the root of an interface (struct tcmsg).
    pub fn is_root(&self) -> bool {
        const PARENT: std::ops::Range<usize> = 12..16;
        let root = super::Handle::ROOT.0.to_ne_bytes();
        matches!(self, Self::Qdisc(_)) && self.body().get(PARENT) == Some(&root[..])
    }

    fn letter(&self) -> char {
        match self {
            Self::Qdisc(_) => 'q',
            Self::Class(_) => 'c',
            Self::Filter(_) => 'f',
        }
    }
}

/// A limit of another program that is to be given back. As text it is one line, for a journal: words, and the bytes
/// in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedLimit {
    /// What it is, in words for people: `6mbit of libvirt`.
    pub words: String,
    /// All parts, in the order in which they were made.
    pub parts: Vec<Recorded>,
}

impl RecordedLimit {
    /// The words of a text that may be one.
    pub fn words_of(text: &str) -> &str {
        text.split_once(RAW).map_or(text, |(words, _)| words)
    }

    /// Whether it was a discipline at the root of an interface; else it limits what comes in there.
    pub fn is_at_root(&self) -> bool {
        self.parts.first().is_some_and(Recorded::is_root)
    }

    /// Its filters.
    pub fn filters(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().filter_map(|part| match part {
            Recorded::Filter(body) => Some(&body[..]),
            Recorded::Qdisc(_) | Recorded::Class(_) => None,
        })
    }
}

impl fmt::Display for RecordedLimit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{RAW}", self.words)?;
        for (at, part) in self.parts.iter().enumerate() {
            if at > 0 {
                out.write_char(',')?;
            }
            write!(out, "{}:", part.letter())?;
            for byte in part.body() {
                write!(out, "{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// A text that is no limit of another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no recorded limit of another program")]
pub struct NotRecorded;

impl FromStr for RecordedLimit {
    type Err = NotRecorded;

    fn from_str(text: &str) -> Result<Self, NotRecorded> {
        let (words, parts) = text.split_once(RAW).ok_or(NotRecorded)?;
        let parts: Option<Vec<Recorded>> = parts.split(',').map(part).collect();
        Ok(Self {
            words: words.to_owned(),
            parts: parts.ok_or(NotRecorded)?,
        })
    }
}

fn part(text: &str) -> Option<Recorded> {
    let (letter, hex) = text.split_once(':')?;
    let body = bytes(hex)?;
    match letter {
        "q" => Some(Recorded::Qdisc(body)),
        "c" => Some(Recorded::Class(body)),
        "f" => Some(Recorded::Filter(body)),
        _ => None,
    }
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| u8::try_from(digit(high)? << 4 | digit(low)?).ok();
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
}

/// Why something of another program could not be given back as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoWayBack {
    /// The filters of a discipline are those of other interfaces, too.
    #[error("several interfaces share its filters (ingress_block)")]
    SharedBlock,
    /// An action belongs to several filters, or was made by itself.
    #[error("its action is shared (tc actions)")]
    SharedAction,
    /// A filter of a kind that is not known.
    #[error("its filter is of a kind that nicety cannot make anew")]
    Kind,
    /// A discipline below it of a kind that is not known, or one that has others below itself.
    #[error("a discipline below it is none that nicety can make anew")]
    Below,
    /// The kernel tells something that is not known.
    #[error("the kernel tells attribute {attribute} of its {of}, which nicety cannot make anew")]
    Attribute {
        /// Number of the attribute.
        attribute: u16,
        /// Of what.
        of: &'static str,
    },
    /// The kernel's message is not whole.
    #[error("the kernel's message about it is cut off")]
    Cut,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_as_it_is_written() {
        let limit = RecordedLimit {
            words: "6mbit of Open vSwitch".to_owned(),
            parts: vec![
                Recorded::Qdisc(vec![0, 0xff, 0x1a]),
                Recorded::Class(Vec::new()),
                Recorded::Filter((0..=255).collect()),
            ],
        };
        let text = limit.to_string();
        assert_eq!(text.parse(), Ok(limit.clone()));
        assert_eq!(RecordedLimit::words_of(&text), limit.words);
        assert_eq!(limit.filters().count(), 1);
        assert!(
            text.starts_with("6mbit of Open vSwitch raw q:00ff1a,c:,f:0001"),
            "{text}"
        );
    }

    #[test]
    fn other_words_are_none() {
        for text in [
            "none",
            "5mbit wire",
            "ingress of somebody else",
            "6mbit of tc raw ",
            "6mbit of tc raw x:00",
            "6mbit of tc raw f:0",
            "6mbit of tc raw f:0g",
            "6mbit of tc raw f:00,",
        ] {
            assert_eq!(text.parse::<RecordedLimit>(), Err(NotRecorded), "{text}");
        }
        assert_eq!(RecordedLimit::words_of("5mbit wire"), "5mbit wire");
    }
}
