//! What NICs were like before they were taken, on disk before they are, so that the next start can
//! give back what a killed nicety has left.

use std::io;
use std::path::Path;
use std::time::Instant;

use nicety_netdev::link::{LinkChange, Links};
use nicety_netdev::netns::NetNs;
use nicety_netdev::vf::Places;
use serde::{Deserialize, Serialize};

use super::{read, save};
use crate::driver::{self, DRIVER_LIMIT, LOOK, VFIO};

/// File in the private directory of a path.
const FILE: &str = "devices.json";
/// Functions as they were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NicInventory(pub(crate) Vec<Nic>);

/// A function as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Nic {
    /// PCI address.
    pub(crate) address: String,
    /// Driver it was bound to.
    pub(crate) driver: Option<String>,
    /// `driver_override`.
    pub(crate) driver_override: Option<String>,
    /// Its interface.
    pub(crate) interface: Option<Interface>,
}

/// An interface as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Interface {
    /// Its name.
    pub(crate) name: String,
    /// Whether it was set up.
    pub(crate) up: bool,
}

impl NicInventory {
    /// Writes it down.
    pub(crate) fn save(&self, dir: &Path) -> io::Result<()> {
        save(dir, FILE, self)
    }

    /// Gives all back, and says what went wrong first.
    pub(crate) fn undo(&self) -> io::Result<()> {
        let undone = self.0.iter().map(Nic::undo);
        undone.fold(Ok(()), io::Result::and)
    }
}

impl Nic {
    /// Whether the function is as nicety made it, or as nicety found it: somebody else has given it to
    /// another driver otherwise.
    fn is_ours(&self, driver: Option<&str>, driver_override: Option<&str>) -> bool {
        driver_override == Some(VFIO)
            // Let go, and not given back yet.
            || driver.is_none()
            || driver == self.driver.as_deref()
    }

    /// Gives the function to its former driver, and its interface the former name and state.
    fn undo(&self) -> io::Result<()> {
        let places = Places::of(&NetNs::current().map_err(io::Error::other)?);
        let Some(now) = places.pci_function(&self.address) else {
            // Somebody has removed the function; there is nothing to give back.
            return Ok(());
        };
        let overridden = places.pci_attribute(&self.address, "driver_override");
        if !self.is_ours(now.driver.as_deref(), overridden.as_deref()) {
            return Ok(());
        }
        driver::give_back(
            &now,
            self.driver.as_deref(),
            self.driver_override.as_deref(),
        )?;
        match &self.interface {
            Some(interface) => interface.restore(&places, &self.address),
            None => Ok(()),
        }
    }
}

impl Interface {
    /// Waits for the interface that the driver makes, names it as it was, and sets it up when it was.
    fn restore(&self, places: &Places, address: &str) -> io::Result<()> {
        let links = NetNs::current().and_then(|ns| Links::open(&ns));
        let links = links.map_err(io::Error::other)?;
        let end = Instant::now() + DRIVER_LIMIT;
        loop {
            let function = places.pci_function(address);
            let there = function.and_then(|function| function.interfaces.into_iter().next());
            let restored = there.is_some_and(|there| self.restore_at(&links, &there).is_ok());
            if restored {
                return Ok(());
            }
            // It is not there yet, or udev has renamed it meanwhile.
            if Instant::now() > end {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(LOOK);
        }
    }

    fn restore_at(
        &self,
        links: &Links,
        there: &str,
    ) -> Result<(), nicety_netdev::net_error::NetError> {
        let mut name = there;
        if there != self.name && links.get(&self.name).is_err_and(|e| e.is_not_found()) {
            // To where it is, under the former name.
            links.move_to(there, links.ns(), &self.name)?;
            name = &self.name;
        }
        if links.get(name)?.up == self.up {
            return Ok(());
        }
        let change = LinkChange {
            up: Some(self.up),
            ..LinkChange::default()
        };
        links.change(name, &change)
    }
}

/// Undoes what the directory of a killed nicety names. True when nothing is left to do.
pub(crate) fn undo_left(dir: &Path) -> bool {
    read::<NicInventory>(dir, FILE).is_none_or(|inventory| inventory.undo().is_ok())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::driver::NONE;

    fn device() -> Nic {
        Nic {
            address: "ffff:ff:1f.7".to_owned(),
            driver: Some("igb".to_owned()),
            driver_override: Some(NONE.to_owned()),
            interface: Some(Interface {
                name: "eth0".to_owned(),
                up: true,
            }),
        }
    }

    #[test]
    fn what_was_found_is_kept_and_what_is_not_there_is_no_work() {
        let dir = tempfile::tempdir().unwrap();
        assert!(undo_left(dir.path()));
        let inventory = NicInventory(vec![device()]);
        inventory.save(dir.path()).unwrap();
        let text = fs::read(dir.path().join(FILE)).unwrap();
        assert_eq!(
            serde_json::from_slice::<NicInventory>(&text).unwrap(),
            inventory
        );
        assert!(undo_left(dir.path()));
        fs::write(dir.path().join(FILE), "[{\"addr").unwrap();
        assert!(undo_left(dir.path()));
    }

    #[test]
    fn what_somebody_else_has_taken_since_is_left_to_him() {
        let nic = device();
        // Taken, let go, given back, not touched yet.
        for (driver, overridden) in [
            (Some(VFIO), Some(VFIO)),
            (None, Some(VFIO)),
            (None, Some(NONE)),
            (Some("igb"), Some(NONE)),
            (Some("igb"), Some(VFIO)),
        ] {
            assert!(nic.is_ours(driver, overridden), "{driver:?} {overridden:?}");
        }
        assert!(!nic.is_ours(Some("uio_pci_generic"), Some("uio_pci_generic")));
        assert!(!nic.is_ours(Some(VFIO), Some(NONE)));
    }
}
