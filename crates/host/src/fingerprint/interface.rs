//! Facts about the ports of a run.

use nicety_model::Fingerprint;
use nicety_model::run::InterfaceFacts;
use nicety_netdev::ethtool::{Driver, Ethtool};
use nicety_netdev::link::Links;
use nicety_netdev::netns::NetNs;

/// Adds the facts about these interfaces of this thread's network namespace.
pub fn add_interfaces<'a>(host: &mut Fingerprint, names: impl IntoIterator<Item = &'a str>) {
    for name in names {
        if let Some(facts) = read(name) {
            host.interfaces.insert(name.to_owned(), facts);
        }
    }
}

/// As far as the driver reports.
fn read(name: &str) -> Option<InterfaceFacts> {
    let ns = NetNs::current().ok()?;
    let link = Links::open(&ns).ok()?.get(name).ok()?;
    let ethtool = Ethtool::open(&ns).ok()?;
    let driver = ethtool.driver(name).ok();
    let reported = |text: String| (!text.is_empty()).then_some(text);
    let part = |of: fn(&Driver) -> &String| {
        driver
            .as_ref()
            .and_then(|driver| reported(of(driver).clone()))
    };
    Some(InterfaceFacts {
        driver: part(|driver| &driver.driver),
        driver_version: part(|driver| &driver.version),
        firmware: part(|driver| &driver.firmware),
        bus: part(|driver| &driver.bus),
        numa_node: None,
        // A software link states a speed it does not keep to.
        speed_mbps: if link.kind.is_empty() {
            ethtool.speed_mbps(name).ok().flatten()
        } else {
            None
        },
        mtu: Some(link.mtu),
        mac: link.mac.map(|mac| mac.to_string()),
        queues: Some(format!("{} tx, {} rx", link.tx_queues, link.rx_queues)),
        offloads: ethtool
            .features(name)
            .map(|features| {
                features
                    .into_iter()
                    .filter(|(_, f)| f.active)
                    .map(|(name, _)| name)
                    .collect()
            })
            .unwrap_or_default(),
    })
}
