//! Reads and changes the host: procfs, sysfs, netlink, ethtool, namespaces, topology.

pub mod clock;
pub mod cpu_load;
pub mod ethtool;
pub mod facts;
pub mod fingerprint;
mod genetlink;
pub mod journal;
pub mod knob;
pub mod link;
pub mod napi;
pub mod net_error;
mod netlink;
pub mod netns;
pub mod ns_sysfs;
pub mod only;
pub mod openvswitch;
pub mod placement;
pub mod privilege;
pub mod qdisc;
mod raw;
pub mod shaper;
pub mod softnet;
pub mod sysctl;
pub mod tap;
pub mod tasks;
pub mod topology;
pub mod vf;
