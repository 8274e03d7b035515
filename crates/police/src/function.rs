//! Whether a virtual function can be limited now, from what its NIC and its driver report.

use nicety_model::BitRate;

use crate::driver::{Driver, RateRange, Top};
use crate::snapshot::Place;

/// State of a function of a present NIC.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Function<'a> {
    /// Interface of the physical function.
    pub nic: &'a str,
    /// Number.
    pub vf: u32,
    /// Functions that the NIC has.
    pub announced: u32,
    /// The driver, for a function that is limited in the way this one is; none where it is not known.
    pub driver: Option<Driver>,
    /// Speed of the link; none when it is down or not known.
    pub link: Option<BitRate>,
    /// Report of the driver; none without one.
    pub reported: Option<Reported<'a>>,
}

/// Report of a driver on a function.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reported<'a> {
    /// Kind of another program's qdisc in the limit's place.
    pub foreign: Option<&'a str>,
    /// Highest rate in Mbit/s, 0 for none.
    pub max_mbit: Option<u32>,
    /// Lowest rate in Mbit/s, 0 for none.
    pub min_mbit: Option<u32>,
}

/// A function that can be limited now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limitable {
    /// Its driver.
    pub driver: Driver,
    /// The rates that takes.
    pub range: RateRange,
    /// The highest rate that the function has in Mbit/s, 0 for none.
    pub max_mbit: u32,
    /// The lowest.
    pub min_mbit: u32,
}

impl Function<'_> {
    /// Whether it can be limited now.
    ///
    /// # Errors
    /// The function found under its number.
    pub fn limitable(&self) -> Result<Limitable, Place> {
        let nic = self.nic;
        let waits = |why: String| Err(Place::Waits(why));
        let missing = self.vf >= self.announced;
        let driver = match self.driver {
            Some(driver) => driver,
            None if missing => return Err(Place::Gone),
            None => return waits(format!("the driver of {nic} is not known")),
        };
        let Some(range) = driver.rate else {
            let why = format!("the driver {} cannot limit virtual functions", driver.name);
            return Err(Place::Unfit(why));
        };
        if missing {
            return Err(Place::Gone);
        }
        let Some(reported) = self.reported else {
            return waits(format!("{} does not tell about it just now", driver.name));
        };
        if matches!(range.top, Top::Link | Top::OnlyAt(_)) && self.link.is_none() {
            return waits(format!("{nic} has no link"));
        }
        if let Top::OnlyAt(mbit) = range.top {
            let needs = BitRate::from_mbit(mbit.into());
            if self.link != Some(needs) {
                return waits(format!("{} limits on a link of {needs} only", driver.name));
            }
        }
        if let Some(kind) = reported.foreign {
            return Err(Place::Foreign(kind.to_owned()));
        }
        let Some(max_mbit) = reported.max_mbit else {
            return waits(format!("{nic}/vf{} has no rate", self.vf));
        };
        Ok(Limitable {
            driver,
            range,
            max_mbit,
            min_mbit: reported.min_mbit.unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_waits_for_its_driver_and_its_link() {
        let link = |mbit| Some(BitRate::from_mbit(mbit));
        let limited = Reported {
            max_mbit: Some(500),
            ..Reported::default()
        };
        let rate = Some(limited);
        let foreign = Some(Reported {
            foreign: Some("htb"),
            ..limited
        });
        let waits = |why: &str| Err(Place::Waits(why.to_owned()));
        let unfit = "the driver tg3 cannot limit virtual functions";
        let known = |driver: &str| {
            let rate = (driver != "tg3").then(|| Driver::find("i40e", None).rate);
            let name = if driver == "tg3" { "tg3" } else { "i40e" };
            Some(Driver {
                name,
                rate: rate.flatten(),
                ..Driver::find("i40e", None)
            })
        };
        let i40e = known("i40e");
        let ixgbe = Some(Driver::find("ixgbe", None));
        #[rustfmt::skip]
        let table = [
            (1, None, link(10_000), rate, Err(Place::Gone)),
            (8, None, link(10_000), rate, waits("the driver of eth0 is not known")),
            (8, known("tg3"), link(10_000), rate, Err(Place::Unfit(unfit.to_owned()))),
            (3, i40e, link(10_000), rate, Err(Place::Gone)),
            (8, i40e, link(10_000), None, waits("i40e does not tell about it just now")),
            (8, i40e, None, rate, waits("eth0 has no link")),
            (8, ixgbe, link(1_000), rate, waits("ixgbe limits on a link of 10gbit only")),
            (8, i40e, link(10_000), foreign, Err(Place::Foreign("htb".to_owned()))),
            (8, i40e, link(10_000), Some(Reported::default()), waits("eth0/vf3 has no rate")),
            (8, i40e, link(10_000), rate, Ok((500, 0))),
        ];
        for (announced, driver, link, reported, wanted) in table {
            let function = Function {
                nic: "eth0",
                vf: 3,
                announced,
                driver,
                link,
                reported,
            };
            let limitable = function.limitable().map(|it| (it.max_mbit, it.min_mbit));
            assert_eq!(limitable, wanted, "{function:?}");
        }
    }
}
