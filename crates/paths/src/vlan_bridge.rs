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

use nicety_model::path::Tagging;
use nicety_netdev::net_error::NetError;

use crate::counters::{PathCounters, Role};
use crate::endpoint_site::EndpointSite;
use crate::error::PathError;
use crate::interface::{CARRIER_LIMIT, up};
use crate::neighbours;
use crate::path::{Neighbours, Path, PathFacts};
use crate::resettable::Resettable;
use crate::rig::{Rig, RigSpec};
use crate::vlan::{self, SUB_INTERFACES, VLAN};

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
        let mut rig = Rig::build("vlan-bridge", spec)?;
        vlan::keep_tags(&rig)?;
        match tagging {
            Tagging::SubInterface => sub_interfaces(&rig)?,
            Tagging::Filtering => filtering(&rig)?,
        }
        rig.dut.set_up("br0")?;
        rig.dut.links.wait_carrier("br0", CARRIER_LIMIT)?;
        rig.facts.vlan = Some(VLAN);
        rig.joined(false);
        Ok(Self { rig, tagging })
    }
}

fn sub_interfaces(rig: &Rig) -> Result<(), PathError> {
    let links = &rig.dut.links;
    for side in [0, 1] {
        vlan::sub_interface(rig, side)?;
    }
    links.add_bridge("br0")?;
    rig.enslave(SUB_INTERFACES, links.get("br0")?.index)?;
    for name in SUB_INTERFACES {
        rig.dut.set_up(name)?;
        links.wait_carrier(name, CARRIER_LIMIT)?;
    }
    Ok(())
}

fn filtering(rig: &Rig) -> Result<(), PathError> {
    let links = &rig.dut.links;
    vlan::filtering_bridge(rig, "br0")?;
    rig.enslave(vlan::ENDS, links.get("br0")?.index)?;
    for name in vlan::ENDS {
        links.allow_vlan(links.get(name)?.index, VLAN)?;
    }
    Ok(())
}

impl Path for VlanBridgePath {
    fn facts(&self) -> &PathFacts {
        &self.rig.facts
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

    fn resettable(&self) -> Option<&dyn Resettable> {
        Some(&self.rig)
    }

    fn neighbours(&mut self) -> Option<&mut dyn Neighbours> {
        Some(self)
    }
}

impl Neighbours for VlanBridgePath {
    fn add(&mut self, pairs: u32) -> Result<Vec<[EndpointSite; 2]>, PathError> {
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
            links.change(&member, &up(Some(links.get("br0")?.index)))?;
            if tagging == Tagging::Filtering {
                links.allow_vlan(links.get(inner)?.index, VLAN)?;
            }
            joining.tagged(VLAN)
        })
    }
}
