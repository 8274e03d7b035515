//! Frames arrive whole (T36).

use nicety_model::driver::{Meaning, Tally};
use nicety_model::facts::{NetFacts, WindowFacts};
use nicety_model::finding::{Certainty, Gain, Risk};

use crate::case::{Case, in_seconds};
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T36",
    name: "link-errors",
    checks: "Frames arrive undamaged and not too long",
    fires: "Fires when a NIC receives damaged frames in the window, over one in a million, or frames \
            of a wrong length, over one in 100000.",
    writes: None,
    gain: Gain::Large,
    reasons: &[DAMAGED, TOO_LONG],
    check,
};

const DAMAGED: Reason = Reason {
    why: "A wrong FCS or alignment means that bits changed on the way. TCP takes each lost frame \
          for congestion.",
    source: "Linux Documentation/networking/statistics.rst (rx_crc_errors, rx_frame_errors); IEEE \
             802.3, 5.2.2.1",
    cost: "Somebody has to go to the cable.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

const TOO_LONG: Reason = Reason {
    why: "The NIC drops frames longer than its MTU allows, or shorter than the header says. The \
          sender hears nothing of it.",
    source: "Linux Documentation/networking/statistics.rst (rx_length_errors, rx_over_errors); \
             each driver's ethtool -S",
    cost: "None: look at both ends first.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

/// Fewer in a window may be a plug that was touched.
const FEWEST: u64 = 10;
/// One damaged frame of so many is told.
const DAMAGED_IN: u64 = 1_000_000;
/// Fewer frames of a wrong length may be a neighbour's protocol.
const FEWEST_LONG: u64 = 100;
/// One of a wrong length of so many is told.
const LONG_IN: u64 = 100_000;

fn check(case: &Case<'_>, report: &mut Report) {
    let kinds = [Meaning::Cable, Meaning::Length];
    let Some(window) = case.window_of(report, &kinds, "damaged frames and those of a wrong length")
    else {
        return;
    };
    for net in case.nics() {
        let counted = |kind, fewest, part| {
            let tally = window.tally(net, kind)?;
            let frames = window.counter(net.name(), "rx_packets");
            let matters = tally.count.saturating_mul(part) >= frames;
            (tally.count >= fewest && matters).then_some(tally)
        };
        if let Some(tally) = counted(Meaning::Cable, FEWEST, DAMAGED_IN) {
            damaged(net, window, &tally, report);
        }
        if let Some(tally) = counted(Meaning::Length, FEWEST_LONG, LONG_IN) {
            too_long(net, window, &tally, report);
        }
    }
}

fn rate(window: &WindowFacts, tally: &Tally) -> String {
    let per_s = tally.count as f64 / window.seconds;
    format!(
        "{} ({per_s:.0} a second by {})",
        in_seconds(window),
        tally.counter
    )
}

fn damaged(net: &NetFacts, window: &WindowFacts, tally: &Tally, report: &mut Report) {
    let finding = report.find(
        net.name(),
        format!(
            "{} frames arrived damaged {}",
            tally.count,
            rate(window, tally)
        ),
        "none",
        &DAMAGED,
    );
    finding.advice.push(format!(
        "Clean or change the cable, the optics and the connectors of {}, then the port at the far end.",
        net.name()
    ));
    finding.advice.push(format!(
        "Look at the light of both ends: ethtool -m {}. Both must use the same FEC: ethtool --show-fec {}.",
        net.name(),
        net.name()
    ));
}

fn too_long(net: &NetFacts, window: &WindowFacts, tally: &Tally, report: &mut Report) {
    let finding = report.find(
        net.name(),
        format!(
            "{} frames of a wrong length arrived {}; the MTU is {}",
            tally.count,
            rate(window, tally),
            net.link.mtu
        ),
        "the MTU of the far end",
        &TOO_LONG,
    );
    finding.advice.push(format!(
        "Compare the MTU of {} with that of the far end and of the switch between: one sends longer \
         frames than the other takes.",
        net.name()
    ));
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

    fn counted(driver: &str, kernel: &[(&str, u64)], own: &[(&str, u64)]) -> Host {
        let map = |counters: &[(&str, u64)]| {
            let counters = counters
                .iter()
                .map(|(name, count)| ((*name).to_owned(), *count));
            counters.collect()
        };
        let (kernel, own) = (map(kernel), map(own));
        Host::new(1, 4)
            .nic("eth0", 10_000, 0)
            .nic_with(|net| net.link.driver = Some(driver.to_owned()))
            .window(10.0, |window| {
                window.counters.insert("eth0".to_owned(), kernel);
                window.driver_drops.insert("eth0".to_owned(), own);
            })
    }

    #[test]
    fn damaged_frames_are_the_cables() {
        let packets = ("rx_packets", 8_000_000);
        let finding =
            counted("mlx5_core", &[packets, ("rx_crc_errors", 5_000)], &[]).one("link-errors");
        assert_eq!(
            finding.is,
            "5000 frames arrived damaged in 10 s (500 a second by rx_crc_errors)"
        );
        assert!(finding.changes.is_empty() && finding.advice[0].contains("cable"));
        let own = [("rx_crc_errors_phy", 5_000), ("rx_symbol_err_phy", 70)];
        let finding = counted("mlx5_core", &[packets], &own).one("link-errors");
        assert!(finding.is.contains("5000") && finding.is.contains("rx_crc_errors_phy"));
        counted("mlx5_core", &[packets, ("rx_crc_errors", 3)], &[]).none("link-errors");
        let many = ("rx_packets", 80_000_000);
        counted("mlx5_core", &[many, ("rx_crc_errors", 20)], &[]).none("link-errors");
        counted("mlx5_core", &[packets], &[("rx_pcs_symbol_err_phy", 5_000)]).none("link-errors");
    }

    #[test]
    fn frames_of_a_wrong_length_are_the_far_ends() {
        let packets = ("rx_packets", 8_000_000);
        let finding =
            counted("ice", &[packets, ("rx_length_errors", 70_000)], &[]).one("link-errors");
        assert!(finding.is.contains("the MTU is 1500"), "{}", finding.is);
        assert_eq!(
            counted("newnic", &[packets, ("rx_over_errors", 70_000)], &[])
                .find("link-errors")
                .len(),
            1
        );
        counted("bnx2x", &[packets, ("rx_over_errors", 70_000)], &[]).none("link-errors");
        counted("ice", &[packets, ("rx_length_errors", 20)], &[]).none("link-errors");
        counted("ice", &[packets], &[("rx_discards", 70_000)]).none("link-errors");
    }

    #[test]
    fn errors_of_the_past_wait_for_a_window() {
        let host = Host::new(1, 4).nic("eth0", 10_000, 0);
        assert_eq!(host.waits("link-errors"), "");
        let past = host.counter("rx_crc_errors", 5_000);
        past.none("link-errors");
        assert!(past.waits("link-errors").contains("--window"));
        past.window(10.0, |_| ()).none("link-errors");
    }
}
