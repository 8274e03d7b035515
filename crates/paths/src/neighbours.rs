//! More endpoints on the switch of a path: pairs of namespaces that flood it beside a test.
//!
//! ```text
//!  namespace: a --- d2 - [switch] - d3 --- a :namespace
//! ```

use std::time::Duration;

use nicety_netdev::ethtool::Ethtool;
use nicety_netdev::link::{Links, Share, VethEnd};
use nicety_netdev::netns::NetNs;

use crate::endpoint_site::{EndpointSite, MOST_NEIGHBOURS};
use crate::error::PathError;
use crate::interface::CARRIER_LIMIT;
use crate::rig::Rig;
use crate::sriov::{FunctionSet, LINK_LIMIT};

/// Name of every neighbour's interface.
const PORT: &str = "a";

/// An interface that is to join a switch.
pub(crate) struct Joining<'a> {
    /// The switch's namespace.
    pub(crate) middle: &'a Links,
    /// The interface there, up.
    pub(crate) inner: &'a str,
    /// Number in its name.
    pub(crate) number: usize,
    /// The neighbour's namespace.
    pub(crate) there: &'a Links,
}

impl Joining<'_> {
    /// For a switch that is a program and sees frames as they are: nothing is left to the
    /// interface, nothing is put together.
    pub(crate) fn whole_frames(&self) -> Result<(), PathError> {
        Ethtool::open(self.middle.ns())?.set_features(self.inner, &[("rx-gro", false)])?;
        let there = Ethtool::open(self.there.ns())?;
        there.set_features(PORT, &[("tx-checksum-ip-generic", false)])?;
        Ok(())
    }

    /// A VLAN sub-interface at the neighbour's end, for a switch whose wires carry tags.
    pub(crate) fn tagged(&self, id: u16) -> Result<String, PathError> {
        let name = format!("{PORT}.{id}");
        self.there
            .add_vlan(&name, self.there.get(PORT)?.index, id)?;
        self.there.set_up(&name)?;
        Ok(name)
    }

    /// The interface that gets addresses where frames carry no tags.
    pub(crate) fn plain(&self) -> String {
        PORT.to_owned()
    }
}

/// Makes `pairs` pairs, at most 100, at the switch whose interfaces are in `middle`. `join` gives
/// each interface to the switch and says which one of the neighbour gets addresses.
pub(crate) fn on_switch(
    middle: &NetNs,
    pairs: u32,
    join: &mut dyn FnMut(&Joining<'_>) -> Result<String, PathError>,
) -> Result<Vec<[EndpointSite; 2]>, PathError> {
    let links = Links::open(middle)?;
    let mut one = |number: u8| -> Result<EndpointSite, PathError> {
        let ns = NetNs::create("neighbour")?;
        // `d0` and `d1` are the path's own.
        let inner = format!("d{}", number - 1);
        links.add_veth(VethEnd::plain(middle, &inner), VethEnd::plain(&ns, PORT))?;
        links.set_up(&inner)?;
        let there = raised(&ns, CARRIER_LIMIT)?;
        let interface = join(&Joining {
            middle: &links,
            inner: &inner,
            number: usize::from(number) - 1,
            there: &there,
        })?;
        Ok(EndpointSite::address(ns, &interface, number)?)
    };
    // The ends of the path itself have the numbers 1 and 2.
    (0..pairs.min(MOST_NEIGHBOURS) as u8)
        .map(|pair| Ok([one(2 * pair + 3)?, one(2 * pair + 4)?]))
        .collect()
}

/// Makes `pairs` pairs, at most 100, on macvlans: the first of each on the tester's own interface,
/// the other at the far end of that wire, so that what they send crosses it.
pub(crate) fn on_wire(rig: &Rig, pairs: u32) -> Result<Vec<[EndpointSite; 2]>, PathError> {
    let one = |links: &Links, below: &str, number: u8| -> Result<EndpointSite, PathError> {
        let ns = NetNs::create("neighbour")?;
        let name = format!("n{number}");
        links.add_macvlan(&name, links.get(below)?.index, Share::Bridge)?;
        links.move_to(&name, &ns, PORT)?;
        addressed(ns, number, CARRIER_LIMIT)
    };
    (0..pairs.min(MOST_NEIGHBOURS) as u8)
        .map(|pair| {
            Ok([
                one(&rig.a.links, "a", 2 * pair + 3)?,
                one(&rig.dut.links, "d0", 2 * pair + 4)?,
            ])
        })
        .collect()
}

/// Makes pairs of the virtual functions that were made for neighbours, as many as there are.
pub(crate) fn on_functions(
    functions: &FunctionSet,
    pairs: u32,
) -> Result<Vec<[EndpointSite; 2]>, PathError> {
    let one = |vf: u32| -> Result<EndpointSite, PathError> {
        let ns = NetNs::create("neighbour")?;
        functions.interface(vf, &ns, PORT)?;
        // The path's own four functions come first, its ends have the numbers 1 and 2.
        addressed(ns, vf as u8 - 1, LINK_LIMIT)
    };
    let mut extra = functions.neighbours();
    let mut made = Vec::new();
    while let (Some(near), Some(far)) = (extra.next(), extra.next())
        && made.len() < pairs as usize
    {
        made.push([one(near)?, one(far)?]);
    }
    Ok(made)
}

/// Sets the neighbour's interface up and gives it addresses.
fn addressed(ns: NetNs, number: u8, limit: Duration) -> Result<EndpointSite, PathError> {
    raised(&ns, limit)?;
    Ok(EndpointSite::address(ns, PORT, number)?)
}

/// Sets the neighbour's interface up and waits for its link.
fn raised(ns: &NetNs, limit: Duration) -> Result<Links, PathError> {
    let there = Links::open(ns)?;
    for name in ["lo", PORT] {
        there.set_up(name)?;
    }
    there.wait_carrier(PORT, limit)?;
    Ok(there)
}
