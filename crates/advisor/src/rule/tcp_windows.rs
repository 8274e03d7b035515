//! Options of TCP that windows, repair of losses and round trips rest on (T39).

use nicety_model::finding::{Certainty, Gain, Goal, Risk};
use nicety_model::knob::Knob;

use crate::case::Case;
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T39",
    name: "tcp-windows",
    checks: "TCP may use large windows, selective acknowledgements and time stamps",
    fires: "Fires when tcp_window_scaling is 0 and the path holds over 64 KiB, or when tcp_sack is 0. \
            Above 1 Gbit/s also when tcp_timestamps is 0.",
    writes: Some("net.ipv4.tcp_window_scaling, net.ipv4.tcp_sack and net.ipv4.tcp_timestamps: 1"),
    gain: Gain::Large,
    reasons: &[SCALE, SACK, STAMP],
    check,
};

const SCALE: Reason = Reason {
    why: "Without window scaling a window has 16 bits. A connection sends at most 65535 bytes per round \
          trip, whatever its buffers hold.",
    source: "RFC 7323 section 2; Linux Documentation/networking/ip-sysctl.rst, tcp_window_scaling",
    cost: "None, unless an old firewall on the path damages the option. New connections have it, those \
           there are do not.",
    risk: Risk::Low,
    certainty: Certainty::Certain,
};

const SACK: Reason = Reason {
    why: "The sender is not told which segments arrived. After a loss it repairs one segment per round \
          trip, or sends all again.",
    source: "RFC 2018; RFC 6675; Linux Documentation/networking/ip-sysctl.rst, tcp_sack",
    cost: "Linux before 4.19.52 and 5.1.11 could be crashed by it (CVE-2019-11477). Update such a \
           kernel first.",
    risk: Risk::Medium,
    certainty: Certainty::Likely,
};

const STAMP: Reason = Reason {
    why: "Without time stamps round trips are measured once per window. Sequence numbers that wrap within \
          seconds are not protected.",
    source: "RFC 7323 sections 4 and 5; Linux Documentation/networking/ip-sysctl.rst, tcp_timestamps",
    cost: "12 bytes in every segment.",
    risk: Risk::Low,
    certainty: Certainty::Guess,
};

/// Largest window without scaling, in bytes (RFC 9293, 16 bits).
const UNSCALED: u64 = 65_535;
/// Above this rate in Mbit/s sequence numbers wrap within half a minute: 2³² bytes.
const FAST_MBPS: u32 = 1_000;
const SCALING: &str = "net.ipv4.tcp_window_scaling";

/// Whether windows stay below 64 KiB whatever the buffers.
pub(super) fn is_unscaled(case: &Case<'_>) -> bool {
    case.facts.sysctl_number(SCALING) == Some(0)
}

fn check(case: &Case<'_>, report: &mut Report) {
    if case.goal == Goal::Forwarding {
        return;
    }
    let off = |name: &str| case.facts.sysctl_number(name) == Some(0);
    if is_unscaled(case) && case.bdp_bytes().is_none_or(|bytes| bytes > UNSCALED) {
        find(SCALING, &SCALE, report).formula = Some(limit(case));
    }
    let (sack, stamps) = ("net.ipv4.tcp_sack", "net.ipv4.tcp_timestamps");
    if off(sack) {
        let finding = find(sack, &SACK, report);
        finding.gain = Some(Gain::Medium);
    }
    let fast = case.rate_mbps().filter(|rate| *rate > FAST_MBPS);
    if let Some(rate) = fast.filter(|_| off(stamps)) {
        let finding = find(stamps, &STAMP, report);
        finding.gain = Some(Gain::Small);
        let wrap = 4_294_967_296.0 * 8.0 / (f64::from(rate) * 1e6);
        finding.formula = Some(format!("2³² bytes at {rate} Mbit/s wrap in {wrap:.1} s"));
    }
}

fn find<'r>(
    name: &str,
    reason: &Reason,
    report: &'r mut Report,
) -> &'r mut nicety_model::finding::Finding {
    let finding = report.find("host", format!("{name} = 0"), "1", reason);
    finding.changes.push(change(Knob::sysctl(name), 0, 1));
    finding
}

/// The rate that such windows allow, or the round trip from which on they are too small.
fn limit(case: &Case<'_>) -> String {
    let bits = UNSCALED as f64 * 8.0;
    match (case.rtt_ms(), case.rate_mbps()) {
        (Some(rtt), _) => {
            let mbps = bits / (rtt / 1e3) / 1e6;
            format!("{UNSCALED} bytes × 8 / {rtt} ms = {mbps:.0} Mbit/s")
        }
        (None, Some(rate)) => {
            let us = bits / f64::from(rate);
            format!(
                "{UNSCALED} bytes × 8 / {rate} Mbit/s = {us:.0} µs: to peers farther away it is slower"
            )
        }
        (None, None) => format!("{UNSCALED} bytes × 8 / 1 ms = {:.0} Mbit/s", bits / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::finding::Goal;

    use super::SCALING;
    use crate::fixture::Host;

    fn host(speed: u32, name: &str, value: &str) -> Host {
        let host = Host::new(1, 4).nic("eth0", speed, 0);
        host.sysctl(name, value)
    }

    #[test]
    fn windows_of_16_bits_are_found_where_the_path_holds_more() {
        let host = host(10_000, SCALING, "0");
        let far = host
            .clone()
            .wish(|w| w.rtt_ms = Some(20.0))
            .one("tcp-windows");
        assert_eq!(
            (far.changes[0].from.as_str(), far.changes[0].to.as_str()),
            ("0", "1")
        );
        assert_eq!(
            far.formula.as_deref(),
            Some("65535 bytes × 8 / 20 ms = 26 Mbit/s")
        );
        let unknown = host.one("tcp-windows").formula.unwrap_or_default();
        assert!(unknown.contains("= 52 µs"), "{unknown}");
        // 10 Gbit/s × 50 µs are 62500 bytes.
        host.clone()
            .wish(|w| w.rtt_ms = Some(0.05))
            .none("tcp-windows");
        host.clone().goal(Goal::Forwarding).none("tcp-windows");
        host.sysctl(SCALING, "1").none("tcp-windows");
    }

    #[test]
    fn windows_that_cannot_grow_are_not_said_to_fill_the_path() {
        let host = host(10_000, SCALING, "0")
            .sysctl("net.ipv4.tcp_rmem", "4096 131072 67108864")
            .wish(|w| w.rtt_ms = Some(20.0));
        host.none("tcp-buffer");
        assert!(host.waits("tcp-buffer").contains("T39"));
        assert_eq!(host.sysctl(SCALING, "1").waits("tcp-buffer"), "");
    }

    #[test]
    fn acknowledgements_always_count_and_time_stamps_on_fast_ports_only() {
        assert_eq!(
            host(1_000, "net.ipv4.tcp_sack", "0")
                .one("tcp-windows")
                .changes
                .len(),
            1
        );
        host(1_000, "net.ipv4.tcp_sack", "1").none("tcp-windows");
        let stamps = |speed, value| host(speed, "net.ipv4.tcp_timestamps", value);
        let formula = stamps(10_000, "0").one("tcp-windows").formula;
        assert_eq!(
            formula.as_deref(),
            Some("2³² bytes at 10000 Mbit/s wrap in 3.4 s")
        );
        stamps(1_000, "0").none("tcp-windows");
        // 2 means on, without a random offset.
        stamps(10_000, "2").none("tcp-windows");
    }
}
