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
    /// Back end: `tap`, `bridge`, `vhost-user`, `user`, `socket`, `vfio`.
    pub backend: String,
    /// Interface on the host, or PCI address of a function, when it is known.
    pub interface: Option<String>,
    /// Its interface is in another network namespace than the host's.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub other_namespace: bool,
    /// Bridge that QEMU's helper puts its tap into (`br`).
    pub bridge: Option<String>,
    /// Physical function of a virtual one, by PCI address (sysfs `physfn`, `virtfn*`).
    pub physfn: Option<String>,
    /// NUMA node of the function that the guest has (sysfs `numa_node`).
    pub numa_node: Option<u32>,
    /// Frames are moved by vhost in the kernel.
    pub vhost: Option<bool>,
    /// Pairs of queues of the back end.
    pub queues: Option<u32>,
    /// Device model: `virtio-net-pci`.
    pub model: Option<String>,
    /// The device offers the guest more than one pair of queues (`mq`); of virtio only.
    pub mq: Option<bool>,
    /// Interrupts of the device (`vectors`).
    pub vectors: Option<u32>,
    /// Descriptors of each receive queue (`rx_queue_size`).
    pub rx_queue_size: Option<u32>,
    /// Descriptors of each transmit queue (`tx_queue_size`).
    pub tx_queue_size: Option<u32>,
    /// Packed virtqueues (`packed`).
    pub packed: Option<bool>,
    /// The device works behind the guest's IOMMU (`iommu_platform`).
    pub iommu_platform: Option<bool>,
    /// Offloads that the command line switches off, by their properties: `guest_tso4`, `csum`,
    /// `vnet_hdr`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub offloads_off: Vec<String>,
}

impl VmNic {
    /// A virtio device; `None` where the model is not known. QEMU emulates every other one.
    pub fn is_virtio(&self) -> Option<bool> {
        Some(self.model.as_ref()?.starts_with("virtio-net"))
    }
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
