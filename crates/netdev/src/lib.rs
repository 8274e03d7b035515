//! Talks to the kernel about network interfaces: netlink, ethtool, tc, devlink, namespaces and the
//! privilege they need.

pub mod conntrack;
pub mod cpu_set;
pub mod devlink;
pub mod ethtool;
mod genetlink;
#[doc(hidden)]
pub mod hostile;
pub mod hwtstamp;
mod ifreq;
pub mod link;
pub mod napi;
pub mod net_admin;
pub mod net_error;
mod netlink;
pub mod netns;
pub mod ns_sysfs;
pub mod only;
pub mod openvswitch;
pub mod path_mtu;
pub mod peers;
pub mod phc;
pub mod pid_namespace;
pub mod policer;
pub mod privilege;
pub mod program;
pub mod qdisc;
mod raw;
pub mod route;
pub mod runtime_dir;
pub mod schedule;
pub mod shaper;
pub mod sysctl;
pub mod tap;
mod tc;
pub mod team;
pub mod traffic_control;
pub mod undo_log;
pub mod vf;
pub mod wireguard;
pub mod xdp_features;
pub mod xps;
