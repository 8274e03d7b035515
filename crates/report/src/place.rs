//! What a line of the loss ledger means, for the places on paths that are made here.

/// One sentence about a line's place, `t0 tx_dropped`; absent where the name says it all.
pub(crate) fn meaning(place: &str) -> Option<String> {
    // An interface of the guest, of the switch or of a port of the NIC has two words.
    let (at, counter) = place.rsplit_once(' ')?;
    let told = match (at, counter) {
        (at, "tx_dropped") if is_numbered(at, 't') => {
            "the tap’s queue to the guest was full: QEMU, or vhost, did not take frames as fast as they came"
        }
        (at, _) if is_numbered(at, 't') => "the tap between the host and the guest",
        (at, "rx_dropped") if is_numbered(at, 'm') => {
            "the macvtap’s queue to the guest was full: QEMU, or vhost, did not take frames as fast as they came"
        }
        (at, _) if is_numbered(at, 'm') => "the macvtap between the host and the guest",
        ("ovs", "rx_dropped") => {
            "lookups lost: the queue to ovs-vswitchd for frames without a flow was full"
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
        (at, "rx_missed_errors") if functions(at) == Some(1) => {
            "by the registers of the NIC: its neighbour’s frames for which the function had no descriptor free"
        }
        (at, "rx_missed_errors") if functions(at).is_some() => {
            "by the registers of the NIC: frames to the functions of several guests for which the one they went to had no descriptor free"
        }
        _ => return None,
    };
    Some(told.to_owned())
}

/// A place in a sentence: `the transmit queue of d0 (tx_dropped)`; as it is where its name says more.
pub(crate) fn spoken(place: &str) -> String {
    let words = place.rsplit_once(' ').and_then(|(at, counter)| {
        // A switch or a guest counts in its own way.
        let part = match counter {
            _ if at.contains(' ') => return None,
            "tx_dropped" => "the transmit queue",
            "rx_dropped" => "the receive side",
            "rx_missed_errors" => "the receive ring",
            _ => return None,
        };
        let at = match at {
            "a" | "b" => format!("port `{at}`"),
            at => at.to_owned(),
        };
        Some(format!("{part} of {at} ({counter})"))
    });
    words.unwrap_or_else(|| place.to_owned())
}

/// `t12` where the letter is `t`.
fn is_numbered(at: &str, letter: char) -> bool {
    at.strip_prefix(letter).is_some_and(is_number)
}

/// `eth0 vf1`, or with several `eth0 vf1+vf3`.
fn functions(at: &str) -> Option<usize> {
    let names: Vec<&str> = at.rsplit_once(' ')?.1.split('+').collect();
    let all = names
        .iter()
        .all(|name| name.strip_prefix("vf").is_some_and(is_number));
    all.then_some(names.len())
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{meaning, spoken};

    #[test]
    fn places_behind_which_something_else_stands_are_explained() {
        for (place, word) in [
            ("t1 tx_dropped", "vhost"),
            ("t12 tx_dropped", "vhost"),
            ("m0 rx_dropped", "macvtap"),
            ("m3 rx_dropped", "macvtap"),
            ("ovs rx_dropped", "lookups"),
            ("ovs p0 rx_missed_errors", "polling"),
            ("testpmd port 1 tx_dropped", "no room"),
            ("guest eth0 rx_dropped", "guest’s own"),
            ("guest2 eth1 rx_dropped", "guest’s own"),
            ("eth0 vf1 rx_missed_errors", "its neighbour"),
            ("eth0 vf1+vf3 rx_missed_errors", "several guests"),
        ] {
            let told = meaning(place).unwrap_or_default();
            assert!(told.contains(word), "{place}: {told}");
        }
        for (place, words) in [
            (
                "a tx_dropped",
                "the transmit queue of port `a` (tx_dropped)",
            ),
            ("d0 rx_dropped", "the receive side of d0 (rx_dropped)"),
            ("ovs p0 rx_missed_errors", "ovs p0 rx_missed_errors"),
            ("cpu1 softnet dropped", "cpu1 softnet dropped"),
        ] {
            assert_eq!(spoken(place), words);
        }
        for place in ["d1 rx_dropped", "unexplained", "cpu1 softnet dropped", ""] {
            assert_eq!(meaning(place), None);
        }
    }
}
