//! TCP windows as large as rate and round trip need (T19).

use nicety_model::finding::{Certainty, Gain, Goal, Risk};
use nicety_model::knob::Knob;

use crate::case::Case;
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;
use crate::rule::tcp_windows;

pub(super) const RULE: Rule = Rule {
    id: "T19",
    name: "tcp-buffer",
    checks: "TCP windows fill the path",
    fires: "Fires when tcp_rmem or tcp_wmem is below rate × round trip time.",
    writes: Some(
        "net.ipv4.tcp_rmem, net.ipv4.tcp_wmem: maximum of rate × round trip time, next \
                  power of two",
    ),
    gain: Gain::Large,
    reasons: &[LARGER],
    check,
};

const LARGER: Reason = Reason {
    why: "A connection sends at most one window per round trip. With a smaller window it waits \
          for acknowledgements.",
    source: "Linux Documentation/networking/ip-sysctl.rst; Oracle VM 3 10GbE network performance \
             tuning (2013), TCP parameters and figure 1",
    cost: "Memory: each fast and distant connection may use that much. net.ipv4.tcp_mem limits \
           the sum.",
    risk: Risk::Medium,
    certainty: Certainty::Likely,
};

/// The kernel keeps the value in a signed 32-bit number.
const MOST: u64 = 1 << 30;
/// First send buffer of figure 1, for ports of 10 Gbit/s and more.
const FIRST_SEND: u64 = 65_536;
const FAST_MBPS: u32 = 10_000;
/// Bytes of a page, the unit of `tcp_mem`.
const PAGE: u64 = 4096;

/// The window in bytes that rate and round trip time ask for: the next power of two, not more
/// than a 32nd of the memory. `None` until both are known.
pub(super) fn wanted(case: &Case<'_>) -> Option<u64> {
    // Rounded down to a power of two, so that the bound is one as well.
    let bound = |mib: u64| 1 << (mib.saturating_mul(1024 * 1024 / 32).max(1).ilog2());
    let bound = case.facts.memory.total_mib.map_or(MOST, bound);
    let needed = case.bdp_bytes()?.checked_next_power_of_two();
    Some(needed.unwrap_or(MOST).min(bound).min(MOST))
}

/// How [`wanted`] came about.
pub(super) fn formula(case: &Case<'_>, wanted: u64) -> Option<String> {
    Some(format!(
        "{}, next power of two = {wanted}",
        case.bdp_words()?
    ))
}

fn check(case: &Case<'_>, report: &mut Report) {
    if case.goal == Goal::Forwarding {
        return;
    }
    let Some(wanted) = wanted(case) else {
        let (needs, option) = match case.rtt_ms() {
            None => (
                "Rerun with --rtt TIME, the round trip of the connections that matter.",
                "--rtt TIME",
            ),
            Some(_) => (
                "Rerun with --rate MBITS: the link speed is unknown.",
                "--rate MBITS",
            ),
        };
        report.undecided(needs, Some(option));
        return;
    };
    let mut large = true;
    for name in ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"] {
        let Some(now) = case.facts.sysctl.get(name) else {
            continue;
        };
        let numbers: Vec<u64> = now
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        let [least, first, most] = numbers[..] else {
            continue;
        };
        if most >= wanted {
            continue;
        }
        large = false;
        let fast = case.rate_mbps().is_some_and(|rate| rate >= FAST_MBPS);
        let first = if name.ends_with("wmem") && fast {
            first.max(FIRST_SEND.min(wanted))
        } else {
            first
        };
        let to = format!("{least} {first} {wanted}");
        let finding = report.find("host", format!("{name} = {now}"), to.clone(), &LARGER);
        finding.formula = formula(case, wanted);
        finding.advice.extend(all_together(case, wanted));
        finding.changes.push(change(Knob::sysctl(name), now, to));
    }
    if large && tcp_windows::is_unscaled(case) {
        report.undecided(
            "The buffers are large enough, but without window scaling (T39) no window is.",
            None,
        );
    }
}

/// The memory that all connections share (`tcp_mem`, in pages), where a quarter of a window for each
/// busy one is more than from which on the kernel presses for less.
fn all_together(case: &Case<'_>, wanted: u64) -> Option<String> {
    let busy = u64::from(case.facts.tcp.as_ref()?.busy);
    let limits = case.facts.sysctl.get("net.ipv4.tcp_mem")?;
    let pressure: u64 = limits.split_whitespace().nth(1)?.parse().ok()?;
    let shared = pressure.saturating_mul(PAGE);
    let needed = busy.saturating_mul(wanted / 4);
    (needed > shared).then(|| {
        format!(
            "net.ipv4.tcp_mem = {limits} lets all connections share {shared} bytes. {busy} busy ones \
             with a quarter of a window each need {needed}. Raise its second and third number to \
             {} pages or more, or use fewer connections.",
            needed.div_ceil(PAGE)
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

    #[test]
    fn windows_grow_to_rate_times_round_trip() {
        for (speed, rtt, now, wanted) in [
            (
                10_000,
                100.0,
                "4096 87380 4194304",
                Some("4096 87380 134217728"),
            ),
            (
                10_000,
                10.0,
                "4096 131072 6291456",
                Some("4096 131072 16777216"),
            ),
            (10_000, 0.1, "4096 131072 6291456", None),
            (10_000, 10.0, "4096 131072 33554432", None),
            (
                100_000,
                100.0,
                "4096 131072 6291456",
                Some("4096 131072 1073741824"),
            ),
        ] {
            let host = Host::new(1, 4)
                .nic("eth0", speed, 0)
                .sysctl("net.ipv4.tcp_rmem", now)
                .wish(|w| w.rtt_ms = Some(rtt));
            let findings = host.find("tcp-buffer");
            assert_eq!(
                findings.first().map(|f| f.changes[0].to.as_str()),
                wanted,
                "{speed} {rtt} {now}"
            );
        }
    }

    #[test]
    fn memory_bounds_the_window() {
        let host = Host::new(1, 4)
            .nic("eth0", 10_000, 0)
            .sysctl("net.ipv4.tcp_rmem", "4096 87380 4194304")
            .wish(|w| w.rtt_ms = Some(100.0));
        let small = host.facts_with(|f| f.memory.total_mib = Some(3 * 1024));
        assert_eq!(small.one("tcp-buffer").changes[0].to, "4096 87380 67108864");
    }

    #[test]
    fn the_memory_of_all_connections_is_looked_at() {
        let advice = |busy: u32| {
            let tcp = nicety_model::facts::TcpFacts {
                connections: busy,
                busy,
                rtt_ms: Some(100.0),
            };
            let host = Host::new(1, 4)
                .nic("eth0", 10_000, 0)
                .sysctl("net.ipv4.tcp_rmem", "4096 87380 4194304")
                .sysctl("net.ipv4.tcp_mem", "90000 120000 180000")
                .facts_with(|f| f.tcp = Some(tcp));
            host.one("tcp-buffer").advice
        };
        // 120000 pages are 491 MB; a quarter of a window is 33.5 MB.
        assert!(advice(14).is_empty());
        let many = advice(15);
        assert!(many[0].contains("122880 pages"), "{many:?}");
    }

    #[test]
    fn a_measured_round_trip_serves_until_the_user_says_another() {
        let tcp = nicety_model::facts::TcpFacts {
            connections: 9,
            busy: 3,
            rtt_ms: Some(100.0),
        };
        let host = Host::new(1, 4)
            .nic("eth0", 10_000, 0)
            .sysctl("net.ipv4.tcp_rmem", "4096 87380 4194304")
            .facts_with(|f| f.tcp = Some(tcp));
        let finding = host.one("tcp-buffer");
        assert_eq!(finding.changes[0].to, "4096 87380 134217728");
        let formula = finding.formula.unwrap_or_default();
        assert!(
            formula.contains("farthest of 3 busy connections"),
            "{formula}"
        );
        host.wish(|w| w.rtt_ms = Some(0.1)).none("tcp-buffer");
    }

    #[test]
    fn without_a_round_trip_time_it_waits() {
        let host = Host::new(1, 4).nic("eth0", 10_000, 0);
        host.none("tcp-buffer");
        assert!(host.waits("tcp-buffer").contains("--rtt"));
    }
}
