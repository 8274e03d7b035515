//! Virtual machines of this host.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What runs the machine.
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
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct VmFacts {
    /// Kind.
    pub kind: VmKind,
    /// Name, as far as it has one.
    pub name: String,
    /// Process, of QEMU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Start of the process in ticks since boot, which tells it from a later one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_ticks: Option<u64>,
    /// Uses KVM.
    #[serde(skip_serializing_if = "Option::is_none")]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_cpu: Option<u32>,
}

/// A network device of a virtual machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct VmNic {
    /// Back end: `tap`, `vhost-user`, `user`, `socket`, `vfio`.
    pub backend: String,
    /// Interface on the host, when it is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Frames are moved by vhost in the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vhost: Option<bool>,
    /// Pairs of queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<u32>,
    /// Device model: `virtio-net-pci`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// What Xen tells its first domain (`xl info`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct XenFacts {
    /// CPUs of the machine, not of the domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Nodes of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// Cores per socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores_per_socket: Option<u32>,
    /// Threads per core.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads_per_core: Option<u32>,
    /// Memory in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// Command line of the hypervisor.
    #[serde(skip_serializing_if = "Option::is_none")]
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
