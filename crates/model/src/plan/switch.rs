//! The switches that are programs of their own.

/// A switch between the two namespaces of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SwitchKind {
    /// Open vSwitch: its kernel datapath, or the one in its own process.
    Ovs,
    /// Open vSwitch with DPDK's polling threads.
    OvsDpdk,
    /// DPDK's `testpmd`, which passes every frame from one port to the other.
    Testpmd,
}

impl SwitchKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ovs, Self::OvsDpdk, Self::Testpmd];

    /// As plans write it.
    pub fn word(self) -> &'static str {
        match self {
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
            Self::Ovs => &["kind", "datapath"],
            Self::OvsDpdk | Self::Testpmd => &["kind", "vdev", "cores", "queues"],
        }
    }
}
