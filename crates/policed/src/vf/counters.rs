//! Counters, always from the side of whoever owns the function or port.

use nicety_model::vf::PortCounters;
use nicety_netdev::link::Link;
use nicety_netdev::policer::{Policed, Policer};
use nicety_netdev::shaper::Bucket;
use nicety_netdev::vf::{FunctionState, Limiter, Registers};
use nicety_police::Driver;
use nicety_police::port_counters::POLICER;

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
    reported: &FunctionState,
    driver: Option<&Driver>,
    own: Option<(&Link, Side)>,
    registers: Option<&Registers>,
) -> Option<PortCounters> {
    if let (Some(policer), Some((link, Side::Representor))) = (policed(reported), own)
        && !policer.in_hardware
    {
        return Some(of_policer(link, policer));
    }
    if let Some(registers) = registers
        && let Some(counters) = registers.read(reported.vf)
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
    let by_driver = reported
        .counters
        .filter(|c| driver.is_some_and(|driver| driver.counts(c.tx_packets + c.rx_packets)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use nicety_netdev::vf::FunctionCounters;

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
}
