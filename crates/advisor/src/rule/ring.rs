//! Descriptor rings long enough for a pause of the receiver (T09).

use nicety_model::facts::NetFacts;
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
    source: "Linux Documentation/networking/statistics.rst (rx_missed_errors, rx_fifo_errors); \
             design rule: not to the maximum blindly, a ring beyond the cache costs latency",
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
        let (Some(rings), drops) = (&net.link.rings, window.ring_drops(net.name())) else {
            continue;
        };
        if drops == 0 || rings.rx >= rings.rx_max {
            continue;
        }
        let Some(speed) = net.link.speed_mbps else {
            report.undecided(
                "The link speed is unknown, so the time to fill a ring is unknown too.",
                None,
            );
            continue;
        };
        let queues = net.link.queues.receiving();
        // 64 bytes and 20 of preamble and gap (RFC 2544).
        let fps = f64::from(speed) * 1e6 / (84.0 * 8.0);
        let needed = (fps * PAUSE_US / 1e6 / f64::from(queues)).ceil() as u32;
        // It drops already: what runs is too short, whatever the formula says.
        let wanted = needed
            .max(rings.rx.saturating_add(1))
            .checked_next_power_of_two()
            .unwrap_or(rings.rx_max)
            .min(rings.rx_max);
        let vfs = net.vfs.as_ref().map_or(0, |vfs| vfs.count);
        let finding = report.find(
            net.name(),
            format!(
                "the full ring dropped {drops} frames {} ({:.0} a second); ring {} of {}",
                in_seconds(window),
                drops as f64 / window.seconds,
                rings.rx,
                rings.rx_max
            ),
            format!("receive ring of {wanted}"),
            &LONGER,
        );
        finding.formula = Some(format!(
            "{:.2} Mfps × {PAUSE_US} µs / {queues} queues = {needed}, next power of two, at most {}",
            fps / 1e6,
            rings.rx_max
        ));
        if vfs > 0 {
            finding.risk = Risk::High;
            finding.cost = format!(
                "The port resets, and with it its {vfs} virtual functions and their counters."
            );
        }
        let knob = Knob::Ring {
            interface: net.link.name.clone(),
            side: Side::Rx,
        };
        finding.changes.push(change(knob, rings.rx, wanted));
    }
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
        assert!(finding.is.contains("in 5 s (1 a second)"), "{}", finding.is);
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
        let finding = dropping("rx_fifo_errors", 1)
            .nic_with(|n| n.vfs = Some(VfFacts { count: 14, max: 63 }))
            .one("ring");
        assert!(finding.risk == Risk::High && finding.cost.contains("14 virtual functions"));
    }
}
