//! Whether a larger MTU stays, by what became of packets of both sizes (T14).

use nicety_model::knob::{Change, Knob};
use nicety_model::path_mtu::{Carried, PathProbe};

/// The sizes to try once changes are made: the largest MTU there was, which has to be answered
/// before anything can be told, and the smallest new one that is larger. `None` when no MTU grows.
pub fn sizes(changes: &[&Change]) -> Option<(u32, u32)> {
    let mtu = |change: &&&Change| matches!(change.knob, Knob::Mtu { .. });
    let numbers = changes.iter().filter(mtu).filter_map(|change| {
        let (from, to): (u32, u32) = (change.from.parse().ok()?, change.to.parse().ok()?);
        (to > from).then_some((from, to))
    });
    numbers.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)))
}

/// Why the changes must be undone, if they must: `small` was tried first, `large` when it was
/// answered.
pub fn refusal(small: PathProbe, large: Option<PathProbe>) -> Option<String> {
    match (small.carried, large) {
        (Carried::Yes, Some(large)) if large.carried == Carried::Yes => None,
        (Carried::Yes, Some(large)) => Some(match large.carried {
            Carried::Silent => format!("{large}; it answers those of {}", small.bytes),
            _ => large.to_string(),
        }),
        _ => Some(format!("{small} since the change")),
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn mtu(name: &str, from: u32, to: u32) -> Change {
        Change {
            knob: Knob::Mtu {
                interface: name.to_owned(),
            },
            from: from.to_string(),
            to: to.to_string(),
        }
    }

    #[test]
    fn sizes_are_those_of_what_grows() {
        let changes = [
            mtu("eth0", 1500, 9000),
            mtu("br0", 1400, 8000),
            mtu("eth1", 9000, 1500),
        ];
        let all: Vec<&Change> = changes.iter().collect();
        assert_eq!(sizes(&all), Some((1500, 8000)));
        assert_eq!(sizes(&all[2..]), None);
        assert_eq!(sizes(&[]), None);
    }

    #[test]
    fn only_what_comes_through_stays() {
        let peer = IpAddr::from([192, 0, 2, 1]);
        let probe = |bytes, carried| PathProbe {
            peer,
            bytes,
            carried,
        };
        let small = probe(1500, Carried::Yes);
        let after = |carried| refusal(small, Some(probe(9000, carried)));
        assert_eq!(after(Carried::Yes), None);
        assert_eq!(
            after(Carried::Silent).as_deref(),
            Some("192.0.2.1 answers no packet of 9000 bytes; it answers those of 1500")
        );
        assert_eq!(
            after(Carried::TooLong { takes: Some(1500) }).as_deref(),
            Some("the path to 192.0.2.1 takes 1500 bytes, not packets of 9000")
        );
        let dead = refusal(probe(1500, Carried::Silent), None);
        assert_eq!(
            dead.as_deref(),
            Some("192.0.2.1 answers no packet of 1500 bytes since the change")
        );
        assert!(refusal(small, None).is_some(), "never without a large one");
    }
}
