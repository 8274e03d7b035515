//! How often an address is spoken of: whoever knocks a thousand times a second gets a line in ten seconds.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// Time between two lines about one address.
const EVERY: Duration = Duration::from_secs(10);
/// Addresses that are remembered; those beyond share one place.
const MOST: usize = 1024;

/// When each address was last spoken of. Times are of one clock that only goes forward.
#[derive(Debug, Default)]
pub(crate) struct Told {
    last: BTreeMap<Option<IpAddr>, Last>,
}

#[derive(Debug, Clone, Copy)]
struct Last {
    at: Duration,
    left_out: u64,
}

impl Told {
    /// Whether to say something about an address now: how many lines were left out since the last one.
    pub fn may(&mut self, from: IpAddr, now: Duration) -> Option<u64> {
        let old = |last: &Last| now.saturating_sub(last.at) >= EVERY;
        let mut from = Some(from.to_canonical());
        if !self.last.contains_key(&from) && self.last.len() >= MOST {
            self.last.retain(|_, last| !old(last));
            if self.last.len() >= MOST {
                from = None;
            }
        }
        match self.last.get_mut(&from) {
            Some(last) if !old(last) => {
                last.left_out = last.left_out.saturating_add(1);
                None
            }
            found => {
                let left_out = found.map_or(0, |last| last.left_out);
                let last = Last {
                    at: now,
                    left_out: 0,
                };
                self.last.insert(from, last);
                Some(left_out)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn an_address_has_one_line_in_ten_seconds() {
        let [a, b] = [1, 2].map(|n| IpAddr::from([10, 0, 0, n]));
        let mut told = Told::default();
        assert_eq!(told.may(a, s(5)), Some(0));
        for _ in 0..2200 {
            assert_eq!(told.may(a, s(6)), None);
        }
        assert_eq!(told.may(b, s(6)), Some(0));
        assert_eq!(told.may(a, s(15)), Some(2200));
        assert_eq!(told.may(a, s(25)), Some(0));
    }

    #[test]
    fn many_addresses_take_no_more_room_and_no_more_lines() {
        let mut told = Told::default();
        let all = |told: &mut Told, now| {
            let each = |n: u32| told.may(IpAddr::from(n.to_be_bytes()), now);
            (0..4 * MOST as u32).filter_map(each).count()
        };
        assert_eq!(all(&mut told, s(1)), MOST + 1);
        assert!(told.last.len() <= MOST + 1);
        assert!(all(&mut told, s(12)) <= MOST + 1);
    }
}
