//! Descriptor rings long enough for a pause of the receiver (T09).

use nicety_model::driver::{Meaning, Tally};
use nicety_model::facts::{NetFacts, RingsFacts, WindowFacts};
use nicety_model::finding::{Certainty, Gain, Risk};
use nicety_model::knob::{Knob, Side};
use nicety_model::total;

use crate::case::{Case, in_seconds};
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T09",
    name: "ring",
    checks: "Receive rings outlast a pause of the CPU",
    fires: "Fires when a NIC drops frames in the window because its ring is full, and the ring \
            can grow.",
    writes: Some("Receive ring of the NIC (ethtool -G): what arrives in 200 µs, next power of two"),
    gain: Gain::Medium,
    reasons: &[LONGER],
    check,
};

const LONGER: Reason = Reason {
    why: "The NIC drops frames while its receive ring is full. The ring must hold what arrives \
          while the CPU is away.",
    source: "Linux Documentation/networking/statistics.rst (rx_missed_errors); each driver's \
             ethtool -S; design rule: not to the maximum blindly, a ring beyond the cache costs latency",
    cost: "The link drops for a moment.",
    risk: Risk::Medium,
    certainty: Certainty::Likely,
};

/// Longest pause of the receive work that is planned for, in µs.
const PAUSE_US: f64 = 200.0;

fn check(case: &Case<'_>, report: &mut Report) {
    let before = total(case.nics().map(NetFacts::ring_drops));
    let Some(window) = case.window(
        report,
        &format!("frames dropped by full rings ({before} since boot)"),
    ) else {
        return;
    };
    for net in case.nics() {
        let Some(drops) = window.tally(net, Meaning::FullRing) else {
            continue;
        };
        match &net.link.rings {
            Some(rings) if rings.rx < rings.rx_max => grow(net, rings, window, &drops, report),
            Some(_) => {}
            None => report.undecided(
                &format!(
                    "The full ring of {} dropped {} frames, but its driver does not tell the ring's length.",
                    net.name(),
                    drops.count
                ),
                None,
            ),
        }
    }
}

fn grow(
    net: &NetFacts,
    rings: &RingsFacts,
    window: &WindowFacts,
    drops: &Tally,
    report: &mut Report,
) {
    let (wanted, formula) = length(net, rings);
    let finding = report.find(
        net.name(),
        format!(
            "the full ring dropped {} frames {} ({:.0} a second by {}); ring {} of {}",
            drops.count,
            in_seconds(window),
            drops.count as f64 / window.seconds,
            drops.counter,
            rings.rx,
            rings.rx_max
        ),
        format!("receive ring of {wanted}"),
        &LONGER,
    );
    finding.formula = Some(formula);
    let vfs = net.vfs.as_ref().map_or(0, |vfs| vfs.count);
    if vfs > 0 {
        finding.risk = Risk::High;
        finding.cost =
            format!("The port resets, and with it its {vfs} virtual functions and their counters.");
    }
    let knob = Knob::Ring {
        interface: net.link.name.clone(),
        side: Side::Rx,
    };
    finding.changes.push(change(knob, rings.rx, wanted));
}

/// The ring's length for a pause of the receiver, and its formula. Where the speed of the link is
/// not known, as in a cloud, twice what runs.
fn length(net: &NetFacts, rings: &RingsFacts) -> (u32, String) {
    let longer = rings.rx.saturating_add(1);
    let round = |needed: u32| {
        let power = needed.max(longer).checked_next_power_of_two();
        power.unwrap_or(rings.rx_max).min(rings.rx_max)
    };
    let Some(speed) = net.link.speed_mbps else {
        let formula = format!(
            "2 × {}, as the speed of the link is not known; at most {}",
            rings.rx, rings.rx_max
        );
        return (round(rings.rx.saturating_mul(2)), formula);
    };
    let queues = net.link.queues.receiving();
    // 64 bytes and 20 of preamble and gap (RFC 2544).
    let fps = f64::from(speed) * 1e6 / (84.0 * 8.0);
    let needed = (fps * PAUSE_US / 1e6 / f64::from(queues)).ceil() as u32;
    let formula = format!(
        "{:.2} Mfps × {PAUSE_US} µs / {queues} queues = {needed}, next power of two, at most {}",
        fps / 1e6,
        rings.rx_max
    );
    // It drops already: what runs is too short, whatever the formula says.
    (round(needed), formula)
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::VfFacts;
    use nicety_model::finding::Risk;

    use crate::fixture::Host;

    /// A port that dropped so many frames while somebody looked on.
    fn dropping(name: &str, frames: u64) -> Host {
        Host::new(1, 8)
            .nic("eth0", 10_000, 0)
            .ring(512, 4096)
            .window(5.0, |window| {
                let moved = [(name.to_owned(), frames)].into();
                window.counters.insert("eth0".to_owned(), moved);
            })
    }

    #[test]
    fn a_ring_that_drops_grows_to_what_a_pause_needs() {
        dropping("rx_packets", 7).none("ring");
        let drops = dropping("rx_missed_errors", 7);
        // 14.88 Mfps × 200 µs / 4 queues = 745
        let finding = drops.clone().combined(4, 8).one("ring");
        assert_eq!(finding.changes[0].to, "1024");
        assert!(finding.formula.unwrap().contains("= 745"));
        assert!(
            finding
                .is
                .contains("in 5 s (1 a second by rx_missed_errors)"),
            "{}",
            finding.is
        );
        assert_eq!(
            drops.clone().combined(8, 8).one("ring").changes[0].to,
            "1024",
            "never less than runs"
        );
        drops.ring(4096, 4096).none("ring");
    }

    #[test]
    fn drops_of_the_past_are_told_and_not_acted_on() {
        let host = Host::new(1, 8).nic("eth0", 10_000, 0).ring(512, 4096);
        let past = host.counter("rx_missed_errors", 7);
        past.none("ring");
        let waits = past.waits("ring");
        assert!(waits.contains("(7 since boot)") && waits.contains("--window"));
        let watched = past.window(5.0, |_| ());
        watched.none("ring");
        assert_eq!(watched.waits("ring"), "");
    }

    #[test]
    fn virtual_functions_are_counted_in_the_cost() {
        let finding = dropping("rx_missed_errors", 1)
            .nic_with(|n| n.vfs = Some(VfFacts { count: 14, max: 63 }))
            .one("ring");
        assert!(finding.risk == Risk::High && finding.cost.contains("14 virtual functions"));
    }

    /// A port whose driver counted this in 10 s.
    fn counted(driver: &str, counters: &[(&str, u64)]) -> Host {
        let counters = counters
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count));
        let counters = counters.collect();
        Host::new(1, 8)
            .nic("eth0", 10_000, 0)
            .ring(1024, 4096)
            .nic_with(|net| net.link.driver = Some(driver.to_owned()))
            .window(10.0, |window| {
                window.driver_drops.insert("eth0".to_owned(), counters);
            })
    }

    #[test]
    fn only_a_full_ring_is_one() {
        for (driver, counter) in [
            ("mlx5_core", "rx_steer_missed_packets"),
            ("mlx5_core", "rx_xdp_drop"),
            ("mlx5_core", "tx_queue_dropped"),
            ("mlx5_core", "rx_discards_phy"),
            ("ice", "tx_dropped_link_down.nic"),
            ("igb", "dropped_smbus"),
            ("bnxt_en", "rx_filter_discards"),
            ("newnic", "rx_fifo_drops"),
        ] {
            counted(driver, &[(counter, 900)]).none("ring");
        }
        dropping("rx_dropped", 7).none("ring");
        let queues = [
            ("[0]: rx_discards", 3),
            ("[1]: rx_discards", 4),
            ("rx_total_discard_pkts", 7),
        ];
        let finding = counted("bnxt_en", &queues).one("ring");
        assert!(
            finding.is.starts_with("the full ring dropped 7 frames"),
            "{}",
            finding.is
        );
        let finding = counted("vmxnet3", &[("  pkts rx OOB", 50)]).one("ring");
        assert!(
            finding.is.contains("(5 a second by pkts rx OOB)"),
            "{}",
            finding.is
        );
    }

    #[test]
    fn without_a_speed_the_ring_doubles_and_without_a_ring_nothing_is_decided() {
        let cloud = counted("ena", &[("rx_overruns", 50)]);
        let cloud = cloud.nic_with(|net| net.link.speed_mbps = None);
        let finding = cloud.one("ring");
        assert_eq!(finding.changes[0].to, "2048");
        let unknown = cloud.nic_with(|net| net.link.rings = None);
        unknown.none("ring");
        assert!(unknown.waits("ring").contains("dropped 50 frames"));
    }
}
