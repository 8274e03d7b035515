//! What a counter of a NIC means.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::counters::{COMMON, Counters, TABLE};
use super::pattern::fits;

/// Why a NIC counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Meaning {
    /// Frames dropped because the receive ring had no free descriptor.
    FullRing,
    /// The receive ring ran empty; a buffer before it may have saved the frames.
    ShortRing,
    /// Frames dropped because the host had no memory for them.
    NoMemory,
    /// Frames dropped because the transmit queue was full.
    TxQueue,
    /// Frames that no rule of the NIC wanted: address, VLAN, steering.
    Filter,
    /// Frames dropped by an XDP program.
    Xdp,
    /// Frames that came or were to go while the link was down.
    LinkDown,
    /// Pause frames received: the far end holds this host back.
    PauseReceived,
    /// Pause frames sent: the NIC holds the far end back.
    PauseSent,
    /// Pause frames of one priority, either way: normal where a class is lossless.
    PriorityPause,
    /// Frames dropped because the port's buffer was full, before any ring.
    PortBuffer,
    /// PCIe did not take data in time, or had errors.
    Pcie,
    /// Frames for the management controller.
    Management,
    /// Damaged on the way: FCS, symbols, alignment.
    Cable,
    /// Longer or shorter than the NIC takes.
    Length,
    /// Frames delayed or dropped because a virtual machine's share of a cloud was used up.
    Allowance,
}

impl Meaning {
    /// The reason in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::FullRing => "receive ring full",
            Self::ShortRing => "receive ring empty, not lost yet",
            Self::NoMemory => "no memory on the host",
            Self::TxQueue => "transmit queue full",
            Self::Filter => "refused by a filter or steering",
            Self::Xdp => "dropped by an XDP program",
            Self::LinkDown => "link down",
            Self::PauseReceived => "pause frames received",
            Self::PauseSent => "pause frames sent",
            Self::PriorityPause => "pause frames of a priority",
            Self::PortBuffer => "buffer of the port full",
            Self::Pcie => "PCIe",
            Self::Management => "management controller",
            Self::Cable => "damaged on the way",
            Self::Length => "too long or too short",
            Self::Allowance => "allowance of the cloud used up",
        }
    }
}

/// What the driver calls a counter, and what it counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// Its name; that of counters per queue has N for the number.
    pub counter: String,
    /// Its count, over all queues.
    pub count: u64,
}

/// Which counters are asked for: the kernel's, or those of `ethtool -S`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Kernel,
    Driver,
}

/// What a driver's own counter (`ethtool -S`) means; `None` when nicety does not know.
pub fn meaning(driver: Option<&str>, counter: &str) -> Option<Meaning> {
    Some(form(driver, Side::Driver, counter)?.0)
}

/// The form of a counter's name in the table, with its meaning. The driver's own words come before
/// those of all.
fn form(driver: Option<&str>, side: Side, counter: &str) -> Option<(Meaning, &'static str)> {
    // Some drivers indent and pad the names.
    let counter = counter.trim();
    let of_driver = |row: &&Counters| driver.is_some_and(|driver| row.drivers.contains(&driver));
    let own = TABLE.iter().filter(of_driver).map(|row| row.words);
    own.chain([COMMON])
        .flatten()
        .filter(|(asked, ..)| *asked == side)
        .flat_map(|(_, meaning, forms)| forms.iter().map(|form| (*meaning, *form)))
        .find(|(_, form)| fits(form, counter))
}

/// The largest count of one meaning. Kernel and driver often count the same frames under several
/// names, so that these are not added; those of one name for several queues are.
pub fn tally<'a>(
    driver: Option<&str>,
    wanted: Meaning,
    kernel: impl IntoIterator<Item = (&'a String, &'a u64)>,
    own: impl IntoIterator<Item = (&'a String, &'a u64)>,
) -> Option<Tally> {
    tallies(driver, wanted, kernel, own).into_iter().next()
}

/// All counts of one meaning, the largest first; of equal ones the kernel's.
pub fn tallies<'a>(
    driver: Option<&str>,
    wanted: Meaning,
    kernel: impl IntoIterator<Item = (&'a String, &'a u64)>,
    own: impl IntoIterator<Item = (&'a String, &'a u64)>,
) -> Vec<Tally> {
    let mut sums: BTreeMap<(Side, &str), Tally> = BTreeMap::new();
    let kernel = kernel.into_iter().map(|counter| (Side::Kernel, counter));
    let own = own.into_iter().map(|counter| (Side::Driver, counter));
    for (side, (name, count)) in kernel.chain(own).filter(|(_, (_, count))| **count > 0) {
        if let Some((meaning, form)) = form(driver, side, name)
            && meaning == wanted
        {
            sums.entry((side, form))
                .and_modify(|sum| sum.add(form, *count))
                .or_insert_with(|| Tally {
                    counter: name.trim().to_owned(),
                    count: *count,
                });
        }
    }
    let mut sums: Vec<Tally> = sums.into_values().collect();
    sums.sort_by_key(|sum| Reverse(sum.count));
    sums
}

impl Tally {
    /// One more of the same form.
    fn add(&mut self, form: &str, count: u64) {
        self.counter = form.replace('#', "N").replace('*', "");
        self.count = self.count.saturating_add(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(
        driver: &str,
        wanted: Meaning,
        kernel: &[(&str, u64)],
        own: &[(&str, u64)],
    ) -> Option<(String, u64)> {
        let map = |counters: &[(&str, u64)]| {
            let counters = counters
                .iter()
                .map(|(name, count)| ((*name).to_owned(), *count));
            counters.collect::<BTreeMap<String, u64>>()
        };
        let (kernel, own) = (map(kernel), map(own));
        let tally = tally(Some(driver), wanted, &kernel, &own)?;
        Some((tally.counter, tally.count))
    }

    #[test]
    fn the_ring_is_full_where_the_driver_says_so() {
        let full = |driver: &str, kernel: &[(&str, u64)], own: &[(&str, u64)]| {
            counted(driver, Meaning::FullRing, kernel, own).map(|(_, count)| count)
        };
        for (driver, counter) in [
            ("mlx5_core", "rx_out_of_buffer"),
            ("ixgbe", "rx_no_dma_resources"),
            ("igb", "rx_queue_3_drops"),
            ("ice", "rx_dropped.nic"),
            ("bnxt_en", "[2]: rx_discards"),
            ("bnxt_en", "rx_total_discard_pkts"),
            ("vmxnet3", "  pkts rx OOB"),
            ("vmxnet3", "pkts rx OOB"),
            ("sfc", "port_rx_nodesc_drops"),
            ("enic", "rx_no_bufs"),
            ("qede", "no_buff_discards"),
            ("ena", "rx_overruns"),
            ("gve", "rx_no_buffers_posted[1]"),
            ("mana", "hc_rx_discards_no_wqe"),
            ("nfp", "dev_rx_discards"),
        ] {
            assert_eq!(
                full(driver, &[], &[(counter, 7)]),
                Some(7),
                "{driver} {counter}"
            );
        }
        for (driver, counter) in [
            ("mlx5_core", "rx_steer_missed_packets"),
            ("mlx5_core", "rx_xdp_drop"),
            ("mlx5_core", "tx_queue_dropped"),
            ("mlx5_core", "rx_discards_phy"),
            ("bnxt_en", "rx_filter_discards"),
            ("ice", "tx_dropped_link_down.nic"),
            ("igb", "dropped_smbus"),
            ("igb", "rx_no_buffer_count"),
            ("i40e", "port.rx_discards"),
            ("newnic", "rx_ring_full_drops"),
        ] {
            assert_eq!(
                full(driver, &[], &[(counter, 7)]),
                None,
                "{driver} {counter}"
            );
        }
        assert_eq!(full("newnic", &[("rx_missed_errors", 3)], &[]), Some(3));
        assert_eq!(full("newnic", &[("rx_dropped", 3)], &[]), None);
        assert_eq!(
            full("sfc", &[("rx_fifo_errors", 3)], &[]),
            None,
            "the port's"
        );
        assert_eq!(full("igb", &[("rx_fifo_errors", 3)], &[]), Some(3));
    }

    #[test]
    fn queues_are_added_and_other_names_are_not() {
        let own = [
            ("[0]: rx_discards", 5),
            ("[1]: rx_discards", 6),
            ("rx_total_discard_pkts", 11),
        ];
        let kernel = [("rx_missed_errors", 11)];
        let full = Meaning::FullRing;
        assert_eq!(
            counted("bnxt_en", full, &kernel, &own),
            Some(("rx_missed_errors".to_owned(), 11))
        );
        assert_eq!(
            counted("bnxt_en", full, &[], &own[..2]),
            Some(("[N]: rx_discards".to_owned(), 11))
        );
        assert_eq!(
            counted("bnxt_en", full, &[], &[("rx_total_discard_pkts", 0)]),
            None
        );
    }

    #[test]
    fn reasons_are_told_apart() {
        for (driver, counter, wanted) in [
            ("mlx5_core", "rx_steer_missed_packets", Meaning::Filter),
            ("mlx5_core", "rx3_xdp_drop", Meaning::Xdp),
            ("mlx5_core", "tx_queue_dropped", Meaning::TxQueue),
            ("mlx5_core", "rx_discards_phy", Meaning::PortBuffer),
            ("mlx5_core", "outbound_pci_stalled_wr_events", Meaning::Pcie),
            ("mlx5_core", "tx_pause_ctrl_phy", Meaning::PauseSent),
            ("mlx5_core", "rx_prio3_pause", Meaning::PriorityPause),
            ("mlx5_core", "rx_crc_errors_phy", Meaning::Cable),
            ("ice", "tx_dropped_link_down.nic", Meaning::LinkDown),
            ("ice", "link_xoff_tx.nic", Meaning::PauseSent),
            ("i40e", "port.link_xoff_rx", Meaning::PauseReceived),
            ("igb", "dropped_smbus", Meaning::Management),
            ("ixgbe", "tx_flow_control_xoff", Meaning::PauseSent),
            ("ena", "bw_in_allowance_exceeded", Meaning::Allowance),
            ("cxgb4", "rx_length_errors       ", Meaning::Length),
            ("newnic", "tx_pause_frames", Meaning::PauseSent),
        ] {
            assert_eq!(
                meaning(Some(driver), counter),
                Some(wanted),
                "{driver} {counter}"
            );
        }
        assert_eq!(meaning(Some("mlx5_core"), "rx_mystery_drops"), None);
        assert_eq!(meaning(None, "rx_queue_0_drops"), None);
    }
}
