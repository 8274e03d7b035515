//! Table of drivers and their abilities.

use super::range::{RateRange, Top};
use super::{Driver, Minimum, VfCounters};

const fn range(low_mbit: u32, top: Top) -> Option<RateRange> {
    Some(RateRange::from(low_mbit, top))
}

const fn driver(
    name: &'static str,
    rate: Option<RateRange>,
    minimum: Minimum,
    counters: VfCounters,
    note: &'static str,
) -> Driver {
    Driver {
        name,
        rate,
        minimum,
        counters,
        note,
        known: true,
    }
}

/// A driver that is not in the table.
pub(super) const UNKNOWN: Driver = Driver {
    name: "(not listed)",
    rate: range(1, Top::Open),
    minimum: Minimum::Unknown,
    counters: VfCounters::Unknown,
    note: "not in the table: the driver is asked",
    known: false,
};

/// Drivers with virtual functions, by name.
pub(super) const DRIVERS: [Driver; 19] = {
    use Minimum::{Honoured, Ignored, Refused, Relative};
    use VfCounters::{Every, Live, None as NoCounters};
    let link = range(1, Top::Link);
    let open = range(1, Top::Open);
    [
        driver(
            "be2net",
            range(100, Top::Link),
            Refused,
            NoCounters,
            "Skyhawk takes steps of 1 % of the link",
        ),
        driver("bnxt_en", link, Honoured, NoCounters, ""),
        driver("cxgb4", link, Refused, NoCounters, ""),
        driver("fm10k", range(1, Top::Mbit(100_000)), Ignored, Live, ""),
        driver("funeth", open, Refused, NoCounters, ""),
        driver("hinic", link, Minimum::Unknown, NoCounters, ""),
        driver("hns3", link, Refused, NoCounters, ""),
        driver(
            "i40e",
            Some(RateRange {
                step_mbit: 50,
                raises: true,
                ..RateRange::from(50, Top::Link)
            }),
            Refused,
            Live,
            "reports the rate asked for, not the step it took",
        ),
        driver(
            "ice",
            link,
            Honoured,
            Live,
            "a minimum is refused while DCB is on",
        ),
        driver(
            "igb",
            link,
            Refused,
            NoCounters,
            "a change of link speed removes the limits; only the function's first queue is limited",
        ),
        driver("ionic", open, Refused, Live, ""),
        driver(
            "ixgbe",
            range(11, Top::OnlyAt(10_000)),
            Refused,
            Every(2),
            "a change of link speed removes the limits; each queue of a function gets the full rate",
        ),
        driver("liquidio", None, Refused, Live, ""),
        driver(
            "mlx4_en",
            open,
            Refused,
            Live,
            "accepts a limit and enforces it with VST QoS only",
        ),
        driver("mlx5_core", open, Relative, Live, ""),
        driver("netdevsim", open, Honoured, NoCounters, "simulated"),
        driver("nfp", range(1, Top::Mbit(65_534)), Honoured, NoCounters, ""),
        driver(
            "qede",
            Some(RateRange {
                zero_stays: true,
                ..RateRange::from(1, Top::Link)
            }),
            Honoured,
            NoCounters,
            "a maximum of 0 does not remove the limit, the link's speed does; that is what it tells of no limit",
        ),
        driver(
            "qlcnic",
            Some(RateRange {
                step_mbit: 100,
                ..RateRange::from(100, Top::Mbit(9_999))
            }),
            Honoured,
            NoCounters,
            "",
        ),
    ]
};
