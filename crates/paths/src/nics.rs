//! PCI functions that are taken from their drivers for a while: for programs that drive a NIC
//! themselves.
//!
//! What is taken is written down first, so that the next start can give back what a killed nicety
//! has left. The driver makes a new interface, which gets its former name and is set up when it was.

mod refusal;

use nicety_model::Remedy;
use nicety_netdev::link::Links;
use nicety_netdev::netns::NetNs;
use nicety_netdev::vf::{Places, VfHolders};

use crate::driver::{self, Driver, VFIO};
use crate::error::PathError;
use crate::inventory::nics::{Interface, Nic, NicInventory};
use crate::routes::routed;
use crate::run_dir::RunDir;
use refusal::Snapshot;

/// NICs that a program drives by VFIO; with their former drivers again when dropped.
#[derive(Debug)]
pub(crate) struct LeasedNics {
    inventory: NicInventory,
    dir: RunDir,
}

impl LeasedNics {
    /// Refuses what is not there, what somebody uses, and what cannot be taken; changes nothing.
    /// `ports` are the tester's interfaces.
    pub(crate) fn check(addresses: &[String; 2], ports: [&str; 2]) -> Result<(), PathError> {
        may_take(addresses)?;
        let host = NetNs::current()?;
        let places = Places::of(&host);
        let links = Links::open(&host)?;
        let addressed = |name: &str| links.addresses(name).is_ok_and(|all| !all.is_empty());
        let snapshot = Snapshot {
            places: &places,
            links: &links.list()?,
            holders: &VfHolders::find(),
            carries: &|name| routed(name) || addressed(name),
            pair: addresses,
            ports,
        };
        let refused = addresses
            .iter()
            .find_map(|address| snapshot.refusal(address));
        if let Some((why, remedy)) = refused {
            return Err(PathError::Guest { why, remedy });
        }
        if places.has_driver(VFIO) || driver::loadable(VFIO) {
            Ok(())
        } else {
            Err(PathError::NoKernelSupport {
                what: "vfio-pci",
                remedy: Remedy::here(
                    "boot a kernel that has it, or measure from outside with kind = \"ports\"",
                ),
            })
        }
    }

    /// Takes them from their drivers.
    pub(crate) fn lease(addresses: &[String; 2]) -> Result<Self, PathError> {
        let host = NetNs::current()?;
        let places = Places::of(&host);
        let links = Links::open(&host)?;
        let devices = addresses.iter().map(|address| {
            let function = places
                .pci_function(address)
                .ok_or_else(|| driver::gone(address))?;
            let interface = function.interfaces.first();
            let interface = interface.map(|name| {
                Ok::<_, PathError>(Interface {
                    up: links.get(name)?.up,
                    name: name.clone(),
                })
            });
            Ok::<_, PathError>(Nic {
                address: address.clone(),
                driver: function.driver,
                driver_override: places.pci_attribute(address, "driver_override"),
                interface: interface.transpose()?,
            })
        });
        let inventory = NicInventory(devices.collect::<Result<_, _>>()?);
        let dir = RunDir::create_for_host()?;
        inventory
            .save(dir.path())
            .map_err(|e| PathError::io("write down the drivers of", addresses.join(", "), e))?;
        let leased = Self { inventory, dir };
        for address in addresses {
            driver::bind(&places, address, Driver::VFIO, address)?;
        }
        Ok(leased)
    }

    /// What is leased, for the run's notes: `0000:03:00.0 (igb, eth0)`.
    pub(crate) fn words(&self) -> [String; 2] {
        let words = |device: &Nic| {
            let driver = device.driver.as_deref().unwrap_or("no driver");
            let interface = device.interface.as_ref();
            let interface = interface.map_or(String::new(), |i| format!(", {}", i.name));
            format!("{} ({driver}{interface})", device.address)
        };
        [0, 1].map(|number| self.inventory.0.get(number).map(words).unwrap_or_default())
    }
}

impl Drop for LeasedNics {
    fn drop(&mut self) {
        // What cannot be undone now is undone by the next nicety, if the directory stays.
        if self.inventory.undo().is_err() {
            self.dir.keep();
        }
    }
}

/// Only root may, and not in a container whose sysfs is for reading.
fn may_take(addresses: &[String; 2]) -> Result<(), PathError> {
    let locked = |address: &String| {
        let file = driver::file(address, "driver_override");
        file.exists() && rustix::fs::access(file, rustix::fs::Access::WRITE_OK).is_err()
    };
    if rustix::process::geteuid().is_root() && !addresses.iter().any(locked) {
        Ok(())
    } else {
        Err(PathError::Guest {
            why: "only root may take a NIC from its driver".to_owned(),
            remedy: Remedy::here("measure as root"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_named() {
        let pair = ["ffff:ff:1f.6", "ffff:ff:1f.7"].map(str::to_owned);
        let error = LeasedNics::check(&pair, ["a", "b"]).unwrap_err();
        let expected = if rustix::process::geteuid().is_root() {
            "there is no PCI device ffff:ff:1f.6"
        } else {
            "only root may take a NIC from its driver"
        };
        assert_eq!(error.to_string(), expected);
        assert!(error.remedy().is_some() && error.lasts());
    }
}
