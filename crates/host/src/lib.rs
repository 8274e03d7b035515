//! Reads and changes the host: procfs, sysfs, netlink, ethtool, namespaces, topology.

pub mod ethtool;
mod genetlink;
pub mod link;
pub mod napi;
pub mod net_error;
mod netlink;
pub mod netns;
pub mod ns_sysfs;
pub mod privilege;
pub mod sysctl;
pub mod clock;
pub mod cpu_load;
pub mod fingerprint;
pub mod placement;
pub mod softnet;
pub mod tasks;
pub mod topology;
