//! Whether a sender is paced or sends in bursts: the gaps between what it sends.
//!
//! A *unit* is what reaches the place of the capture at once: a frame, or with segmentation offload
//! (TSO, GSO) a packet that becomes several frames on the wire, which then follow each other at the
//! link's rate.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A gap shorter than this share of the even one is none: the unit follows at once.
const AT_ONCE: f64 = 0.25;
/// Up to this share of the bytes may come in bursts when a sender counts as paced.
const FEW: f64 = 0.1;
/// Fewer units say nothing.
const ENOUGH: usize = 100;

/// Frames captured at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// When, on a clock that only goes forward.
    pub at: Duration,
    /// Bytes on the wire of all its frames, with FCS, preamble and gap.
    pub wire_bytes: u32,
    /// Frames it becomes, at least 1.
    pub frames: u32,
}

/// How a sender sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// Evenly: hardly a byte comes in a burst.
    Paced,
    /// Several frames at once, then nothing.
    Bursts,
    /// Too little was sent to say.
    Unknown,
}

/// Gaps and bursts of a capture. Absent values could not be computed: too little was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Pacing {
    /// Units captured.
    pub units: u64,
    /// Frames they become on the wire.
    pub frames: u64,
    /// Bytes on the wire, with FCS, preamble and gap.
    pub wire_bytes: u64,
    /// Time from the first unit to the last, in seconds.
    pub seconds: f64,
    /// Rate on the wire between the first unit and the last, in bits per second.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_bps: Option<f64>,
    /// Time from one unit to the next.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gap_us: Option<Gaps>,
    /// Frames in a unit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub frames_per_unit: Option<Sizes>,
    /// Units that follow each other at once.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bursts: Option<Bursts>,
    /// Verdict.
    pub pace: Pace,
}

/// What `nicety port pacing` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "PortPacing")]
pub struct PacingReport {
    /// Schema version.
    pub schema: u32,
    /// Interface asked about.
    pub interface: String,
    /// Interface that was looked at: that of the limiter where there is one.
    pub at: String,
    /// `sent` or `received`, as seen from there.
    pub way: String,
    /// Packets that there was no room for; gaps around them look longer than they are.
    pub lost: u64,
    /// Gaps and bursts.
    pub pacing: Pacing,
}

/// Times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Gaps {
    /// Mean: the gap if units of the same size came evenly.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Longest.
    pub max: f64,
}

/// Mean and largest of a size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Sizes {
    /// Mean.
    pub mean: f64,
    /// Largest.
    pub max: u64,
}

/// Bursts: units closer to the one before than a quarter of the even gap, and frames of one unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Bursts {
    /// Bursts of more than one frame.
    pub count: u64,
    /// Frames in them.
    pub frames: Sizes,
    /// Bytes on the wire in the longest.
    pub max_bytes: u64,
    /// Share of all bytes that came in them.
    pub bytes_ratio: f64,
}

#[derive(Default)]
struct Burst {
    frames: u64,
    bytes: u64,
}

#[derive(Default)]
struct BurstTotals {
    count: u64,
    frames: u64,
    bytes: u64,
    most_frames: u64,
    most_bytes: u64,
}

impl BurstTotals {
    fn take(&mut self, burst: &Burst) {
        if burst.frames > 1 {
            self.count += 1;
            self.frames += burst.frames;
            self.bytes += burst.bytes;
            self.most_frames = self.most_frames.max(burst.frames);
            self.most_bytes = self.most_bytes.max(burst.bytes);
        }
    }
}

/// Evaluates a capture; `units` are in the order of their times.
pub fn pacing(units: &[Unit]) -> Pacing {
    let frames: u64 = units.iter().map(|unit| u64::from(unit.frames)).sum();
    let wire_bytes: u64 = units.iter().map(|unit| u64::from(unit.wire_bytes)).sum();
    let ends = units.first().zip(units.last());
    let time = ends.map_or(Duration::ZERO, |(a, b)| b.at.saturating_sub(a.at));
    let nothing = Pacing {
        units: units.len() as u64,
        frames,
        wire_bytes,
        seconds: time.as_secs_f64(),
        rate_bps: None,
        gap_us: None,
        frames_per_unit: None,
        bursts: None,
        pace: Pace::Unknown,
    };
    if units.len() < ENOUGH || time.is_zero() {
        return nothing;
    }
    // What the last unit holds takes its time after the end.
    let last = ends.map_or(0, |(_, last)| u64::from(last.wire_bytes));
    let bytes_per_second = (wire_bytes - last) as f64 / time.as_secs_f64();
    let gap = |pair: &[Unit]| pair[1].at.saturating_sub(pair[0].at).as_secs_f64();
    let mut gaps: Vec<f64> = units.windows(2).map(gap).collect();
    let mut totals = BurstTotals::default();
    let mut burst = Burst::default();
    for (at, unit) in units.iter().enumerate() {
        let before = at
            .checked_sub(1)
            .and_then(|at| units.get(at).zip(gaps.get(at)));
        let follows = before.is_some_and(|(before, gap)| {
            *gap < AT_ONCE * f64::from(before.wire_bytes) / bytes_per_second
        });
        if !follows {
            totals.take(&burst);
            burst = Burst::default();
        }
        burst.frames += u64::from(unit.frames);
        burst.bytes += u64::from(unit.wire_bytes);
    }
    totals.take(&burst);
    gaps.sort_by(f64::total_cmp);
    let bytes_ratio = totals.bytes as f64 / wire_bytes as f64;
    let at = |share: f64| gaps[((gaps.len() - 1) as f64 * share).round() as usize] * 1e6;
    Pacing {
        rate_bps: Some(bytes_per_second * 8.0),
        gap_us: Some(Gaps {
            mean: time.as_secs_f64() * 1e6 / gaps.len() as f64,
            p50: at(0.5),
            p99: at(0.99),
            max: at(1.0),
        }),
        frames_per_unit: Some(Sizes {
            mean: frames as f64 / units.len() as f64,
            max: units
                .iter()
                .map(|unit| u64::from(unit.frames))
                .max()
                .unwrap_or(0),
        }),
        bursts: Some(Bursts {
            count: totals.count,
            frames: Sizes {
                mean: match totals.count {
                    0 => 0.0,
                    count => totals.frames as f64 / count as f64,
                },
                max: totals.most_frames,
            },
            max_bytes: totals.most_bytes,
            bytes_ratio,
        }),
        pace: if bytes_ratio <= FEW {
            Pace::Paced
        } else {
            Pace::Bursts
        },
        ..nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(times_us: impl Iterator<Item = u64>, frames: u32) -> Vec<Unit> {
        let unit = |us| Unit {
            at: Duration::from_micros(us),
            wire_bytes: 1538 * frames,
            frames,
        };
        times_us.map(unit).collect()
    }

    #[test]
    fn even_gaps_are_paced() {
        // 1538 bytes every 24.608 µs would be 500 Mbit/s.
        let seen = pacing(&units((0..1000).map(|n| n * 25), 1));
        assert_eq!(seen.pace, Pace::Paced);
        let rate = seen.rate_bps.unwrap();
        assert!((rate - 492.16e6).abs() < 1e3, "{rate}");
        let gap = seen.gap_us.unwrap();
        assert_eq!((gap.p50, gap.p99, gap.max), (25.0, 25.0, 25.0));
        assert!((gap.mean - 25.0).abs() < 1e-9);
        assert_eq!(seen.bursts.unwrap().count, 0);
    }

    #[test]
    fn ten_at_once_and_then_nothing_are_bursts() {
        let seen = pacing(&units((0..1000).map(|n| n / 10 * 250 + n % 10), 1));
        assert_eq!(seen.pace, Pace::Bursts);
        let bursts = seen.bursts.unwrap();
        assert_eq!((bursts.count, bursts.frames.max), (100, 10));
        assert_eq!((bursts.frames.mean, bursts.bytes_ratio), (10.0, 1.0));
        assert_eq!(bursts.max_bytes, 15_380);
        assert_eq!(seen.gap_us.unwrap().max, 241.0);
    }

    #[test]
    fn frames_of_one_unit_are_a_burst() {
        let seen = pacing(&units((0..200).map(|n| n * 1000), 44));
        assert_eq!(seen.pace, Pace::Bursts);
        assert_eq!(seen.frames, 8_800);
        let size = seen.frames_per_unit.unwrap();
        assert_eq!((size.mean, size.max), (44.0, 44));
        assert_eq!(seen.bursts.unwrap().count, 200);
    }

    #[test]
    fn little_says_nothing() {
        for of in [
            &[][..],
            &units(0..99, 1),
            &units(std::iter::repeat_n(5, 500), 1),
        ] {
            let seen = pacing(of);
            assert_eq!((seen.pace, seen.gap_us), (Pace::Unknown, None));
            assert_eq!(seen.units, of.len() as u64);
        }
    }
}
