//! What drivers can do for a virtual function, and how far to trust their answers.
//!
//! Read in the drivers of Linux 6.12 (`ndo_set_vf_rate`, `ndo_get_vf_stats`). A driver that is
//! not listed is asked, and believed only where the kernel tells a refusal from a zero.

use std::time::Duration;

use nicety_model::BitRate;
use schemars::JsonSchema;
use serde::Serialize;

mod range;
mod table;

pub use range::{AcceptedLimit, RateRange, Refusal, Steps, Top};

/// Whether a driver honours a minimum rate (`min_tx_rate`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Minimum {
    /// Refused with EINVAL.
    Refused,
    /// Honoured.
    Honoured,
    /// Honoured as a share relative to the other functions' minimum.
    Relative,
    /// Accepted, and does nothing.
    Ignored,
    /// Not known of this driver.
    Unknown,
}

/// Whether the kernel's counters of a virtual function (`IFLA_VF_STATS`) are counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "counters", content = "seconds")]
pub enum VfCounters {
    /// The driver has none; the kernel shows zeros.
    None,
    /// Read when asked.
    Live,
    /// Refreshed every so many seconds only.
    Every(u32),
    /// Not known of this driver: zeros may mean none.
    Unknown,
}

/// Mechanism that limits a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The driver's own call.
    Driver,
    /// The NIC's switch, by devlink-rate(8).
    Switch,
    /// A policer on its representor.
    Policer,
}

/// Abilities of a driver for its virtual functions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Driver {
    /// Name, as below /sys/bus/pci/drivers.
    pub name: &'static str,
    /// The maximum rate it takes; none when it has no such call.
    pub rate: Option<RateRange>,
    /// The minimum rate.
    pub minimum: Minimum,
    /// Counters.
    pub counters: VfCounters,
    /// Further remark; may be empty.
    pub note: &'static str,
    /// Listed here, not guessed.
    pub known: bool,
}

impl Driver {
    /// Abilities of a driver. `device` is the PCI device id of the physical function, which
    /// matters for igb.
    pub fn find(name: &str, device: Option<u16>) -> Self {
        let listed = table::DRIVERS.iter().find(|driver| driver.name == name);
        match listed {
            Some(igb) if igb.name == "igb" && device.is_some_and(|id| !is_82576(id)) => Self {
                rate: None,
                note: "only the 82576 of this driver's NICs limits its functions",
                ..*igb
            },
            Some(driver) => *driver,
            None => table::UNKNOWN,
        }
    }

    /// The driver for a function that is limited in such a way.
    #[must_use]
    pub fn limiting(self, way: Way) -> Self {
        match way {
            Way::Driver => self,
            Way::Switch => self.by_switch(),
            Way::Policer => self.by_policer(),
        }
    }

    /// The same driver for a function that a policer on its representor limits, in whole Mbit/s as mlx5
    /// takes them (`apply_police_params`); that knows no minimum.
    fn by_policer(self) -> Self {
        Self {
            minimum: Minimum::Refused,
            ..self.by_switch()
        }
    }

    /// The same driver for a function that hangs on the NIC's switch and is limited there
    /// (devlink-rate(8)): mlx5, ice and netdevsim take whole Mbit/s, and a guarantee.
    fn by_switch(self) -> Self {
        Self {
            rate: Some(RateRange::from(1, Top::Open)),
            minimum: match self.minimum {
                Minimum::Relative => Minimum::Relative,
                _ => Minimum::Honoured,
            },
            ..self
        }
    }

    /// Whether the kernel's counters of a function are real, judged by its frames both ways. If
    /// that is not known, anything but zeros is real.
    pub fn counts(&self, frames: u64) -> bool {
        match self.counters {
            VfCounters::Live | VfCounters::Every(_) => true,
            VfCounters::Unknown => frames > 0,
            VfCounters::None => false,
        }
    }

    /// How old counters may be.
    pub fn staleness(&self) -> Duration {
        match self.counters {
            VfCounters::Every(seconds) => Duration::from_secs(seconds.into()),
            _ => Duration::ZERO,
        }
    }

    /// The minimum rate that stays when a maximum alone is set: that of a driver which honours it. `found`
    /// is in Mbit/s, as the driver tells it.
    pub fn minimum_kept(&self, found: Option<u32>) -> Option<BitRate> {
        let keeps = !matches!(self.minimum, Minimum::Refused | Minimum::Ignored);
        found
            .filter(|mbit| keeps && *mbit > 0)
            .map(|mbit| BitRate::from_mbit(mbit.into()))
    }

    /// Checks a limit before the driver is asked: `max` (0 for none) and `min` as written by the
    /// user, `link` the link's rate where it is known.
    ///
    /// # Errors
    /// A rate that the driver would refuse, and what to write instead.
    pub fn check(
        &self,
        max: BitRate,
        min: Option<BitRate>,
        link: Option<BitRate>,
    ) -> Result<AcceptedLimit, Refusal> {
        let Some(range) = self.rate else {
            return Err(Refusal::new(
                format!("the driver {} cannot limit virtual functions", self.name),
                "limit the interface that the guest uses, or use a NIC whose driver can",
            ));
        };
        let min = min.unwrap_or_default();
        if min.0 > 0 {
            let useless = match self.minimum {
                Minimum::Refused => Some("has no minimum"),
                Minimum::Ignored => Some("accepts a minimum and ignores it"),
                Minimum::Honoured | Minimum::Relative | Minimum::Unknown => None,
            };
            if let Some(what) = useless {
                return Err(Refusal::new(
                    format!("{} {what}", self.name),
                    "leave --min away; nicety police keeps guarantees on any driver",
                ));
            }
            if max.0 > 0 && min > max {
                return Err(Refusal::new(
                    format!("a minimum of {min} is above the maximum of {max}"),
                    "lower one or raise the other, with RATE and --min",
                ));
            }
        }
        range.take(self.name, max, min, link)
    }
}

/// 82576 with copper, fibre, SerDes, four ports (drivers/net/ethernet/intel/igb/e1000_hw.h).
fn is_82576(id: u16) -> bool {
    matches!(
        id,
        0x10c9 | 0x10e6 | 0x10e7 | 0x10e8 | 0x1526 | 0x150a | 0x1518 | 0x150d
    )
}

#[cfg(test)]
mod tests;
