//! Which of a NIC's receive filters stamps probes (enum hwtstamp_rx_filters in
//! include/uapi/linux/net_tstamp.h).

/// No frame.
pub const FILTER_NONE: u32 = 0;
const ALL: u32 = 1;
const V2_L2_EVENT: u32 = 9;
const V2_L2_SYNC: u32 = 10;
const V2_EVENT: u32 = 12;
const V2_SYNC: u32 = 13;
/// Those that stamp a Sync of version 2 over Ethernet, the one with the least else first.
const TAKING: [u32; 5] = [V2_L2_SYNC, V2_L2_EVENT, V2_SYNC, V2_EVENT, ALL];

/// Whether a port with this filter stamps probes.
pub fn takes_probes(filter: u32) -> bool {
    TAKING.contains(&filter)
}

/// The filter to ask a driver for that has those of the mask `offered` (bit n is filter n); none
/// where no filter stamps probes. A driver may take a wider one than it is asked for, and says which.
pub fn wanted(offered: u32) -> Option<u32> {
    TAKING.into_iter().find(|filter| offered & 1 << filter != 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn drivers_as_they_are() {
        // igb on an 82576: none, v1 sync, v1 delay request, v2 event.
        assert_eq!(wanted(1 | 1 << 4 | 1 << 5 | 1 << 12), Some(V2_EVENT));
        // igb on an i350: none and all.
        assert_eq!(wanted(0b11), Some(ALL));
        // PTP over UDP only, as on PHYs that know nothing else.
        assert_eq!(wanted(1 | 1 << 6 | 1 << 7), None);
        // Software stamps only.
        assert_eq!(wanted(1), None);
        assert_eq!(wanted(0), None);
    }

    proptest! {
        #[test]
        fn what_is_asked_for_is_offered_and_stamps(offered: u32) {
            match wanted(offered) {
                Some(filter) => prop_assert!(offered & 1 << filter != 0 && takes_probes(filter)),
                None => prop_assert!((0..32).all(|f| offered & 1 << f == 0 || !takes_probes(f))),
            }
        }
    }
}
