//! Limits that other programs have set at a port, and whose they are.
//!
//! What a limit is worth follows from what the kernel does with frames, and from nothing else: a name, a comment or a
//! likely program never stands in for a missing part. Whose it is follows from the numbers that a program always
//! uses, and only where all of them fit; else somebody has set it by hand, or another program with tc(8).
//!
//! Shapes, with the function that makes them:
//!
//! | By | Owner sends (ingress of the port) | Owner receives (root of the port) |
//! |---|---|---|
//! | libvirt, `virNetDevBandwidthSet` of src/util/virnetdevbandwidth.c | `u32` for all, `police` with `mtu 64kb` | `htb 1:`, class `1:1`, leaf `2:`, `fw` filter of priority 1 |
//! | Proxmox, `setup_tc_rate_limit` of src/PVE/Network.pm | `basic` of priority 50, `police` with `mtu 64kb` | `htb 1:`, class `1:1`, nothing else |
//! | Open vSwitch, `netdev_linux_set_policing` and `htb_parse_qdisc_details__` of lib/netdev-linux.c | `matchall` of priority 1 (3.1), or `basic` or `matchall` of 49, `police` with `mtu 65535` | `htb 1:`, class `1:fffe` above all others |
//! | Neutron's Linux bridge, `_add_policy_filter` and `set_tbf_bw_limit` of neutron/agent/linux/tc_lib.py | as Open vSwitch | `tbf` |
//! | CNI bandwidth, `CreateEgressQdisc` and `createTBF` of plugins/meta/bandwidth/ifb_creator.go | `u32` of priority 1 to an `ifb` named `bwp…` with `tbf 1:` | `tbf 1:` |
//!
//! What the kernel tells of each is recorded in crates/netdev/tests/traffic_control.

pub mod import;
mod ingress;
mod root;

use std::collections::BTreeMap;
use std::fmt;

use nicety_model::BitRate;
use nicety_model::traffic_control::{
    Bucket, FIRST, Filter, Handle, NoWayBack, Recorded, RecordedLimit, TrafficControl,
};

use crate::policy::LEAST_RATE;

/// Depth of Proxmox's buckets, which is told in ticks of 64 ns.
const BURST_PROXMOX: u64 = 1 << 20;
const TICKS: u64 = 4096;

/// An interface of a host, as far as limits need it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interface {
    /// Name.
    pub name: String,
    /// The switch that it is a port of.
    pub switch: Option<Switch>,
    /// What limits it.
    pub control: TrafficControl,
}

/// A switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// A bridge of the kernel.
    Bridge,
    /// Open vSwitch's datapath.
    OpenVSwitch,
}

/// Who has set a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// libvirt, for `<bandwidth>` or `virsh domiftune`.
    Libvirt,
    /// Proxmox VE, for `rate=` of a guest's NIC.
    Proxmox,
    /// Open vSwitch, for `ingress_policing_rate` or a QoS of type `linux-htb`.
    OpenVSwitch,
    /// The Linux bridge agent of OpenStack Neutron.
    Neutron,
    /// The bandwidth plugin of CNI, for a pod.
    Cni,
    /// tc(8), by hand or from a program that is not known.
    Tc,
}

impl fmt::Display for By {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Libvirt => "libvirt",
            Self::Proxmox => "Proxmox",
            Self::OpenVSwitch => "Open vSwitch",
            Self::Neutron => "Neutron",
            Self::Cni => "CNI",
            Self::Tc => "tc",
        })
    }
}

/// Which of an owner's frames are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// What it sends: it comes in at the port.
    Sends,
    /// What it receives: it goes out of the port.
    Receives,
}

/// A limit of somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adopted {
    /// Whose.
    pub by: By,
    /// Of which frames.
    pub way: Way,
    /// What the owner gets at most.
    pub rate: BitRate,
    /// Bytes that may pass at once beyond it.
    pub burst_bytes: u64,
    /// Priority of its filter: lower ones are asked first. 0 at the root, where there is none.
    pub priority: u16,
    /// Where a discipline gets all that it lets pass; none where that is in several places, and at the ingress.
    pub under: Option<Handle>,
    /// The kernel's messages about all its parts, in the order in which they were made: what puts it back.
    pub parts: Vec<Recorded>,
}

impl Adopted {
    /// As it is kept until it is given back.
    pub fn record(&self) -> RecordedLimit {
        RecordedLimit {
            words: format!("{} of {}", self.rate, self.by),
            parts: self.parts.clone(),
        }
    }

    /// Why it cannot be shared below; none where a filter of nicety's can come before it, or a bucket below.
    pub fn bars(&self) -> Option<Unknown> {
        let (by, most, priority) = (self.by, self.rate, self.priority);
        match self.way {
            Way::Sends => (priority <= FIRST).then_some(Unknown::First { by, most, priority }),
            Way::Receives => self
                .under
                .is_none()
                .then_some(Unknown::Several { by, most }),
        }
    }

    /// Whether it is the same as it was at another look, but for what it counts: nobody is making it.
    pub fn is_as(&self, before: &Self) -> bool {
        let said = |it: &Self| (it.by, it.rate, it.burst_bytes, it.parts.len());
        said(self) == said(before)
    }
}

/// Something that is no limit, or none that can be said in one number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// A discipline that is no token bucket.
    #[error("{kind} {handle} at the {} does not limit by a rate", at(*.way))]
    Kind {
        /// Which frames.
        way: Way,
        /// Kind of the discipline.
        kind: String,
        /// Its number.
        handle: Handle,
    },
    /// Filters that do something else.
    #[error("{filters} filters of it do more than limit all frames to one rate")]
    Filters {
        /// How many there are.
        filters: usize,
    },
    /// A filter for some frames only.
    #[error("a {kind} filter of priority {priority} takes only some frames")]
    Some {
        /// Kind of the filter.
        kind: String,
        /// Its priority.
        priority: u16,
    },
    /// A BPF program, which a limit before it would hide frames from.
    #[error(
        "{who} decides about its frames by a filter of priority {priority}, and would see none behind a limit"
    )]
    Program {
        /// Whose it is.
        who: String,
        /// Priority of its filter.
        priority: u16,
    },
    /// A policer that lets pass what is above, or counts packets.
    #[error("a policer of priority {priority} marks frames or counts packets")]
    NoRate {
        /// Priority of its filter.
        priority: u16,
    },
    /// A redirect to an interface that limits nothing.
    #[error("frames go on to interface {to}, which has no token bucket")]
    Elsewhere {
        /// Name, or number where there is none.
        to: String,
    },
    /// A limit that no filter can come before.
    #[error(
        "{by} limits it to {most} by a filter of priority {priority}, and none can come before that; adopt = \"replace\" takes its place"
    )]
    First {
        /// Whose limit it is.
        by: By,
        /// Its rate.
        most: BitRate,
        /// Priority of its filter.
        priority: u16,
    },
    /// A limit at the root that has several classes.
    #[error(
        "{by} limits it to {most} by several classes, and nothing can come below all of them; adopt = \"replace\" takes their place"
    )]
    Several {
        /// Whose limit it is.
        by: By,
        /// Its rate.
        most: BitRate,
    },
    /// A limit that is lower than nicety can set one.
    #[error("{by} limits it to {most}, less than the least that nicety sets, {LEAST_RATE}", LEAST_RATE = LEAST_RATE)]
    Low {
        /// Whose limit it is.
        by: By,
        /// Its rate.
        most: BitRate,
    },
    /// A limit that could not be given back as it was.
    #[error("{by} limits it to {most}, and that could not be given back as it was: {why}")]
    NoWayBack {
        /// Whose limit it is.
        by: By,
        /// Its rate.
        most: BitRate,
        /// Why not.
        why: NoWayBack,
    },
    /// Classes of which not one takes all.
    #[error("htb {handle} has {classes} classes, and none of them takes all frames")]
    Classes {
        /// Number of the discipline.
        handle: Handle,
        /// How many.
        classes: usize,
    },
}

impl Unknown {
    /// Whether it is at the root, where a port's owner receives.
    pub fn is_at_root(&self) -> bool {
        match self {
            Self::Kind { way, .. } => *way == Way::Receives,
            Self::Classes { .. } => true,
            _ => false,
        }
    }

    /// Whether it is something that nicety does not know; else a limit that it cannot take.
    pub fn is_strange(&self) -> bool {
        !matches!(
            self,
            Self::First { .. } | Self::Several { .. } | Self::Low { .. } | Self::NoWayBack { .. }
        )
    }
}

/// Whether a bucket is as deep as Proxmox makes them.
fn is_deep_as_proxmoxs(bucket: Bucket) -> bool {
    bucket.burst_bytes.abs_diff(BURST_PROXMOX) < TICKS
}

const fn at(way: Way) -> &'static str {
    match way {
        Way::Sends => "ingress",
        Way::Receives => "root",
    }
}

/// What was found at a port. What nicety has set itself is nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// What limits what the owner sends.
    pub sends: Option<Result<Adopted, Unknown>>,
    /// What limits what it receives.
    pub receives: Option<Result<Adopted, Unknown>>,
}

/// Looks at an interface by number, among all of its host.
pub fn look(index: u32, host: &BTreeMap<u32, Interface>) -> Found {
    let Some(interface) = host.get(&index) else {
        return Found::default();
    };
    let sends = ingress::look(interface, host);
    let mut receives = root::look(interface);
    if let Some(Ok(receives)) = &mut receives {
        // The tbf of Neutron has no numbers of its own: it is told by the policer beside it.
        let beside = matches!(&sends, Some(Ok(sends)) if sends.by == By::Neutron);
        if beside && receives.by == By::Tc {
            receives.by = By::Neutron;
        }
    }
    Found { sends, receives }
}

/// The limit of what the owner sends that these filters, which are kept to be given back, would be at an interface
/// now. None where they limit nothing any more: what they refer to is gone.
pub fn held(
    index: u32,
    host: &BTreeMap<u32, Interface>,
    filters: impl IntoIterator<Item = Filter>,
) -> Option<Adopted> {
    let mut interface = host.get(&index)?.clone();
    interface.control.filters.extend(filters);
    ingress::look(&interface, host)?.ok()
}

/// The limit of what the owner receives that these parts, which are kept to be given back, are.
pub fn held_at_root(control: TrafficControl) -> Option<Adopted> {
    let interface = Interface {
        control,
        ..Interface::default()
    };
    root::look(&interface)?.ok()
}

#[cfg(test)]
mod tests;
