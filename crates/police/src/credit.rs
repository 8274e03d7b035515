//! Burst credits, as clouds sell them: a tenant may send more than its maximum for a while, and saves for that while it
//! sends less.
//!
//! The account of a tenant is in bits. Of a time `t` in which `b` bits were sent, with a maximum of `M`:
//!
//! - above the maximum (`b > M·t`) it pays `b − M·t`;
//! - below, it saves `M·t − b`, what it has not used, but at most `r·M·t`, and never more than `(f − 1)·M·d` in all.
//!
//! So the credit never grows by more than `M·t − b`, and whatever a tenant does, it has never sent more than
//! `credit + M·t` in any time `t` of whole periods. A time that begins within a period may have had the rest of it before:
//! there it is one period more.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use nicety_model::plan::{format_duration, parse_duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A raise of less than this share of what a burst adds is not worth a write.
const WORTH: f64 = 0.1;
/// From this share of the whole credit on a tenant has rested: that its credit is spent is news then.
const RESTED: f64 = 0.5;

/// `2s at 2x, refilled at 0.1x`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Credit {
    /// How long a full account lasts when all of it is sent at once: `d`.
    pub lasts: Duration,
    /// How many times its maximum the tenant may send meanwhile, above 1: `f`.
    pub factor: f64,
    /// How many times its maximum it saves at most while it sends less, above 0 and at most 1: `r`.
    pub refill: f64,
}

/// Text that is no credit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreditError {
    /// It has another form.
    Form,
    /// It lasts shorter or longer than 100 ms to a day.
    Lasts,
    /// The factor is not above 1, or above 100.
    Factor,
    /// What is saved is not above 0, or above 1.
    Refill,
}

impl FromStr for Credit {
    type Err = CreditError;

    fn from_str(text: &str) -> Result<Self, CreditError> {
        let parts = text.split_once(" at ").and_then(|(lasts, rest)| {
            let (factor, refill) = rest.split_once(", refilled at ")?;
            Some((lasts, times(factor)?, times(refill)?))
        });
        let (lasts, factor, refill) = parts.ok_or(CreditError::Form)?;
        // People write 2 s as well as 2s.
        let lasts = lasts.split_ascii_whitespace().collect::<String>();
        let lasts = parse_duration(&lasts).map_err(|_| CreditError::Form)?;
        if !(Duration::from_millis(100)..=Duration::from_secs(86_400)).contains(&lasts) {
            return Err(CreditError::Lasts);
        }
        // A factor nearer to 1 than that adds less than a limit's hysteresis.
        if !(1.01..=100.0).contains(&factor) {
            return Err(CreditError::Factor);
        }
        if !(0.001..=1.0).contains(&refill) {
            return Err(CreditError::Refill);
        }
        Ok(Self {
            lasts,
            factor,
            refill,
        })
    }
}

/// `2x`.
fn times(text: &str) -> Option<f64> {
    text.trim().strip_suffix('x')?.parse().ok()
}

impl fmt::Display for Credit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lasts = format_duration(self.lasts);
        write!(
            f,
            "{lasts} at {}x, refilled at {}x",
            self.factor, self.refill
        )
    }
}

/// The account of a tenant at the end of a period.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BurstState {
    /// What it may send above its hard limit, in bits; below 0 it owes that.
    pub credit_bits: f64,
    /// The most that it saves, in bits.
    pub full_bits: f64,
    /// What it may send while credit lasts, in bits per second.
    pub most_bps: f64,
    /// What it may send in the next period, in bits per second, as far as credit goes.
    pub ceiling_bps: f64,
}

impl BurstState {
    /// For how many seconds the credit lasts at the full rate of a burst, above a hard limit.
    pub fn lasts_s(&self, hard_bps: f64) -> f64 {
        let above = self.most_bps - hard_bps;
        if above > 0.0 {
            self.credit_bits.max(0.0) / above
        } else {
            0.0
        }
    }
}

/// What a tenant has saved.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    terms: Credit,
    max: f64,
    /// Bits; below 0 what it owes.
    credit: f64,
    /// Until when it is kept: a clock that goes back changes nothing until it is there again.
    at: Option<Duration>,
    rested: bool,
}

impl Account {
    /// An empty one, under a maximum in bits per second.
    pub fn new(terms: Credit, max: f64) -> Self {
        Self {
            terms,
            max,
            credit: 0.0,
            at: None,
            rested: false,
        }
    }

    /// Goes on with what was saved under other terms.
    pub fn inherit(&mut self, before: &Self) {
        let full = self.full();
        self.credit = before.credit.clamp(-full, full);
        self.at = before.at;
        self.rested = before.rested;
    }

    /// The maximum without credit, in bits per second.
    pub fn max(&self) -> f64 {
        self.max
    }

    fn above(&self) -> f64 {
        (self.terms.factor - 1.0) * self.max
    }

    /// The most that it saves, in bits.
    pub fn full(&self) -> f64 {
        self.above() * self.terms.lasts.as_secs_f64()
    }

    /// What is saved, in bits; below 0 what it owes.
    pub fn credit(&self) -> f64 {
        self.credit
    }

    /// So many bits were sent since the last time, until `at`. The first time is only noted. More than the credit can
    /// only have been sent in a period that was longer than planned; the tenant owes that, but never more than a full
    /// account: it did not choose the time.
    pub fn sent(&mut self, at: Duration, bits: f64) {
        let Some(last) = self.at else {
            self.at = Some(at);
            return;
        };
        let time = at.saturating_sub(last).as_secs_f64();
        self.at = Some(last.max(at));
        let free = self.max * time - bits.max(0.0);
        let saved = free.min(self.terms.refill * self.max * time);
        let full = self.full();
        self.credit = (self.credit + saved).clamp(-full, full);
        self.rested |= self.credit >= RESTED * full;
    }

    /// What it may send in a period of this length, in bits per second: as much above the maximum as the credit lasts
    /// for the whole of it.
    pub fn ceiling(&self, period: Duration) -> f64 {
        let lasting = self.credit / period.as_secs_f64().max(f64::MIN_POSITIVE);
        let raise = self.above().min(lasting);
        if raise >= WORTH * self.above() {
            self.max + raise
        } else {
            self.max
        }
    }

    /// Whether the credit of one that had rested is spent now; told once.
    pub fn is_news(&mut self, period: Duration) -> bool {
        let spent = self.rested && self.ceiling(period) <= self.max;
        self.rested &= !spent;
        spent
    }

    /// As it is told.
    pub fn state(&self, period: Duration) -> BurstState {
        BurstState {
            credit_bits: self.credit,
            full_bits: self.full(),
            most_bps: self.max + self.above(),
            ceiling_bps: self.ceiling(period),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credit_is_read_and_told() {
        let credit: Credit = "2 s at 2x, refilled at 0.1x".parse().unwrap();
        assert_eq!(credit.to_string(), "2s at 2x, refilled at 0.1x");
        assert_eq!(credit.to_string().parse(), Ok(credit));
        for (text, wrong) in [
            ("2s", CreditError::Form),
            ("2s at 2x", CreditError::Form),
            ("2s at 2, refilled at 0.1x", CreditError::Form),
            ("two at 2x, refilled at 0.1x", CreditError::Form),
            ("2s at nanx, refilled at 0.1x", CreditError::Factor),
            ("2s at 1x, refilled at 0.1x", CreditError::Factor),
            ("2s at infx, refilled at 0.1x", CreditError::Factor),
            ("2s at 2x, refilled at 0x", CreditError::Refill),
            ("2s at 2x, refilled at 2x", CreditError::Refill),
            ("1ms at 2x, refilled at 0.1x", CreditError::Lasts),
            ("30h at 2x, refilled at 0.1x", CreditError::Lasts),
        ] {
            assert_eq!(text.parse::<Credit>(), Err(wrong), "{text}");
        }
    }

    /// The numbers of the guide: 100 Mbit/s, 2 s at 2x, refilled at 0.1x.
    #[test]
    fn the_arithmetic_of_the_guide() {
        const MBIT: f64 = 1e6;
        let second = Duration::from_secs(1);
        let terms = "2s at 2x, refilled at 0.1x".parse().unwrap();
        let mut account = Account::new(terms, 100.0 * MBIT);
        let mut now = Duration::ZERO;
        account.sent(now, 0.0);
        assert_eq!(account.ceiling(second), 100.0 * MBIT);
        let mut during = |account: &mut Account, mbit: f64, seconds: u32| {
            for _ in 0..seconds {
                now += second;
                account.sent(now, mbit * MBIT);
            }
        };
        // Idle for 20 s, it has all of 200 Mbit; not more after another 20.
        during(&mut account, 0.0, 19);
        assert!((account.credit() - 190.0 * MBIT).abs() < 1.0);
        during(&mut account, 0.0, 21);
        assert_eq!(account.credit(), 200.0 * MBIT);
        assert_eq!(account.ceiling(second), 200.0 * MBIT);
        // 2 s at 200 Mbit/s, then no more than 100.
        during(&mut account, 200.0, 1);
        assert!(!account.is_news(second));
        assert_eq!(account.ceiling(second), 200.0 * MBIT);
        during(&mut account, 200.0, 1);
        assert_eq!(account.credit(), 0.0);
        assert_eq!(account.ceiling(second), 100.0 * MBIT);
        assert!(account.is_news(second));
        assert!(!account.is_news(second));
        // At its maximum it saves nothing, at 95 Mbit/s what it does not use, at 50 a tenth of its maximum.
        during(&mut account, 100.0, 10);
        assert_eq!(account.credit(), 0.0);
        during(&mut account, 95.0, 2);
        assert!((account.credit() - 10.0 * MBIT).abs() < 1.0);
        during(&mut account, 50.0, 2);
        assert!((account.credit() - 30.0 * MBIT).abs() < 1.0);
        // A part of a burst: 130 Mbit/s for a second.
        assert!((account.ceiling(second) - 130.0 * MBIT).abs() < 1.0);
    }

    #[test]
    fn what_was_sent_in_a_period_that_came_late_is_owed() {
        let terms = "2s at 3x, refilled at 1x".parse().unwrap();
        let mut account = Account::new(terms, 10.0);
        account.sent(Duration::ZERO, 0.0);
        account.sent(Duration::from_secs(9), 0.0);
        assert_eq!(account.credit(), 40.0);
        // Three seconds at 30: 60 above the maximum.
        account.sent(Duration::from_secs(12), 90.0);
        assert_eq!(account.credit(), -20.0);
        assert_eq!(account.ceiling(Duration::from_secs(1)), 10.0);
        account.sent(Duration::from_secs(15), 0.0);
        assert_eq!(account.credit(), 10.0);
    }
}
