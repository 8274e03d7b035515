//! Virtual functions of one port as ways to a guest.
//!
//! ```text
//!  namespace A                     guest                      namespace B
//!      a = vf 0 ..(NIC).. vf 1 - kernel bridge - vf 2 ..(NIC).. vf 3 = b
//! ```
//!
//! The NIC's own switch carries the frames between the tester's functions and the guest's, on a
//! VLAN for either half, whose tags it adds and removes itself. Nothing gets onto the wire. With
//! several guests `b` is the last function, and every guest has two of those between, which have the
//! addresses of the tester's stations for which it carries frames.

mod counted;
mod functions;
mod layout;
mod undo;
mod used;

use nicety_host::link::{LinkChange, Mac};
use nicety_model::FrameSize;
use nicety_model::Note;
use nicety_model::note::PathNote;

use crate::error::PathError;
use crate::rig::{MAC_A, MAC_B, Rig};
use crate::veth::{self, Site};
pub(crate) use functions::FunctionSet;
pub(crate) use layout::of_guest;
pub(crate) use undo::undo_left;
pub(crate) use used::routed;

/// Longest wait for a function's link.
pub(crate) const LINK_LIMIT: std::time::Duration = std::time::Duration::from_secs(20);
/// What every function takes without being asked.
const MTU: u32 = 1500;

/// The tester's stations at A and B that are told of where there is one guest only.
pub(crate) const STATIONS: [Mac; 2] = [MAC_A, MAC_B];

/// Stations that NIC 0 and NIC 1 of a guest take frames for: those at the other side of it.
pub(crate) fn behind([a, b]: [Mac; 2]) -> [Mac; 2] {
    [b, a]
}

/// What a path on functions is like.
pub(crate) struct OnFunctions<'a> {
    /// The port.
    pub(crate) pf: &'a str,
    /// Addresses for NIC 0 and NIC 1 of a guest that is alone.
    pub(crate) macs: [Mac; 2],
    /// The tester's stations at A and B, a pair for each guest. The first ones are the addresses of
    /// its functions.
    pub(crate) stations: &'a [[Mac; 2]],
    /// Largest frame it has to carry.
    pub(crate) largest: FrameSize,
    /// Pairs of neighbours that are to have functions, as far as the port has them.
    pub(crate) neighbours: u32,
}

/// Functions with the tester's two in their namespaces; the guests' belong to nobody yet.
pub(crate) fn rig(spec: &OnFunctions<'_>) -> Result<Rig, PathError> {
    let OnFunctions {
        pf,
        macs,
        stations,
        largest,
        neighbours,
    } = spec;
    let (first, others) = stations
        .split_first()
        .unwrap_or((&STATIONS, Default::default()));
    let guests = match others {
        [] => vec![*macs],
        _ => stations.iter().copied().map(behind).collect(),
    };
    let set = FunctionSet::make(pf, *first, &guests, *neighbours)?;
    let mut notes = Vec::new();
    let (a, dut, b) = (
        Site::create("A", &mut notes)?,
        Site::create("DUT", &mut notes)?,
        Site::create("B", &mut notes)?,
    );
    let ends = [(&a, "a"), (&b, "b")];
    for (vf, (site, name)) in set.of_tester().into_iter().zip(ends) {
        set.interface(vf, &site.ns, name)?;
        set_up(site, name, *largest)?;
        site.links.wait_carrier(name, LINK_LIMIT)?;
    }
    if !others.is_empty() {
        set.trust()?;
    }
    for pair in others {
        for ((site, name), station) in ends.into_iter().zip(pair) {
            site.links.add_station(name, *station)?;
        }
    }
    notes.extend(set.not_counted().map(Note::from));
    let pf = pf.to_string();
    notes.push(PathNote::Functions { pf }.into());
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
