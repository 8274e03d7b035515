//! What the NIC itself counts of the functions of a path, as places on it.
//!
//! Frames go from one function to its neighbour through the NIC's own switch, on a VLAN that only
//! the two are in, so that what one has sent and the other has not received died in the NIC: for
//! want of a descriptor, most of the time.

use nicety_host::link::LinkCounters;
use nicety_host::vf::RegisterCounters;

use crate::counters::{InterfaceCounters, Role};

/// The functions in the order in which frames from A to B meet them, each with its neighbour.
const NEIGHBOURS: [(u32, u32); 4] = [(0, 1), (1, 0), (2, 3), (3, 2)];

/// Places of the functions of `pf`, in order; `read` gives a function's registers. None where one
/// cannot be read.
pub(super) fn places(
    pf: &str,
    read: impl Fn(u32) -> Option<RegisterCounters>,
) -> Vec<InterfaceCounters> {
    let place = |(vf, neighbour): (u32, u32)| {
        let (own, other) = (read(vf)?, read(neighbour)?);
        Some(InterfaceCounters {
            interface: format!("{pf} vf{vf}"),
            role: Role::Inner,
            counters: LinkCounters {
                rx_packets: own.rx_packets,
                tx_packets: own.tx_packets,
                rx_bytes: own.rx_bytes,
                tx_bytes: own.tx_bytes,
                rx_missed_errors: missed(other.tx_packets, own.rx_packets),
                ..LinkCounters::default()
            },
            qdiscs: Vec::new(),
        })
    };
    let places: Option<Vec<InterfaceCounters>> = NEIGHBOURS.into_iter().map(place).collect();
    places.unwrap_or_default()
}

/// Frames sent and not received; both wrap at 32 bits, and one is read a moment after the other.
fn missed(sent: u64, received: u64) -> u64 {
    let difference = (sent as u32).wrapping_sub(received as u32);
    match difference <= u32::MAX / 2 {
        true => u64::from(difference),
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_neighbour_did_not_get_was_missed() {
        let read = |vf: u32| {
            let (tx_packets, rx_packets) = [(100, 5), (7, 90), (90, 0), (0, 88)][vf as usize];
            Some(RegisterCounters {
                tx_packets,
                rx_packets,
                ..RegisterCounters::default()
            })
        };
        let told: Vec<_> = places("eth0", read)
            .into_iter()
            .map(|place| (place.interface, place.counters.rx_missed_errors))
            .collect();
        let expected = [("vf0", 2), ("vf1", 10), ("vf2", 0), ("vf3", 2)];
        assert_eq!(
            told,
            expected.map(|(vf, missed)| (format!("eth0 {vf}"), missed))
        );
        assert_eq!(
            places("eth0", |vf| (vf < 2).then(RegisterCounters::default)),
            []
        );
    }

    #[test]
    fn counters_that_wrapped_or_ran_ahead_are_no_loss() {
        assert_eq!(missed(3, u64::from(u32::MAX)), 4);
        assert_eq!(missed(10, 12), 0);
    }
}
