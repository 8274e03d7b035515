//! What tenants have sent and received over time, as it is kept and billed.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Length of a slot in seconds: transit is billed by samples of five minutes, aligned to the hour in UTC.
pub const SLOT_SECONDS: i64 = 300;

/// What passed one way in a slot, as counters tell it.
///
/// Bytes are those of Ethernet frames without preamble, FCS and gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Traffic {
    /// Bytes that were counted: over all slots no fewer have passed.
    pub bytes: u64,
    /// Frames that were counted.
    pub frames: u64,
    /// Bytes that may have passed besides, while nobody could count.
    pub unseen: u64,
    /// Bytes that passed in this slot at least: the others of `bytes` may belong to a neighbour.
    pub least: u64,
    /// Bytes that passed in this slot at most.
    pub most: u64,
}

/// What a tenant used in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// What it sent.
    pub sent: Traffic,
    /// What it received.
    pub received: Traffic,
    /// For how long a limit held it back, in milliseconds.
    pub limited_ms: u64,
    /// For how long somebody looked, in milliseconds.
    pub watched_ms: u64,
}

/// A slot of a tenant on a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageRow {
    /// The host.
    pub host: String,
    /// The tenant.
    pub tenant: String,
    /// When the slot begins, in seconds since 1970 (UTC); a multiple of [`SLOT_SECONDS`].
    pub start: i64,
    /// What was used.
    pub usage: Usage,
}

/// `nicety police bill --samples --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Samples {
    /// Schema version.
    pub schema: u32,
    /// Where the samples are kept.
    pub store: String,
    /// Begin, RFC 3339 in UTC.
    pub from: String,
    /// End, RFC 3339 in UTC; not part of it.
    pub to: String,
    /// Length of a sample in seconds.
    pub slot_s: i64,
    /// The samples, oldest first.
    pub samples: Vec<UsageRow>,
}

/// `nicety police bill --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bill {
    /// Schema version.
    pub schema: u32,
    /// Where the samples are kept.
    pub store: String,
    /// Begin, RFC 3339 in UTC.
    pub from: String,
    /// End, RFC 3339 in UTC; not part of it.
    pub to: String,
    /// Length of a sample in seconds.
    pub slot_s: i64,
    /// Every tenant, by its name, and its host where hosts are billed apart.
    pub tenants: Vec<TenantBill>,
}

/// What a tenant is billed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TenantBill {
    /// The tenant.
    pub tenant: String,
    /// Hosts that it was on.
    pub hosts: Vec<String>,
    /// What it sent.
    pub sent: Billed,
    /// What it received.
    pub received: Billed,
    /// For how long a limit held it back, in seconds, over all hosts.
    pub limited_s: f64,
    /// Samples that there are.
    pub samples: u64,
    /// Samples that there are not: no daemon looked. They count in no percentile.
    pub missing: u64,
}

/// One direction of a bill.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Billed {
    /// Bytes: no fewer have passed.
    pub bytes: u64,
    /// Bytes that may have passed besides.
    pub unseen_bytes: u64,
    /// Frames.
    pub frames: u64,
    /// 95th percentile of the samples in bits per second: the highest one when the top 5 % are left out.
    pub p95_bps: f64,
    /// The 95th percentile if every sample were as low as it can have been.
    pub p95_least_bps: f64,
    /// The same if every sample were as high as it can have been.
    pub p95_most_bps: f64,
    /// The highest sample, in bits per second.
    pub max_bps: f64,
}

impl Traffic {
    /// Adds what was counted elsewhere, or later, to the same slot.
    pub fn add(&mut self, more: &Self) {
        let parts = [
            (&mut self.bytes, more.bytes),
            (&mut self.frames, more.frames),
            (&mut self.unseen, more.unseen),
            (&mut self.least, more.least),
            (&mut self.most, more.most),
        ];
        for (sum, part) in parts {
            *sum = sum.saturating_add(part);
        }
    }
}

impl Usage {
    /// Adds what was used elsewhere, or later, in the same slot.
    pub fn add(&mut self, more: &Self) {
        self.sent.add(&more.sent);
        self.received.add(&more.received);
        self.limited_ms = self.limited_ms.saturating_add(more.limited_ms);
        self.watched_ms = self.watched_ms.saturating_add(more.watched_ms);
    }
}

/// A month of the calendar, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Month {
    year: i64,
    /// 1 to 12.
    month: i64,
}

/// Text that is no month.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a month; write year and month, as in 2026-11")]
pub struct NoMonth(String);

impl Month {
    /// The month of a time in seconds since 1970.
    pub fn at(seconds: i64) -> Self {
        // The first guess is at most one month early: no month has more than 31 days.
        let seconds = seconds.clamp(0, Self::LAST.start());
        let months = seconds.div_euclid(86_400) / 31;
        let mut month = Self {
            year: 1970 + months / 12,
            month: months % 12 + 1,
        };
        while month.next().start() <= seconds {
            month = month.next();
        }
        month
    }

    /// The last one that has a name: a clock may be set beyond it.
    const LAST: Self = Self {
        year: 9999,
        month: 12,
    };

    /// From its first second to the first of the next month, in seconds since 1970.
    pub fn seconds(self) -> Range<i64> {
        self.start()..self.next().start()
    }

    fn next(self) -> Self {
        match self.month {
            12 => Self {
                year: self.year + 1,
                month: 1,
            },
            month => Self {
                year: self.year,
                month: month + 1,
            },
        }
    }

    fn start(self) -> i64 {
        let leap = |year: i64| year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
        // Days before each month of a year that is none with a leap day.
        let before = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
        let index = usize::try_from(self.month - 1).unwrap_or(0).min(11);
        let is_leap = leap(self.year) > leap(self.year - 1);
        let leap_days = leap(self.year - 1) - leap(1969) + i64::from(is_leap && self.month > 2);
        ((self.year - 1970) * 365 + leap_days + before[index]) * 86_400
    }
}

impl FromStr for Month {
    type Err = NoMonth;

    fn from_str(text: &str) -> Result<Self, NoMonth> {
        let read = || {
            let (year, month) = text.split_once('-')?;
            let is_plain = year.len() == 4
                && month.len() == 2
                && text.bytes().all(|b| b == b'-' || b.is_ascii_digit());
            let (year, month) = (year.parse().ok()?, month.parse().ok()?);
            (is_plain && year >= 1970 && (1..=12).contains(&month)).then_some(Self { year, month })
        };
        read().ok_or_else(|| NoMonth(text.chars().take(20).collect()))
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_begin_and_end_as_the_calendar_says() {
        for (text, begin, days) in [
            ("1970-01", 0, 31),
            ("2000-02", 949_363_200, 29),
            ("2026-11", 1_793_491_200, 30),
            ("2026-12", 1_796_083_200, 31),
            ("2100-02", 4_105_123_200, 28),
        ] {
            let month: Month = text.parse().unwrap();
            assert_eq!(month.seconds(), begin..begin + days * 86_400, "{text}");
            assert_eq!(month.to_string(), text);
            for second in [begin, begin + days * 86_400 - 1] {
                assert_eq!(Month::at(second), month, "{text}");
            }
        }
    }

    #[test]
    fn a_clock_at_its_ends_is_in_the_first_or_the_last_month() {
        for (second, text) in [
            (i64::MIN, "1970-01"),
            (-1, "1970-01"),
            (0, "1970-01"),
            (253_402_300_799, "9999-12"),
            (253_402_300_800, "9999-12"),
            (i64::MAX, "9999-12"),
        ] {
            assert_eq!(Month::at(second).to_string(), text, "{second}");
        }
        let last: Month = "9999-12".parse().unwrap();
        assert_eq!(last.seconds().end, 253_402_300_800);
    }

    #[test]
    fn other_text_is_no_month() {
        for text in [
            "", "2026", "2026-13", "2026-00", "26-11", "2026-1", "1969-12", "2026-+1", "November",
        ] {
            text.parse::<Month>().unwrap_err();
        }
    }
}
