//! Reads and changes the host: procfs, sysfs, netlink, ethtool, namespaces, topology.

pub mod clock;
pub mod cpu_load;
pub mod fingerprint;
pub mod placement;
pub mod softnet;
pub mod tasks;
pub mod topology;
