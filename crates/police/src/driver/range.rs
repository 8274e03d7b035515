//! Ranges and steps of rates.

use nicety_model::BitRate;

use crate::policy::LEAST_RATE;

/// Highest rate a driver takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Top {
    /// The speed of the link, which must be up.
    Link,
    /// The link must be at exactly this speed in Mbit/s, and it is the top too.
    OnlyAt(u32),
    /// A number of Mbit/s.
    Mbit(u32),
    /// The driver says no earlier than the firmware.
    Open,
}

/// The rates a driver takes: 0 for no limit, else `low..=top` in steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateRange {
    /// Lowest in Mbit/s.
    pub low_mbit: u32,
    /// Highest.
    pub top: Top,
    /// Step in Mbit/s: the driver rounds down to it, or refuses what is between.
    pub step_mbit: u32,
    /// Rates below the lowest are raised to it, not refused.
    pub raises: bool,
    /// A rate of 0 leaves the limit as it is: none is the speed of the link, which is also what the driver
    /// tells then.
    pub zero_stays: bool,
}

/// A limit as the driver will take it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedLimit {
    /// Maximum in Mbit/s, 0 for none.
    pub max_mbit: u32,
    /// Minimum in Mbit/s, 0 for none.
    pub min_mbit: u32,
    /// Message about rounding, for the user: `120mbit → 100mbit, steps of 50mbit`.
    pub rounded: Option<String>,
}

/// A limit that cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {fix}")]
pub struct Refusal {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub fix: String,
}

impl Refusal {
    pub(super) fn new(what: String, fix: impl Into<String>) -> Self {
        Self {
            what,
            fix: fix.into(),
        }
    }
}

/// A grid of rates in bits per second for a controller to choose from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steps {
    /// Lowest.
    pub low: f64,
    /// Step.
    pub step: f64,
    /// Highest.
    pub top: f64,
}

impl std::fmt::Display for RateRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..", self.low_mbit)?;
        match self.top {
            Top::Link => write!(f, "link Mbit/s")?,
            Top::OnlyAt(mbit) => write!(f, "{mbit} Mbit/s on a link of {mbit}")?,
            Top::Mbit(mbit) => write!(f, "{mbit} Mbit/s")?,
            Top::Open => write!(f, " Mbit/s")?,
        }
        match self.step_mbit {
            1 => Ok(()),
            step => write!(f, " in steps of {step}"),
        }
    }
}

impl RateRange {
    /// Every whole Mbit/s from `low_mbit` on.
    pub(super) const fn from(low_mbit: u32, top: Top) -> Self {
        Self {
            low_mbit,
            top,
            step_mbit: 1,
            raises: false,
            zero_stays: false,
        }
    }

    /// The highest rate in Mbit/s over a link.
    fn top_mbit(&self, link: Option<BitRate>) -> Option<u64> {
        let link = || link.map(|rate| rate.0 / 1_000_000);
        match self.top {
            Top::Link => link(),
            Top::OnlyAt(mbit) | Top::Mbit(mbit) => Some(mbit.into()),
            Top::Open => None,
        }
    }

    /// Checks and rounds; `driver` is for messages.
    pub(super) fn take(
        &self,
        driver: &str,
        max: BitRate,
        min: BitRate,
        link: Option<BitRate>,
    ) -> Result<AcceptedLimit, Refusal> {
        let needs_link = match self.top {
            Top::Link => link.is_none_or(|rate| rate.0 == 0),
            Top::OnlyAt(mbit) => link != Some(BitRate::from_mbit(mbit.into())),
            Top::Mbit(_) | Top::Open => false,
        };
        if needs_link {
            let speed = match self.top {
                Top::OnlyAt(mbit) => format!(" at {}", BitRate::from_mbit(mbit.into())),
                _ => String::new(),
            };
            return Err(Refusal::new(
                format!("the driver {driver} takes limits only while the link is up{speed}"),
                "bring the physical function up and wait for its carrier",
            ));
        }
        let top = self.top_mbit(link);
        if let Some(top) = top
            && max > BitRate::from_mbit(top)
        {
            return Err(Refusal::new(
                format!(
                    "{max} is above the {} that {driver} takes on this link",
                    BitRate::from_mbit(top)
                ),
                format!("write at most {}", BitRate::from_mbit(top)),
            ));
        }
        let open = max.0 == 0 && self.zero_stays;
        let max_mbit = match link.map(|rate| rate.0 / 1_000_000) {
            Some(mbit) if open => u32::try_from(mbit).unwrap_or(u32::MAX),
            _ => self.round(driver, max)?,
        };
        if !min.0.is_multiple_of(1_000_000) {
            let whole = BitRate::from_mbit((min.0 / 1_000_000).max(1));
            return Err(Refusal::new(
                format!("a minimum of {min} is not a whole number of Mbit/s, as {driver} takes it"),
                format!("write {whole}, for one"),
            ));
        }
        let min_mbit = u32::try_from(min.0 / 1_000_000).unwrap_or(u32::MAX);
        let accepted = BitRate::from_mbit(max_mbit.into());
        let rounded = (accepted != max).then(|| {
            if open {
                return format!(
                    "none → {accepted}: {driver} keeps its limit at 0, the link's speed is none"
                );
            }
            let step = BitRate::from_mbit(self.step_mbit.into());
            format!("{max} → {accepted}: {driver} takes steps of {step}")
        });
        Ok(AcceptedLimit {
            max_mbit,
            min_mbit,
            rounded,
        })
    }

    fn round(&self, driver: &str, max: BitRate) -> Result<u32, Refusal> {
        if max.0 == 0 {
            return Ok(0);
        }
        let step = u64::from(self.step_mbit);
        let mbit = max.0 / 1_000_000 / step * step;
        let low = u64::from(self.low_mbit);
        if mbit < low {
            if self.raises {
                return Ok(self.low_mbit);
            }
            let low = BitRate::from_mbit(low);
            return Err(Refusal::new(
                format!("{max} is below the {low} that {driver} takes"),
                format!("write at least {low}"),
            ));
        }
        u32::try_from(mbit).map_err(|_| {
            Refusal::new(
                format!("{max} is more than any driver takes"),
                "write none for no limit",
            )
        })
    }

    /// The grid for a controller over a link.
    pub fn steps(&self, link: BitRate) -> Steps {
        let mega = |mbit: u32| f64::from(mbit) * 1e6;
        Steps {
            low: mega(self.low_mbit.max(self.step_mbit)),
            step: mega(self.step_mbit),
            top: match self.top_mbit(Some(link)) {
                Some(top) => top as f64 * 1e6,
                None => link.bps(),
            },
        }
    }
}

impl Steps {
    /// tc(8): any rate, in whole kbit/s here so that what is read back is what was written.
    pub fn tc() -> Self {
        Self {
            low: LEAST_RATE.bps(),
            step: 1e3,
            top: 100e12,
        }
    }

    /// The grid point at or below `rate`, but not below `floor` (a guarantee) where the grid
    /// has a point above it.
    pub fn down(&self, rate: f64, floor: f64) -> f64 {
        // What differs in the last digits of a double is the same rate.
        let down = (rate / self.step + 1e-9).floor() * self.step;
        let down = if down + 1e-3 < floor {
            down + self.step
        } else {
            down
        };
        down.clamp(self.low.min(self.top), self.top)
    }
}
