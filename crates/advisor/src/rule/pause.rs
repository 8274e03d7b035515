//! Nobody holds frames back (T37).

use nicety_model::driver::{Meaning, Tally};
use nicety_model::facts::{NetFacts, RingsFacts, WindowFacts};
use nicety_model::finding::{Certainty, Gain, Risk};

use crate::case::{Case, in_seconds};
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T37",
    name: "pause",
    checks: "No pause frames hold the link back",
    fires: "Fires when a NIC sends or receives over one pause frame a second in the window.",
    writes: None,
    gain: Gain::Medium,
    reasons: &[SENT, RECEIVED],
    check,
};

const SENT: Reason = Reason {
    why: "A NIC whose buffer fills asks the far end to wait instead of dropping. The host is too \
          slow, and others behind the same switch wait too.",
    source: "IEEE 802.3, annex 31B; ethtool(8), --show-pause; each driver's ethtool -S",
    cost: "A longer ring costs latency; without flow control frames are dropped instead.",
    risk: Risk::Medium,
    certainty: Certainty::Likely,
};

const RECEIVED: Reason = Reason {
    why: "The far end asks this NIC to wait. Whatever this host does, it cannot send faster than \
          that.",
    source: "IEEE 802.3, annex 31B; ethtool(8), --show-pause; each driver's ethtool -S",
    cost: "Without flow control the far end drops instead.",
    risk: Risk::Medium,
    certainty: Certainty::Likely,
};

/// Fewer are a burst that flow control is made for.
const FEWEST: u64 = 10;

fn check(case: &Case<'_>, report: &mut Report) {
    let kinds = [Meaning::PauseSent, Meaning::PauseReceived];
    let Some(window) = case.window_of(report, &kinds, "pause frames") else {
        return;
    };
    for net in case.nics() {
        let storm = |kind| {
            let tally = window.tally(net, kind)?;
            let often = tally.count as f64 >= window.seconds;
            (tally.count >= FEWEST && often).then_some(tally)
        };
        if let Some(tally) = storm(Meaning::PauseSent) {
            sent(net, window, &tally, report);
        }
        if let Some(tally) = storm(Meaning::PauseReceived) {
            received(net, window, &tally, report);
        }
    }
}

fn sent(net: &NetFacts, window: &WindowFacts, tally: &Tally, report: &mut Report) {
    let ring = net.link.rings.as_ref();
    let finding = report.find(
        net.name(),
        format!(
            "the NIC asked the far end to pause {} times {} ({}){}",
            tally.count,
            in_seconds(window),
            tally.counter,
            ring.map_or_else(String::new, |ring| format!(
                "; receive ring {} of {}",
                ring.rx, ring.rx_max
            ))
        ),
        "a ring and CPUs that keep up",
        &SENT,
    );
    finding
        .advice
        .extend(ring.and_then(|ring| longer(net, ring)));
    finding.advice.push(
        "Spread the queues over more CPUs, and look at what else runs there: the host takes frames \
         too late."
            .to_owned(),
    );
}

/// By hand, since a pause says less of the ring than a drop.
fn longer(net: &NetFacts, ring: &RingsFacts) -> Option<String> {
    let wanted = ring.rx.saturating_mul(2).min(ring.rx_max);
    (wanted > ring.rx).then(|| {
        format!(
            "Try a longer receive ring: ethtool -G {} rx {wanted}.",
            net.name()
        )
    })
}

fn received(net: &NetFacts, window: &WindowFacts, tally: &Tally, report: &mut Report) {
    let finding = report.find(
        net.name(),
        format!(
            "the far end asked the NIC to pause {} times {} ({})",
            tally.count,
            in_seconds(window),
            tally.counter
        ),
        "a far end that keeps up",
        &RECEIVED,
    );
    finding.advice.push(format!(
        "Look for the slow receiver behind the switch, and for a port there that is slower than {}.",
        net.name()
    ));
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

    fn counted(driver: &str, counters: &[(&str, u64)]) -> Host {
        let counters = counters
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count));
        let counters = counters.collect();
        Host::new(1, 4)
            .nic("eth0", 10_000, 0)
            .ring(512, 4096)
            .nic_with(|net| net.link.driver = Some(driver.to_owned()))
            .window(10.0, |window| {
                window.driver_drops.insert("eth0".to_owned(), counters);
            })
    }

    #[test]
    fn a_nic_that_asks_for_pauses_is_too_slow() {
        for (driver, counter) in [
            ("ixgbe", "tx_flow_control_xoff"),
            ("i40e", "port.link_xoff_tx"),
            ("mlx5_core", "tx_pause_ctrl_phy"),
            ("newnic", "tx_pause_frames"),
        ] {
            let host = counted(driver, &[(counter, 5_000)]);
            let finding = host.one("pause");
            assert_eq!(
                finding.is,
                format!(
                    "the NIC asked the far end to pause 5000 times in 10 s ({counter}); receive ring 512 of 4096"
                )
            );
            assert!(finding.advice[0].contains("ethtool -G eth0 rx 1024"));
            assert!(finding.changes.is_empty());
            host.none("ring");
        }
        let longest = counted("ixgbe", &[("tx_flow_control_xoff", 5_000)]).ring(4096, 4096);
        assert_eq!(longest.one("pause").advice.len(), 1);
    }

    #[test]
    fn a_far_end_that_asks_for_pauses_is_told_apart() {
        let names = [("rx_pause_ctrl_phy", 900), ("rx_global_pause", 900)];
        let finding = counted("mlx5_core", &names).one("pause");
        assert!(
            finding
                .is
                .starts_with("the far end asked the NIC to pause 900 times")
        );
    }

    #[test]
    fn a_few_and_those_of_a_lossless_class_are_normal() {
        counted("mlx5_core", &[("tx_pause_ctrl_phy", 9)]).none("pause");
        counted("mlx5_core", &[("rx_prio3_pause", 9_000)]).none("pause");
        counted("ixgbe", &[("tx_flow_control_xon", 9_000)]).none("pause");
        let past = Host::new(1, 4).nic("eth0", 10_000, 0);
        assert_eq!(past.waits("pause"), "");
        let past = past.nic_with(|net| {
            net.link.driver_drops = [("tx_pause_frames".to_owned(), 70)].into();
        });
        past.none("pause");
        assert!(past.waits("pause").contains("--window"));
    }
}
