//! The VLAN of paths whose frames are tagged on the wire.

use nicety_model::Remedy;
use nicety_netdev::net_error::NetError;

use crate::error::PathError;
use crate::rig::Rig;

/// The VLAN. Any would do; this one is in no switch's reserved range.
pub(crate) const VLAN: u16 = 100;
/// Names of its sub-interfaces.
pub(crate) const SUB_INTERFACES: [&str; 2] = ["d0.100", "d1.100"];
/// The interfaces below it.
pub(crate) const ENDS: [&str; 2] = ["d0", "d1"];
/// With it on, a veth hands the tag over beside the frame instead of in it, and an XDP program
/// at the other end sees no tag.
const TAG_BESIDE_FRAME: &str = "tx-vlan-hw-insert";

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
