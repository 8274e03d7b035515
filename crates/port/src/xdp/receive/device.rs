//! What a driver says about its interface.

use nicety_netdev::ethtool::Ethtool;

/// Receive queues taken for granted where the driver does not say: more than such drivers have.
const QUEUES_UNKNOWN: u32 = 16;
/// Most queues told apart; those beyond share the last lane.
const QUEUES_MAX: u32 = 256;
/// Drivers that count frames which a program in them drops as `rx_dropped`: `tun_xdp_act` in
/// drivers/net/tun.c, though not for frames that it makes a socket buffer for first, and
/// `receive_small_xdp`, `receive_mergeable_xdp` in drivers/net/virtio_net.c.
const COUNT_AS_DROPPED: [&str; 2] = ["tun", "virtio_net"];

/// Whether the driver may count what a program in it drops as `rx_dropped`.
pub(super) fn counts_as_dropped(ethtool: Option<&Ethtool>, interface: &str) -> bool {
    let driver = ethtool.and_then(|ethtool| ethtool.driver(interface).ok());
    driver.is_some_and(|driver| COUNT_AS_DROPPED.contains(&driver.driver.as_str()))
}

/// Receive queues the interface can have.
pub(super) fn receive_queues(ethtool: Option<&Ethtool>, interface: &str) -> u32 {
    let channels = ethtool.and_then(|ethtool| ethtool.channels(interface).ok());
    match channels.map_or(0, |channels| channels.max.rx + channels.max.combined) {
        0 => QUEUES_UNKNOWN,
        queues => queues.min(QUEUES_MAX),
    }
}
