//! The kernel's counters of one interface.

use netlink_packet_route::link::Stats64;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// `struct rtnl_link_stats64` (include/uapi/linux/if_link.h): frames unless said
        /// otherwise, counted since the interface was made.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct LinkCounters {
            $($(#[$doc])* pub $name: u64,)+
        }

        impl LinkCounters {
            /// Every counter with the kernel's name.
            pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),+].into_iter()
            }
        }

        impl LinkCounters {
            /// The counters of another machine, by the kernel's names; one that is not known
            /// counts as zero.
            pub fn from_named(value: impl Fn(&str) -> Option<u64>) -> Self {
                Self { $($name: value(stringify!($name)).unwrap_or(0),)+ }
            }
        }

        impl From<&Stats64> for LinkCounters {
            fn from(stats: &Stats64) -> Self {
                Self { $($name: stats.$name,)+ }
            }
        }
    };
}

counters! {
    /// Good frames received.
    rx_packets,
    /// Frames sent.
    tx_packets,
    /// Bytes of good frames received, without FCS.
    rx_bytes,
    /// Bytes sent, without FCS.
    tx_bytes,
    /// Bad frames received.
    rx_errors,
    /// Frames that could not be sent.
    tx_errors,
    /// Received but not processed: no memory, no room, or the stack refused them.
    rx_dropped,
    /// Dropped on the way out for want of room; on a veth: the peer's ring was full.
    tx_dropped,
    /// Multicast frames received.
    multicast,
    /// Collisions.
    collisions,
    /// Received with a wrong length.
    rx_length_errors,
    /// Receiver overrun, as the driver defines it.
    rx_over_errors,
    /// Received with a wrong FCS.
    rx_crc_errors,
    /// Received with bad alignment.
    rx_frame_errors,
    /// Receive FIFO overrun.
    rx_fifo_errors,
    /// Missed by the host for want of buffers.
    rx_missed_errors,
    /// Transmissions aborted.
    tx_aborted_errors,
    /// Transmissions failed for want of carrier.
    tx_carrier_errors,
    /// Transmit FIFO underrun.
    tx_fifo_errors,
    /// Heartbeat errors.
    tx_heartbeat_errors,
    /// Late collisions.
    tx_window_errors,
    /// Compressed frames received.
    rx_compressed,
    /// Compressed frames sent.
    tx_compressed,
    /// Received on an inactive port, nobody wanted them.
    rx_nohandler,
    /// Dropped because the destination MAC was another host's.
    rx_otherhost_dropped,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_stay_together() {
        let counters = LinkCounters {
            tx_dropped: 7,
            rx_otherhost_dropped: 9,
            ..LinkCounters::default()
        };
        let moved: Vec<_> = counters.named().filter(|(_, value)| *value > 0).collect();
        assert_eq!(moved, [("tx_dropped", 7), ("rx_otherhost_dropped", 9)]);
        assert_eq!(counters.named().count(), 25);
    }
}
