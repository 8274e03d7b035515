//! What a guest's virtio NICs are like: what device and driver agree on, and how kicks reach the device.

use super::{OnOff, VmNic, VmParams};

/// Switches of a virtio NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Virtio {
    /// Packed rings instead of split ones (VIRTIO 1.2, 2.8) \[off\].
    pub packed: bool,
    /// A descriptor may stand for a table of them (VIRTIO_F_INDIRECT_DESC) \[on\].
    pub indirect_desc: bool,
    /// A frame may fill several receive buffers (VIRTIO_NET_F_MRG_RXBUF) \[on\].
    pub mrg_rxbuf: bool,
    /// Kicks reach a thread by a descriptor, and the virtual CPU goes on \[on\].
    pub ioeventfd: bool,
    /// The device spreads received frames over its queues by a hash (VIRTIO_NET_F_RSS) \[off\].
    pub rss: bool,
    /// The device's accesses go through an IOMMU (VIRTIO_F_ACCESS_PLATFORM) \[off\].
    pub iommu: bool,
}

/// As QEMU makes them when it is told nothing.
impl Default for Virtio {
    fn default() -> Self {
        Self {
            packed: false,
            indirect_desc: true,
            mrg_rxbuf: true,
            ioeventfd: true,
            rss: false,
            iommu: false,
        }
    }
}

impl Virtio {
    pub(super) fn of(given: &VmParams) -> Self {
        let on = |given: Option<OnOff>, default| given.map_or(default, |given| given == OnOff::On);
        let usual = Self::default();
        Self {
            packed: on(given.packed, usual.packed),
            indirect_desc: on(given.indirect_desc, usual.indirect_desc),
            mrg_rxbuf: on(given.mrg_rxbuf, usual.mrg_rxbuf),
            ioeventfd: on(given.ioeventfd, usual.ioeventfd),
            rss: on(given.rss, usual.rss),
            iommu: on(given.iommu, usual.iommu),
        }
    }
}

impl VmParams {
    /// The first switch of a virtio NIC that was given, by its key.
    pub(crate) fn virtio_key(&self) -> Option<&'static str> {
        let keys = [
            ("packed", self.packed),
            ("indirect_desc", self.indirect_desc),
            ("mrg_rxbuf", self.mrg_rxbuf),
            ("ioeventfd", self.ioeventfd),
            ("rss", self.rss),
            ("iommu", self.iommu),
        ];
        keys.into_iter().find_map(|(key, given)| given.map(|_| key))
    }
}

impl VmNic {
    /// Whether the guest's driver is virtio-net.
    pub fn is_virtio(self) -> bool {
        !matches!(self, Self::E1000 | Self::Sriov | Self::Macvlan)
    }

    /// Whether the kernel or a switch reads and writes the rings, where it can.
    pub fn on_vhost(self) -> bool {
        self.is_virtio() && !matches!(self, Self::VirtioNet | Self::AfXdp)
    }
}
