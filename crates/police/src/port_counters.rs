//! Counters of functions and ports as they are reported, and the rates between two reports.

use std::time::Duration;

use nicety_model::vf::{PortCounters, VfReport};

/// Name of the source of a host policer's counters.
pub const POLICER: &str = "policer";

/// Rate of a counter in bits per second; none when it went back.
pub fn bits_per_second(before: u64, after: u64, time: Duration) -> Option<f64> {
    let bytes = after.checked_sub(before)?;
    let seconds = time.as_secs_f64();
    (seconds > 0.0).then(|| bytes as f64 * 8.0 / seconds)
}

/// Share of the frames that a policer forwarded between two samples; it does not count dropped
/// bytes.
pub fn forwarded_ratio(before: &PortCounters, after: &PortCounters) -> f64 {
    let sent = after.tx_packets.saturating_sub(before.tx_packets);
    if after.source != POLICER || sent == 0 {
        return 1.0;
    }
    let (was, now) = (
        before.tx_dropped.unwrap_or(0),
        after.tx_dropped.unwrap_or(0),
    );
    // Another policer counts anew.
    let dropped = now.checked_sub(was).unwrap_or(now);
    1.0 - dropped.min(sent) as f64 / sent as f64
}

/// A counter as if it had not wrapped since `before`.
pub fn unwrapped(before: u64, now: u64, bits: Option<u32>) -> u64 {
    match bits.filter(|bits| *bits < 64) {
        Some(bits) => before + (now.wrapping_sub(before) & ((1 << bits) - 1)),
        None => now,
    }
}

/// Adds rates to the second of two reports.
pub fn rates(first: &VfReport, second: &mut VfReport, time: Duration) {
    let fill = |before: Option<&PortCounters>, after: &mut Option<PortCounters>| {
        let Some((before, after)) = before.zip(after.as_mut()) else {
            return;
        };
        if before.source == after.source {
            let rate = |before, now| {
                bits_per_second(before, unwrapped(before, now, after.byte_bits), time)
            };
            let tx = rate(before.tx_bytes, after.tx_bytes)
                .map(|bps| bps * forwarded_ratio(before, after));
            let rx = rate(before.rx_bytes, after.rx_bytes);
            let local = before.tx_local_bytes.zip(after.tx_local_bytes);
            after.tx_local_bps = local.and_then(|(before, now)| rate(before, now));
            (after.tx_bps, after.rx_bps) = (tx, rx);
        }
    };
    for nic in &mut second.nics {
        let before = first.nics.iter().find(|old| old.interface == nic.interface);
        for function in &mut nic.functions {
            let old = before.and_then(|nic| nic.functions.iter().find(|f| f.vf == function.vf));
            fill(
                old.and_then(|f| f.counters.as_ref()),
                &mut function.counters,
            );
        }
    }
    for port in &mut second.ports {
        let old = first
            .ports
            .iter()
            .find(|old| old.interface == port.interface);
        fill(
            old.and_then(|port| port.counters.as_ref()),
            &mut port.counters,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_policer_drops_is_not_forwarded() {
        let at = |packets, dropped| PortCounters {
            source: POLICER.to_owned(),
            tx_packets: packets,
            tx_dropped: Some(dropped),
            ..PortCounters::default()
        };
        assert_eq!(forwarded_ratio(&at(100, 10), &at(300, 160)), 0.25);
        assert_eq!(forwarded_ratio(&at(100, 10), &at(100, 10)), 1.0);
        // A new policer meanwhile.
        assert_eq!(forwarded_ratio(&at(100, 90), &at(200, 50)), 0.5);
        assert_eq!(forwarded_ratio(&at(100, 0), &at(110, 900)), 0.0);
        let other = PortCounters {
            source: "driver".to_owned(),
            ..at(300, 160)
        };
        assert_eq!(forwarded_ratio(&at(100, 10), &other), 1.0);
    }

    #[test]
    fn a_narrow_counter_goes_on_after_its_end() {
        assert_eq!(unwrapped(0xffff_fff0, 0x10, Some(32)), 0x1_0000_0010);
        assert_eq!(unwrapped(5, 7, Some(36)), 7);
        assert_eq!(unwrapped(9, 7, None), 7);
    }

    #[test]
    fn what_goes_to_other_functions_has_a_rate_that_goes_on_when_its_counter_wraps() {
        use nicety_model::vf::{PhysicalFunction, VirtualFunction};
        let at = |tx_bytes, local| {
            let counters = PortCounters {
                source: "registers".to_owned(),
                byte_bits: Some(32),
                tx_bytes,
                tx_local_bytes: Some(local),
                ..PortCounters::default()
            };
            let function = VirtualFunction {
                counters: Some(counters),
                ..VirtualFunction::default()
            };
            let nic = PhysicalFunction {
                functions: vec![function],
                ..PhysicalFunction::default()
            };
            VfReport {
                nics: vec![nic],
                ..VfReport::default()
            }
        };
        let mut second = at(5_000, 500);
        rates(
            &at(1_000, 0xffff_ffff - 499),
            &mut second,
            Duration::from_secs(2),
        );
        let counters = second.nics[0].functions[0].counters.clone().unwrap();
        assert_eq!(counters.tx_bps, Some(16_000.0));
        assert_eq!(counters.tx_local_bps, Some(4_000.0));
    }
}
