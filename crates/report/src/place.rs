//! What a line of the loss ledger means, for the places on paths that are made here.

/// One sentence about a line's place, `t0 tx_dropped`; absent where the name says it all.
pub(crate) fn meaning(place: &str) -> Option<String> {
    // An interface of the guest, of the switch or of a port of the NIC has two words.
    let (at, counter) = place.rsplit_once(' ')?;
    let told = match (at, counter) {
        ("t0" | "t1", "tx_dropped") => {
            "the tap’s queue to the guest was full: QEMU, or vhost, did not take frames as fast as they came"
        }
        ("t0" | "t1", _) => "the tap between the host and the guest",
        ("m0" | "m1", "rx_dropped") => {
            "the macvtap’s queue to the guest was full: QEMU, or vhost, did not take frames as fast as they came"
        }
        ("m0" | "m1", _) => "the macvtap between the host and the guest",
        ("ovs", "rx_dropped") => {
            "lookups lost: the queue of frames without a flow, which ovs-vswitchd decides about, was full"
        }
        ("ovs", "rx_missed_errors") => {
            "ovs-vswitchd’s sockets were full: it did not read frames as fast as they came"
        }
        (at, "rx_missed_errors") if at.starts_with("ovs ") || at.starts_with("testpmd ") => {
            "the polling thread’s ring was full: it did not take frames as fast as they came"
        }
        (at, "tx_dropped") if at.starts_with("ovs ") || at.starts_with("testpmd ") => {
            "the polling thread found no room in the ring of the interface it sends to"
        }
        (at, _) if at.starts_with("guest") => "by the guest’s own count, at its virtual NIC",
        (at, "rx_missed_errors") if is_function(at) => {
            "by the registers of the NIC: its neighbour’s frames for which the function had no descriptor free"
        }
        _ => return None,
    };
    Some(told.to_owned())
}

/// `eth0 vf1`.
fn is_function(at: &str) -> bool {
    let number = at.rsplit_once(" vf").map(|(_, number)| number);
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::meaning;

    #[test]
    fn places_behind_which_something_else_stands_are_explained() {
        for (place, word) in [
            ("t1 tx_dropped", "vhost"),
            ("m0 rx_dropped", "macvtap"),
            ("ovs rx_dropped", "lookups"),
            ("ovs p0 rx_missed_errors", "polling"),
            ("testpmd port 1 tx_dropped", "no room"),
            ("guest eth0 rx_dropped", "guest’s own"),
            ("guest2 eth1 rx_dropped", "guest’s own"),
            ("eth0 vf1 rx_missed_errors", "registers"),
        ] {
            let told = meaning(place).unwrap_or_default();
            assert!(told.contains(word), "{place}: {told}");
        }
        for place in ["d1 rx_dropped", "unexplained", "cpu1 softnet dropped", ""] {
            assert_eq!(meaning(place), None);
        }
    }
}
