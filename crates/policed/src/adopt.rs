//! Reads what other programs have set at the interfaces of a network namespace.

use std::collections::{BTreeMap, BTreeSet};

use nicety_model::traffic_control::TrafficControl;
use nicety_netdev::link::{Link, Links};
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::traffic_control::TrafficControls;
use nicety_police::adopt::{Interface, Switch};

/// The interfaces of a network namespace.
#[derive(Debug)]
pub struct Host {
    controls: TrafficControls,
    links: Links,
}

impl Host {
    /// Those of `ns`.
    ///
    /// # Errors
    /// When the namespace cannot be asked.
    pub fn open(ns: &NetNs) -> Result<Self, NetError> {
        Ok(Self {
            controls: TrafficControls::open(ns)?,
            links: Links::open(ns)?,
        })
    }

    /// What limits some interfaces, and those that their filters send frames to.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn read(&self, indexes: &BTreeSet<u32>) -> Result<BTreeMap<u32, Interface>, NetError> {
        let mut controls = self.controls.read(Some(indexes))?;
        let targets = controls.values().flat_map(TrafficControl::redirects);
        let targets: BTreeSet<u32> = targets.collect();
        let missing = targets.difference(indexes).copied().collect();
        controls.extend(self.controls.read(Some(&missing))?);
        self.named(controls)
    }

    /// What limits all interfaces.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn read_all(&self) -> Result<BTreeMap<u32, Interface>, NetError> {
        self.named(self.controls.read(None)?)
    }

    fn named(
        &self,
        mut controls: BTreeMap<u32, TrafficControl>,
    ) -> Result<BTreeMap<u32, Interface>, NetError> {
        let links = self.links.list()?;
        let kinds: BTreeMap<u32, &str> = links
            .iter()
            .map(|link| (link.index, link.kind.as_str()))
            .collect();
        let switch = |link: &Link| match kinds.get(&link.master?) {
            Some(&"bridge") => Some(Switch::Bridge),
            Some(&"openvswitch") => Some(Switch::OpenVSwitch),
            _ => None,
        };
        let interface = |link: &Link| {
            let interface = Interface {
                name: link.name.clone(),
                switch: switch(link),
                control: controls.remove(&link.index)?,
            };
            Some((link.index, interface))
        };
        Ok(links.iter().filter_map(interface).collect())
    }
}
