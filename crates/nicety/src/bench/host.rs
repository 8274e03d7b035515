//! The machine's fingerprint, with the ports' facts.

use nicety_host::ethtool::Ethtool;
use nicety_host::fingerprint::{self, Measurer};
use nicety_host::link::Links;
use nicety_host::netns::NetNs;
use nicety_host::topology::Roots;
use nicety_model::Fingerprint;
use nicety_model::plan::PathPlan;
use nicety_model::run::InterfaceFacts;

/// Reads the fingerprint. Must be called before namespaces are entered: some settings are only
/// seen from the first one.
pub fn read(privileged: bool, paths: &[PathPlan]) -> Fingerprint {
    let measurer = Measurer {
        version: env!("CARGO_PKG_VERSION"),
        privileged,
    };
    let mut host = fingerprint::read(&Roots::live(), measurer);
    for path in paths {
        for name in path.interfaces().into_iter().flatten() {
            if let Some(facts) = interface(name) {
                host.interfaces.insert(name.to_owned(), facts);
            }
        }
    }
    host
}

/// Facts about an interface of this namespace, as far as its driver tells.
fn interface(name: &str) -> Option<InterfaceFacts> {
    let ns = NetNs::current().ok()?;
    let link = Links::open(&ns).ok()?.get(name).ok()?;
    let ethtool = Ethtool::open(&ns).ok()?;
    let driver = ethtool.driver(name).ok();
    let said = |text: String| (!text.is_empty()).then_some(text);
    let part = |of: fn(&nicety_host::ethtool::Driver) -> &String| {
        driver.as_ref().and_then(|driver| said(of(driver).clone()))
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
