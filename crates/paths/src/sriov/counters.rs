//! What the NIC itself counts of the functions of a path, as places on it.
//!
//! Frames go from one function to its neighbour through the NIC's own switch, on a VLAN that only
//! the two are in, so that what one has sent and the other has not received died in the NIC: for
//! want of a descriptor, most of the time.

use nicety_netdev::link::LinkCounters;
use nicety_netdev::vf::RegisterCounters;

use super::layout::of_guest;
use crate::counters::InterfaceCounters;

/// The functions of one side of the NIC's switch: the tester's, or those of all guests there.
fn sides(guests: u32) -> [Vec<u32>; 4] {
    let of = |side: usize| (0..guests).map(|guest| of_guest(guest)[side]).collect();
    [vec![0], of(0), of(1), vec![2 * guests + 1]]
}

/// Places of the functions of `pf`, in the order in which frames from A to B meet them; `read`
/// gives a function's registers. Several guests' are one place on either side: the NIC does not say
/// for whom a frame was that found no descriptor. None where a function cannot be read.
pub(super) fn places(
    pf: &str,
    guests: u32,
    read: impl Fn(u32) -> Option<RegisterCounters>,
) -> Vec<InterfaceCounters> {
    let sides = sides(guests);
    let sum = |side: &[u32]| {
        let mut sum = RegisterCounters::default();
        for vf in side {
            let of_one = read(*vf)?;
            sum.rx_packets += of_one.rx_packets;
            sum.tx_packets += of_one.tx_packets;
            sum.rx_bytes += of_one.rx_bytes;
            sum.tx_bytes += of_one.tx_bytes;
        }
        Some(sum)
    };
    let place = |side: usize| {
        // Who sends to them is on the other side of their half.
        let (own, other) = (sum(&sides[side])?, sum(&sides[side ^ 1])?);
        let names: Vec<String> = sides[side].iter().map(|vf| format!("vf{vf}")).collect();
        Some(InterfaceCounters::inner(
            format!("{pf} {}", names.join("+")),
            LinkCounters {
                rx_packets: own.rx_packets,
                tx_packets: own.tx_packets,
                rx_bytes: own.rx_bytes,
                tx_bytes: own.tx_bytes,
                rx_missed_errors: missed(other.tx_packets, own.rx_packets),
                ..LinkCounters::default()
            },
        ))
    };
    let places: Option<Vec<InterfaceCounters>> = (0..sides.len()).map(place).collect();
    places.unwrap_or_default()
}

/// Frames sent and not received; both wrap at 32 bits, and one is read a moment after the other.
fn missed(sent: u64, received: u64) -> u64 {
    let difference = (sent as u32).wrapping_sub(received as u32);
    if difference <= u32::MAX / 2 {
        u64::from(difference)
    } else {
        0
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
        let reported: Vec<_> = places("eth0", 1, read)
            .into_iter()
            .map(|place| (place.interface, place.counters.rx_missed_errors))
            .collect();
        let expected = [("vf0", 2), ("vf1", 10), ("vf2", 0), ("vf3", 2)];
        assert_eq!(
            reported,
            expected.map(|(vf, missed)| (format!("eth0 {vf}"), missed))
        );
        assert_eq!(
            places("eth0", 1, |vf| (vf < 2).then(RegisterCounters::default)),
            []
        );
    }

    #[test]
    fn what_several_guests_did_not_get_was_missed_by_all() {
        let read = |vf: u32| {
            let (tx_packets, rx_packets) =
                [(100, 5), (3, 40), (30, 0), (4, 50), (50, 0), (0, 79)][vf as usize];
            Some(RegisterCounters {
                tx_packets,
                rx_packets,
                ..RegisterCounters::default()
            })
        };
        let reported: Vec<_> = places("eth0", 2, read)
            .into_iter()
            .map(|place| (place.interface, place.counters.rx_missed_errors))
            .collect();
        let expected = [("vf0", 2), ("vf1+vf3", 10), ("vf2+vf4", 0), ("vf5", 1)];
        assert_eq!(
            reported,
            expected.map(|(vf, missed)| (format!("eth0 {vf}"), missed))
        );
    }

    #[test]
    fn counters_that_wrapped_or_ran_ahead_are_no_loss() {
        assert_eq!(missed(3, u64::from(u32::MAX)), 4);
        assert_eq!(missed(10, 12), 0);
    }
}
