//! Virtual machines of this host.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Hypervisor of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VmKind {
    /// A QEMU process.
    #[default]
    Qemu,
    /// A Xen domain, the first one left out.
    Xen,
}

/// A virtual machine.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct VmFacts {
    /// Kind.
    pub kind: VmKind,
    /// Name, as far as it has one.
    pub name: String,
    /// Process, of QEMU.
    pub pid: Option<u32>,
    /// Start of the process in ticks since boot, which tells it from a later one.
    pub start_ticks: Option<u64>,
    /// Uses KVM.
    pub kvm: Option<bool>,
    /// vCPUs.
    pub vcpus: Vec<VmThread>,
    /// vhost threads.
    pub vhost: Vec<VmThread>,
    /// Network devices.
    pub nics: Vec<VmNic>,
    /// Memory by node in MiB, where it has been touched.
    pub memory_mib: BTreeMap<u32, u64>,
    /// Of that, in huge pages.
    pub huge_mib: u64,
}

/// A thread of a virtual machine, or a vCPU of a Xen domain.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct VmThread {
    /// Thread id; the number of the vCPU under Xen.
    pub tid: u32,
    /// Name: `CPU 0/KVM`, `vhost-4711`.
    pub name: String,
    /// CPUs it may run on.
    pub cpus: Vec<u32>,
    /// CPU it last ran on.
    pub last_cpu: Option<u32>,
}

/// A network device of a virtual machine.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct VmNic {
    /// Back end: `tap`, `vhost-user`, `user`, `socket`, `vfio`.
    pub backend: String,
    /// Interface on the host, when it is named.
    pub interface: Option<String>,
    /// Frames are moved by vhost in the kernel.
    pub vhost: Option<bool>,
    /// Pairs of queues.
    pub queues: Option<u32>,
    /// Device model: `virtio-net-pci`.
    pub model: Option<String>,
}

/// Xen's facts, as its first domain sees them (`xl info`).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct XenFacts {
    /// CPUs of the machine, not of the domain.
    pub cpus: Option<u32>,
    /// Nodes of the machine.
    pub nodes: Option<u32>,
    /// Cores per socket.
    pub cores_per_socket: Option<u32>,
    /// Threads per core.
    pub threads_per_core: Option<u32>,
    /// Memory in MiB.
    pub memory_mib: Option<u64>,
    /// Command line of the hypervisor.
    pub command_line: Option<String>,
    /// vCPUs of the first domain and where they may run.
    pub dom0_vcpus: Vec<VmThread>,
}

impl XenFacts {
    /// CPU threads of one socket.
    pub fn threads_per_socket(&self) -> Option<u32> {
        self.cores_per_socket?.checked_mul(self.threads_per_core?)
    }
}
