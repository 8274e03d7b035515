//! A host as it is drawn: which work is on which CPU of which node.

/// The whole host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Picture {
    /// NUMA nodes; one without a number where the kernel tells of none.
    pub nodes: Vec<NodePicture>,
    /// What may run on CPUs of several nodes.
    pub anywhere: Vec<Mark>,
    /// Everything that is misplaced, in words.
    pub misplaced: Vec<String>,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodePicture {
    /// Number.
    pub node: Option<u32>,
    /// Memory in MiB.
    pub memory_mib: Option<u64>,
    /// Cores, each with its threads.
    pub cores: Vec<Vec<CpuPicture>>,
    /// NICs whose device hangs on this node, and what they are.
    pub nics: Vec<NicPicture>,
    /// What may run on several CPUs of this node only.
    pub within: Vec<Mark>,
}

/// One CPU.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CpuPicture {
    /// Number.
    pub cpu: u32,
    /// What runs here and nowhere else.
    pub marks: Vec<Mark>,
}

/// A NIC.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NicPicture {
    /// Name.
    pub name: String,
    /// Driver and speed.
    pub about: String,
}

/// What a mark stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkKind {
    /// An interrupt of a NIC.
    Interrupt,
    /// A virtual CPU.
    VirtualCpu,
    /// A thread that moves a virtual machine's frames.
    Vhost,
}

/// Something that runs on CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// What.
    pub kind: MarkKind,
    /// Name: `eth0-TxRx-3`, `web vCPU 1`.
    pub name: String,
    /// Away from the node of its NIC.
    pub misplaced: bool,
    /// The NIC that it works for; absent where nothing tells.
    pub nic: Option<String>,
}
