//! Two namespaces joined by a kernel bridge, frames tagged on the wire.
//!
//! ```text
//!  sub-interfaces:  a ===== d0 - d0.100 --- br0 --- d1.100 - d1 ===== b
//!  filtering:       a ===== d0 ------------ br0 ------------ d1 ===== b
//! ```
//!
//! `=====` carries tagged frames. With sub-interfaces the kernel takes the tag off before the
//! bridge and puts one on behind it, as hosts do that have a bridge per VLAN. A filtering bridge
//! knows the VLANs of its ports and looks at the tags itself.

use nicety_host::link::LinkChange;
use nicety_host::net_error::NetError;
use nicety_model::Note;
use nicety_model::Remedy;
use nicety_model::path::Tagging;

use crate::counters::{PathCounters, Role};
use crate::endpoints::EndpointSite;
use crate::error::PathError;
use crate::neighbours;
use crate::path::{Coupling, Middle, Path, PathThread, Port};
use crate::rig::{Rig, RigSpec};
use crate::veth::{self, CARRIER_LIMIT};

/// The VLAN. Any would do; this one is in no switch's reserved range.
pub(crate) const VLAN: u16 = 100;
/// Names of its sub-interfaces.
pub(crate) const SUB_INTERFACES: [&str; 2] = ["d0.100", "d1.100"];
/// The interfaces below it.
const ENDS: [&str; 2] = ["d0", "d1"];
/// With it on, a veth hands the tag over beside the frame instead of in it, and an XDP program
/// at the other end sees no tag.
const TAG_BESIDE_FRAME: &str = "tx-vlan-hw-insert";

/// Two namespaces joined by a bridge for one VLAN; gone when dropped.
#[derive(Debug)]
pub struct VlanBridgePath {
    rig: Rig,
    tagging: Tagging,
}

impl VlanBridgePath {
    /// Builds the path and waits until it has carrier everywhere.
    ///
    /// # Errors
    /// [`PathError::NoKernelSupport`] for a kernel without what `tagging` needs, and those of
    /// [`BridgePath::build`](crate::BridgePath::build).
    pub fn build(spec: &RigSpec, tagging: Tagging) -> Result<Self, PathError> {
        let rig = Rig::build(spec)?;
        keep_tags(&rig)?;
        match tagging {
            Tagging::SubInterface => sub_interfaces(&rig)?,
            Tagging::Filtering => filtering(&rig)?,
        }
        veth::set_up(&rig.dut, "br0")?;
        rig.dut.links.wait_carrier("br0", CARRIER_LIMIT)?;
        Ok(Self { rig, tagging })
    }
}

/// Lets the tags stay in the frames at both ends.
pub(crate) fn keep_tags(rig: &Rig) -> Result<(), NetError> {
    for end in ENDS {
        rig.dut
            .ethtool
            .set_features(end, &[(TAG_BESIDE_FRAME, false)])?;
    }
    Ok(())
}

/// Makes the sub-interface of the VLAN on `d0` (side 0) or `d1`.
pub(crate) fn sub_interface(rig: &Rig, side: usize) -> Result<(), PathError> {
    let links = &rig.dut.links;
    let lower = links.get(ENDS[side])?.index;
    links
        .add_vlan(SUB_INTERFACES[side], lower, VLAN)
        .map_err(|error| {
            missing(
                error,
                "VLAN sub-interfaces (8021q)",
                ("modprobe 8021q", "write tagging = \"filtering\""),
            )
        })
}

/// Makes a bridge that tells VLANs apart itself.
pub(crate) fn filtering_bridge(rig: &Rig, name: &str) -> Result<(), PathError> {
    rig.dut.links.add_filtering_bridge(name).map_err(|error| {
        missing(
            error,
            "bridge with VLAN filtering",
            (
                "take a kernel with CONFIG_BRIDGE_VLAN_FILTERING",
                "write tagging = \"sub-interface\"",
            ),
        )
    })
}

fn sub_interfaces(rig: &Rig) -> Result<(), PathError> {
    let links = &rig.dut.links;
    for side in [0, 1] {
        sub_interface(rig, side)?;
    }
    links.add_bridge("br0")?;
    rig.enslave(SUB_INTERFACES, links.get("br0")?.index)?;
    for name in SUB_INTERFACES {
        veth::set_up(&rig.dut, name)?;
        links.wait_carrier(name, CARRIER_LIMIT)?;
    }
    Ok(())
}

fn filtering(rig: &Rig) -> Result<(), PathError> {
    let links = &rig.dut.links;
    filtering_bridge(rig, "br0")?;
    rig.enslave(ENDS, links.get("br0")?.index)?;
    for name in ENDS {
        links.allow_vlan(links.get(name)?.index, VLAN)?;
    }
    Ok(())
}

/// The error of a kernel that does not know what it was asked for.
fn missing(
    error: NetError,
    what: &'static str,
    (here, plan): (&'static str, &'static str),
) -> PathError {
    match error {
        NetError::Unsupported { .. } => PathError::NoKernelSupport {
            what,
            remedy: Remedy::here_or_plan(here, plan),
        },
        other => other.into(),
    }
}

impl Path for VlanBridgePath {
    fn kind(&self) -> &'static str {
        "vlan-bridge"
    }

    fn ports(&self) -> &[Port; 2] {
        &self.rig.ports
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let [near, far] = SUB_INTERFACES;
        match self.tagging {
            // What a sub-interface drops the interface below it has counted already
            // (vlan_dev_hard_start_xmit in net/8021q/vlan_dev.c).
            Tagging::SubInterface => self.rig.counters(&[
                (near, Role::Bridge),
                ("br0", Role::Bridge),
                (far, Role::Bridge),
            ]),
            Tagging::Filtering => self.rig.counters(&[("br0", Role::Bridge)]),
        }
    }

    fn neighbours(&mut self, pairs: u32) -> Result<Vec<[EndpointSite; 2]>, PathError> {
        let tagging = self.tagging;
        neighbours::on_switch(&self.rig.dut.ns, pairs, &mut |joining| {
            let (links, inner) = (joining.middle, joining.inner);
            let member = match tagging {
                Tagging::Filtering => inner.to_owned(),
                Tagging::SubInterface => {
                    let name = format!("{inner}.{VLAN}");
                    links.add_vlan(&name, links.get(inner)?.index, VLAN)?;
                    name
                }
            };
            let change = LinkChange {
                up: Some(true),
                master: Some(links.get("br0")?.index),
                ..LinkChange::default()
            };
            links.change(&member, &change)?;
            if tagging == Tagging::Filtering {
                links.allow_vlan(links.get(inner)?.index, VLAN)?;
            }
            joining.tagged(VLAN)
        })
    }

    fn notes(&self) -> &[Note] {
        &self.rig.notes
    }

    fn threads(&self) -> &[PathThread] {
        &self.rig.threads
    }

    fn vlan(&self) -> Option<u16> {
        Some(VLAN)
    }

    fn middle(&self) -> Option<Middle<'_>> {
        Some(Middle {
            ns: &self.rig.dut.ns,
            userspace: false,
        })
    }

    fn coupling(&self) -> Coupling {
        self.rig.coupling()
    }
}
