//! The tester's ports on virtual functions, see [`sriov`](crate::sriov).

use nicety_model::FrameSize;
use nicety_model::Note;
use nicety_model::note::PathNote;
use nicety_netdev::link::{LinkChange, Mac};

use crate::error::PathError;
use crate::guest::{STATIONS, behind};
use crate::path::{Coupling, PathFacts};
use crate::rig::Rig;
use crate::site::Site;
use crate::sriov::{FunctionSet, LINK_LIMIT};

/// What every function takes without being asked.
const MTU: u32 = 1500;

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
pub(crate) fn build(spec: &OnFunctions<'_>) -> Result<Rig, PathError> {
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
    let ports = [a.port("a")?, b.port("b")?];
    Ok(Rig {
        functions: Some(set),
        a,
        dut,
        b,
        facts: PathFacts {
            notes,
            own_stations: true,
            ..PathFacts::new("vm", ports, Coupling::Unknown)
        },
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
    Ok(site.set_up(name)?)
}
