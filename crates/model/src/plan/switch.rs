//! The switches between the two namespaces of a path, beside the plain bridge.

/// A switch between the two namespaces of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SwitchKind {
    /// The kernel's bridge, frames tagged on the wire.
    VlanBridge,
    /// Open vSwitch: its kernel datapath, or the one in its own process.
    Ovs,
    /// Open vSwitch with DPDK's polling threads.
    OvsDpdk,
    /// DPDK's `testpmd`, which passes every frame from one port to the other.
    Testpmd,
}

impl SwitchKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::VlanBridge, Self::Ovs, Self::OvsDpdk, Self::Testpmd];

    /// As plans write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::VlanBridge => "vlan-bridge",
            Self::Ovs => "ovs",
            Self::OvsDpdk => "ovs-dpdk",
            Self::Testpmd => "testpmd",
        }
    }

    /// The switch that plans call `word`.
    pub(super) fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Keys of its `[[path]]`.
    pub(super) fn keys(self) -> &'static [&'static str] {
        match self {
            Self::VlanBridge => &["kind", "tagging"],
            Self::Ovs => &["kind", "datapath", "tagging"],
            Self::OvsDpdk => &["kind", "vdev", "cores", "queues"],
            Self::Testpmd => &["kind", "vdev", "pci", "a", "b", "cores", "queues"],
        }
    }
}
