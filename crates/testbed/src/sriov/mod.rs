//! Virtual functions of one port as ways to a guest.
//!
//! ```text
//!  namespace A                     guest                      namespace B
//!      a = vf 0 ..(NIC).. vf 1 - kernel bridge - vf 2 ..(NIC).. vf 3 = b
//! ```
//!
//! The NIC's own switch carries the frames between the tester's functions and the guest's, on a
//! VLAN for either half, whose tags it adds and removes itself. Nothing gets onto the wire.

mod counted;
mod functions;
mod undo;

use nicety_host::link::{LinkChange, Mac};
use nicety_model::FrameSize;

use crate::error::PathError;
use crate::rig::{MAC_A, MAC_B, Rig};
use crate::veth::{self, Site};
pub(crate) use functions::{FunctionSet, GUESTS};
pub(crate) use undo::undo_left;

/// Longest wait for a function's link.
pub(crate) const LINK_LIMIT: std::time::Duration = std::time::Duration::from_secs(20);
/// What every function takes without being asked.
const MTU: u32 = 1500;

/// The tester's stations beyond the guest's NICs: NIC 0 takes frames for the one at B, NIC 1
/// for the one at A.
pub(crate) const STATIONS: [Mac; 2] = [MAC_B, MAC_A];

/// Functions with the tester's two in their namespaces; the guest's belong to nobody yet.
/// `macs` are the guest's; there are functions for `pairs` pairs of neighbours, or for as many as
/// the port can have.
pub(crate) fn rig(
    pf: &str,
    macs: [Mac; 2],
    largest: FrameSize,
    pairs: u32,
) -> Result<Rig, PathError> {
    let set = FunctionSet::make(pf, [MAC_A, macs[0], macs[1], MAC_B], pairs)?;
    let mut notes = Vec::new();
    let (a, dut, b) = (
        Site::create("A", &mut notes)?,
        Site::create("DUT", &mut notes)?,
        Site::create("B", &mut notes)?,
    );
    for (vf, site, name) in [(0, &a, "a"), (3, &b, "b")] {
        set.interface(vf, &site.ns, name)?;
        set_up(site, name, largest)?;
        site.links.wait_carrier(name, LINK_LIMIT)?;
    }
    notes.extend(set.not_counted());
    notes.push(format!(
        "virtual functions of {pf}: its own switch carries frames between the tester's and the guest's"
    ));
    Ok(Rig {
        functions: Some(set),
        ports: [a.port("a")?, b.port("b")?],
        a,
        dut,
        b,
        threads: Vec::new(),
        notes,
    })
}

/// Sets a function up for frames of `largest` bytes.
pub(crate) fn set_up(site: &Site, name: &str, largest: FrameSize) -> Result<(), PathError> {
    let needed = largest.mtu_needed();
    if needed > MTU {
        let change = LinkChange {
            mtu: Some(needed),
            ..LinkChange::default()
        };
        site.links.change(name, &change)?;
    }
    Ok(veth::set_up(site, name)?)
}
