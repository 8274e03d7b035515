//! Mixes of frame sizes: an IMIX as RFC 6985 wants it told, by the exact sequence that repeats.

use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::frame::{FrameSize, L1_OVERHEAD_BYTES, RFC2544_SIZES};
use crate::keywords::nearest;
use crate::units::Fps;

/// Most frame sizes of a mix.
pub const MAX_SIZES: usize = 8;
/// Longest sequence of frames before a mix repeats.
pub const MAX_PERIOD: u32 = 10_000;

/// Mixes with a name, as published. Shares are of frames, not of bytes.
///
/// `simple` has the IP packets of 40, 576 and 1500 bytes of the mix that everybody calls so, in
/// Ethernet frames; testers have it as their default. `tolly` and `ipsec` are those of the Tolly
/// Group and of Ixia, as OpenConfig's Ondatra and the Open Traffic Generator's models have them.
const NAMED: [(&str, &[(u32, u16)]); 3] = [
    ("simple", &[(7, 64), (4, 594), (1, 1518)]),
    ("tolly", &[(55, 64), (5, 78), (17, 576), (23, 1518)]),
    ("ipsec", &[(5867, 90), (200, 92), (2366, 594), (1567, 1418)]),
];

/// Names of the mixes that have one.
pub const NAMES: [&str; 3] = ["simple", "tolly", "ipsec"];

/// One frame size of a mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SizeShare {
    /// The size.
    pub size: FrameSize,
    /// Frames of it in every [period](Mix::period); at least one.
    pub frames: u32,
}

/// Two to eight frame sizes with whole weights, smallest first. Equal mixes are equal however they
/// were written: `14:64,2:1518` is `7:64,1:1518`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay, DeserializeFromStr,
)]
pub struct Mix {
    /// The sizes; places behind the last one have none.
    shares: [Option<SizeShare>; MAX_SIZES],
}

/// Why there is no such mix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MixError {
    /// Neither a name nor weights and sizes.
    #[error(
        "{text:?} is not a mix of frame sizes; write {}{}",
        words(),
        hint(text)
    )]
    Unknown {
        /// What was written.
        text: String,
    },
    /// A part that is not a weight and a size.
    #[error(
        "{part:?} in {text:?} is not a weight and frame size; write both as whole numbers, as in 7:64"
    )]
    Part {
        /// The part.
        part: String,
        /// The whole.
        text: String,
    },
    /// A weight that makes no frame.
    #[error(
        "{part:?} has the weight 0, so the mix has no such frame; remove it, or write 1 or more"
    )]
    NoWeight {
        /// The part.
        part: String,
    },
    /// A size that no frame has.
    #[error("{part:?}: frames have {min} to {max} bytes with FCS; write such a size", min = FrameSize::MIN, max = FrameSize::MAX)]
    Size {
        /// The part.
        part: String,
    },
    /// A size twice.
    #[error("{size} bytes are in the mix twice; add their weights up")]
    Twice {
        /// The size.
        size: FrameSize,
    },
    /// One size only, or more than there is room for.
    #[error(
        "a mix has 2 to {MAX_SIZES} frame sizes, not {sizes}; a single one goes into frame_sizes"
    )]
    Count {
        /// How many.
        sizes: usize,
    },
    /// Weights whose sequence is too long to repeat.
    #[error("the mix repeats after {period} frames, more than {MAX_PERIOD}; write smaller weights")]
    Period {
        /// Frames.
        period: u64,
    },
}

/// What may be written.
fn words() -> String {
    format!(
        "{} or weights and sizes, as in 7:64,4:594,1:1518",
        NAMES.join(", ")
    )
}

/// The name that was probably meant.
fn hint(text: &str) -> String {
    let near = nearest(&text.to_lowercase(), NAMES.into_iter());
    near.map(|near| format!(" (did you mean {near}?)"))
        .unwrap_or_default()
}

impl Mix {
    /// From weights and sizes.
    ///
    /// # Errors
    /// [`MixError`] where that is no mix.
    pub fn new(shares: &[(u32, FrameSize)]) -> Result<Self, MixError> {
        if !(2..=MAX_SIZES).contains(&shares.len()) {
            return Err(MixError::Count {
                sizes: shares.len(),
            });
        }
        let mut sorted = shares.to_vec();
        sorted.sort_by_key(|(_, size)| *size);
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0].1 == pair[1].1) {
            return Err(MixError::Twice { size: pair[0].1 });
        }
        if let Some((_, size)) = sorted.iter().find(|(weight, _)| *weight == 0) {
            return Err(MixError::NoWeight {
                part: format!("0:{size}"),
            });
        }
        let divisor = sorted
            .iter()
            .fold(0, |divisor, (weight, _)| gcd(divisor, *weight))
            .max(1);
        let period: u64 = sorted
            .iter()
            .map(|(weight, _)| u64::from(weight / divisor))
            .sum();
        if period > u64::from(MAX_PERIOD) {
            return Err(MixError::Period { period });
        }
        let mut mix = [None; MAX_SIZES];
        for (place, (weight, size)) in mix.iter_mut().zip(sorted) {
            let frames = weight / divisor;
            *place = Some(SizeShare { size, frames });
        }
        Ok(Self { shares: mix })
    }

    /// The frame sizes, smallest first.
    pub fn shares(&self) -> impl Iterator<Item = SizeShare> + '_ {
        self.shares.iter().copied().flatten()
    }

    /// Frames until the sequence repeats.
    pub fn period(&self) -> u32 {
        self.shares().map(|share| share.frames).sum()
    }

    /// The smallest frame.
    pub fn smallest(&self) -> FrameSize {
        let sizes = self.shares().map(|share| share.size);
        sizes.min().unwrap_or(FrameSize::SMALLEST)
    }

    /// The largest frame.
    pub fn largest(&self) -> FrameSize {
        let sizes = self.shares().map(|share| share.size);
        sizes.max().unwrap_or(FrameSize::SMALLEST)
    }

    /// The sequence of one period: places among [`Self::shares`]. Sizes take turns as evenly as their
    /// shares allow (smooth weighted round robin), so no size comes in a burst.
    pub fn sequence(&self) -> Vec<u8> {
        let shares: Vec<i64> = self.shares().map(|share| i64::from(share.frames)).collect();
        let period = i64::from(self.period());
        let mut credit = vec![0_i64; shares.len()];
        (0..period)
            .map(|_| {
                for (credit, share) in credit.iter_mut().zip(&shares) {
                    *credit += share;
                }
                // The first of the greatest.
                let places = (0..credit.len()).rev();
                let chosen = places.max_by_key(|place| credit[*place]).unwrap_or(0);
                credit[chosen] -= period;
                chosen as u8
            })
            .collect()
    }

    /// How many of the first `sent` frames have each size, in the order of [`Self::shares`].
    pub fn split(&self, sent: u64) -> Vec<u64> {
        let period = u64::from(self.period().max(1));
        let whole = sent / period;
        let mut counts: Vec<u64> = self
            .shares()
            .map(|share| whole * u64::from(share.frames))
            .collect();
        for place in self.sequence().into_iter().take((sent % period) as usize) {
            if let Some(count) = counts.get_mut(usize::from(place)) {
                *count += 1;
            }
        }
        counts
    }

    /// The sequence as RFC 6985 §4 writes it: `a` to `i` for the sizes that it has letters for, `A` and
    /// further letters for others, whose sizes stand in front: `A=594 aAaaAaaAaaAg`. `None` where it
    /// is too long to read.
    pub fn genome(&self) -> Option<String> {
        const READABLE: u32 = 100;
        if self.period() > READABLE {
            return None;
        }
        let mut own = b'A';
        let mut told = String::new();
        let letters: Vec<char> = self
            .shares()
            .map(|share| {
                let known = LETTERS.iter().find(|(size, _)| *size == share.size.bytes());
                known.map(|(_, letter)| *letter).unwrap_or_else(|| {
                    let letter = char::from(own);
                    own += 1;
                    told.push_str(&format!("{letter}={} ", share.size));
                    letter
                })
            })
            .collect();
        let sequence = self.sequence().into_iter();
        told.extend(sequence.filter_map(|place| letters.get(usize::from(place))));
        Some(told)
    }

    /// Its name, if it has one.
    pub fn name(&self) -> Option<&'static str> {
        let known = NAMED
            .iter()
            .find(|(_, shares)| named(shares).as_ref() == Some(self));
        known.map(|(name, _)| *name)
    }

    /// Its name, else weights and sizes: what a cell is called by.
    pub fn called(&self) -> String {
        self.name().map_or_else(|| self.to_string(), str::to_owned)
    }

    /// Mean of the frames' bytes with FCS.
    pub fn mean_bytes(&self) -> f64 {
        self.mean(|size| f64::from(size.bytes()))
    }

    /// Mean bits of a frame on the wire, preamble and gap included.
    pub fn l1_bits(&self) -> f64 {
        (self.mean_bytes() + f64::from(L1_OVERHEAD_BYTES)) * 8.0
    }

    /// Rate at L1 in Mbit/s.
    pub fn l1_mbps(&self, rate: Fps) -> f64 {
        rate.0 * self.l1_bits() / 1e6
    }

    /// Rate at L2 in Mbit/s: frame bytes with FCS only.
    pub fn l2_mbps(&self, rate: Fps) -> f64 {
        rate.0 * self.mean_bytes() * 8.0 / 1e6
    }

    /// Highest rate of a link of `mbps` Mbit/s, in frames of all sizes.
    pub fn line_rate(&self, mbps: f64) -> Fps {
        Fps(mbps * 1e6 / self.l1_bits())
    }

    fn mean(&self, of: impl Fn(FrameSize) -> f64) -> f64 {
        let sum: f64 = self
            .shares()
            .map(|share| f64::from(share.frames) * of(share.size))
            .sum();
        sum / f64::from(self.period().max(1))
    }
}

/// Letters of RFC 6985 §4; its `j` and `z` are no sizes of frames here.
const LETTERS: [(u16, char); 9] = [
    (RFC2544_SIZES[0], 'a'),
    (RFC2544_SIZES[1], 'b'),
    (RFC2544_SIZES[2], 'c'),
    (RFC2544_SIZES[3], 'd'),
    (RFC2544_SIZES[4], 'e'),
    (RFC2544_SIZES[5], 'f'),
    (RFC2544_SIZES[6], 'g'),
    (2112, 'h'),
    (9000, 'i'),
];

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn named(shares: &[(u32, u16)]) -> Option<Mix> {
    let sized = shares
        .iter()
        .map(|(weight, size)| Some((*weight, FrameSize::new(*size).ok()?)));
    Mix::new(&sized.collect::<Option<Vec<_>>>()?).ok()
}

impl FromStr for Mix {
    type Err = MixError;

    fn from_str(text: &str) -> Result<Self, MixError> {
        if let Some((_, shares)) = NAMED.iter().find(|(name, _)| *name == text.trim()) {
            return named(shares).ok_or_else(|| MixError::Unknown {
                text: text.to_owned(),
            });
        }
        if !text.contains(':') {
            return Err(MixError::Unknown {
                text: text.to_owned(),
            });
        }
        let shares: Result<Vec<_>, _> = text
            .split(',')
            .map(|part| share(part.trim(), text))
            .collect();
        Self::new(&shares?)
    }
}

fn share(part: &str, text: &str) -> Result<(u32, FrameSize), MixError> {
    let wrong = || MixError::Part {
        part: part.to_owned(),
        text: text.to_owned(),
    };
    let (weight, size) = part.split_once(':').ok_or_else(wrong)?;
    let weight: u32 = weight.trim().parse().map_err(|_| wrong())?;
    let size: u32 = size.trim().parse().map_err(|_| wrong())?;
    if weight == 0 {
        return Err(MixError::NoWeight {
            part: part.to_owned(),
        });
    }
    let size = u16::try_from(size)
        .ok()
        .and_then(|size| FrameSize::new(size).ok());
    let size = size.ok_or_else(|| MixError::Size {
        part: part.to_owned(),
    })?;
    Ok((weight, size))
}

/// Weights and sizes, as they are read.
impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, share) in self.shares().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            write!(f, "{comma}{}:{}", share.frames, share.size)?;
        }
        Ok(())
    }
}

crate::keywords::text_schema! {
    Mix "Weights and frame sizes with FCS, `7:64,4:594,1:1518`, or a name: simple, tolly, ipsec.",
}

#[cfg(test)]
mod tests;
