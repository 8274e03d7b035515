//! Counters, always from the side of whoever owns the function or port.

use std::time::Duration;

use nicety_host::link::Link;
use nicety_host::policer::{Policed, Policer};
use nicety_host::shaper::Bucket;
use nicety_host::vf::{FunctionState, Limiter, Registers};
use nicety_model::vf::{PortCounters, VfReport};
use nicety_police::Driver;
use nicety_police::driver::VfCounters;

use super::bits_per_second;

/// Source of counters of what came to a policer of the host.
const POLICER: &str = "policer";
/// Bytes that the ingress does not count.
const ETHERNET_HEADER: u64 = 14;

/// Where an interface stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It is the function's own.
    Own,
    /// It is the other end, on the NIC's switch: what it receives the function has sent.
    Representor,
}

/// Of a function: what the NIC's registers count, else its driver, else its interface when it is
/// here, else the one that represents it. Where the driver has no counters the kernel shows zeros, which are none.
pub fn of_function(
    told: &FunctionState,
    driver: Option<&Driver>,
    own: Option<(&Link, Side)>,
    registers: Option<&Registers>,
) -> Option<PortCounters> {
    if let (Some(policer), Some((link, Side::Representor))) = (policed(told), own)
        && !policer.in_hardware
    {
        return Some(of_policer(link, policer));
    }
    if let Some(registers) = registers
        && let Some(counters) = registers.read(told.vf)
    {
        return Some(PortCounters {
            source: "registers".to_owned(),
            byte_bits: Some(registers.chip().byte_bits()),
            tx_packets: counters.tx_packets,
            tx_bytes: counters.tx_bytes,
            rx_packets: counters.rx_packets,
            rx_bytes: counters.rx_bytes,
            tx_local_bytes: counters.tx_local_bytes,
            multicast: counters.multicast,
            ..PortCounters::default()
        });
    }
    let counts = driver.is_some_and(|driver| match driver.counters {
        VfCounters::Live | VfCounters::Every(_) => true,
        // Anything but zeros is counted by somebody.
        VfCounters::Unknown => told
            .counters
            .is_some_and(|c| c.tx_packets + c.rx_packets > 0),
        VfCounters::None => false,
    });
    let by_driver = told
        .counters
        .filter(|_| counts)
        .map(|counters| PortCounters {
            source: "driver".to_owned(),
            tx_packets: counters.tx_packets,
            tx_bytes: counters.tx_bytes,
            rx_packets: counters.rx_packets,
            rx_bytes: counters.rx_bytes,
            tx_dropped: Some(counters.tx_dropped),
            rx_dropped: Some(counters.rx_dropped),
            broadcast: Some(counters.broadcast),
            multicast: Some(counters.multicast),
            ..PortCounters::default()
        });
    by_driver.or_else(|| {
        own.map(|(link, side)| {
            let mut counters = of_interface(link, side == Side::Representor);
            if side == Side::Representor {
                counters.source = "representor".to_owned();
            }
            counters
        })
    })
}

/// The policer that limits a function now.
pub fn policed(function: &FunctionState) -> Option<&Policer> {
    match &function.limiter {
        Limiter::Policer(Policed::Limited(policer)) => Some(policer),
        _ => None,
    }
}

/// What a policer of the host sees and drops, both read at once.
fn of_policer(representor: &Link, policer: &Policer) -> PortCounters {
    PortCounters {
        source: POLICER.to_owned(),
        tx_packets: policer.frames,
        tx_bytes: policer.bytes + ETHERNET_HEADER * policer.frames,
        tx_dropped: Some(policer.drops.into()),
        ..of_interface(representor, true)
    }
}

/// Which part of what was sent between two samples has passed: nobody counts the bytes that a policer drops.
pub fn passed(before: &PortCounters, after: &PortCounters) -> f64 {
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

/// Of a port: what its interface counts, and what its limiter let pass and dropped. The owner
/// of a tap or veth is at its other end: what the host receives was sent.
pub fn of_port(link: &Link, bucket: Option<&Bucket>) -> PortCounters {
    let mut counters = of_interface(link, link.kind != "macvtap");
    if let Some(bucket) = bucket {
        counters.source = "limiter".to_owned();
        counters.tx_packets = bucket.frames;
        counters.tx_bytes = bucket.bytes;
        counters.tx_dropped = Some(bucket.drops.into());
    }
    counters
}

fn of_interface(link: &Link, turned: bool) -> PortCounters {
    let c = &link.counters;
    let mut counters = PortCounters {
        source: "interface".to_owned(),
        tx_packets: c.tx_packets,
        tx_bytes: c.tx_bytes,
        rx_packets: c.rx_packets,
        rx_bytes: c.rx_bytes,
        tx_dropped: Some(c.tx_dropped),
        rx_dropped: Some(c.rx_dropped),
        multicast: (!turned).then_some(c.multicast),
        ..PortCounters::default()
    };
    if turned {
        std::mem::swap(&mut counters.tx_packets, &mut counters.rx_packets);
        std::mem::swap(&mut counters.tx_bytes, &mut counters.rx_bytes);
        std::mem::swap(&mut counters.tx_dropped, &mut counters.rx_dropped);
    }
    counters
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
            let tx = rate(before.tx_bytes, after.tx_bytes).map(|bps| bps * passed(before, after));
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
    use nicety_host::vf::FunctionCounters;

    fn function(tx_packets: u64) -> FunctionState {
        FunctionState {
            counters: Some(FunctionCounters {
                tx_packets,
                ..FunctionCounters::default()
            }),
            ..FunctionState::default()
        }
    }

    #[test]
    fn zeros_of_a_driver_that_does_not_count_are_no_counters() {
        let counted = |driver: &str, packets| {
            let driver = Driver::find(driver, None);
            of_function(&function(packets), Some(&driver), None, None).map(|c| c.tx_packets)
        };
        assert_eq!(counted("igb", 0), None);
        assert_eq!(counted("i40e", 0), Some(0));
        assert_eq!(counted("somenic", 0), None);
        assert_eq!(counted("somenic", 7), Some(7));
    }

    #[test]
    fn what_a_representor_receives_the_function_has_sent() {
        let mut link = Link {
            name: "rep0".to_owned(),
            ..Link::default()
        };
        link.counters.rx_packets = 5;
        let driver = Driver::find("bnxt_en", None);
        let counted = |side| of_function(&function(0), Some(&driver), Some((&link, side)), None);
        let seen = counted(Side::Representor).unwrap();
        assert_eq!((seen.tx_packets, seen.source.as_str()), (5, "representor"));
        assert_eq!(counted(Side::Own).unwrap().rx_packets, 5);
    }

    #[test]
    fn what_a_policer_drops_has_not_passed() {
        let at = |packets, dropped| PortCounters {
            source: POLICER.to_owned(),
            tx_packets: packets,
            tx_dropped: Some(dropped),
            ..PortCounters::default()
        };
        assert_eq!(passed(&at(100, 10), &at(300, 160)), 0.25);
        assert_eq!(passed(&at(100, 10), &at(100, 10)), 1.0);
        // A new policer meanwhile.
        assert_eq!(passed(&at(100, 90), &at(200, 50)), 0.5);
        assert_eq!(passed(&at(100, 0), &at(110, 900)), 0.0);
        let other = PortCounters {
            source: "driver".to_owned(),
            ..at(300, 160)
        };
        assert_eq!(passed(&at(100, 10), &other), 1.0);
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
