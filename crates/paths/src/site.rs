//! A namespace of a path.

use nicety_model::Note;
use nicety_model::note::PathNote;
use nicety_netdev::ethtool::Ethtool;
use nicety_netdev::link::Links;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::sysctl;

use crate::interface::CARRIER_LIMIT;
use crate::path::PathPort;

/// A namespace with the handles needed to build in it.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) ns: NetNs,
    pub(crate) links: Links,
    pub(crate) ethtool: Ethtool,
}

impl Site {
    /// A new namespace without IPv6 chatter; says so in `notes` where that cannot be had.
    pub(crate) fn create(name: &str, notes: &mut Vec<Note>) -> Result<Self, NetError> {
        let ns = NetNs::create(name)?;
        if let Err(error) = sysctl::disable_ipv6(&ns) {
            let note = PathNote::Ipv6Stays {
                namespace: name.to_owned(),
                error: error.to_string(),
            };
            notes.push(note.into());
        }
        Ok(Self {
            links: Links::open(&ns)?,
            ethtool: Ethtool::open(&ns)?,
            ns,
        })
    }

    /// The finished interface as a port of the tester.
    pub(crate) fn port(&self, name: &str) -> Result<PathPort, NetError> {
        let link = self.links.wait_carrier(name, CARRIER_LIMIT)?;
        Ok(PathPort {
            ns: self.ns.clone(),
            name: link.name,
            index: link.index,
            mac: link.mac.unwrap_or_default(),
            mtu: link.mtu,
            // Only information: an interface whose driver does not say has none.
            speed_mbps: self.ethtool.speed_mbps(name).unwrap_or(None),
        })
    }

    /// Sets an interface up.
    pub(crate) fn set_up(&self, name: &str) -> Result<(), NetError> {
        self.links.set_up(name)
    }
}
