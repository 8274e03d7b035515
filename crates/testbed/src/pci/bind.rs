//! Drivers let go of PCI functions and take them (Documentation/ABI/testing/sysfs-bus-pci).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nicety_host::vf::{PciFunction, Places};
use nicety_model::Remedy;

use crate::error::PathError;

/// A driver finds its function at once; its module may have to be loaded.
pub(super) const DRIVER_LIMIT: Duration = Duration::from_secs(15);
/// Between two looks.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// A file of a function in sysfs.
pub(crate) fn file(address: &str, name: &str) -> PathBuf {
    Path::new("/sys/bus/pci/devices").join(address).join(name)
}

/// Lets `driver` have the function at `address`, whichever has it now; without one, the driver that
/// the kernel has for it, and waits for an interface. `what` names it in messages.
pub(crate) fn bind(
    places: &Places,
    address: &str,
    driver: Option<&str>,
    what: &str,
) -> Result<PciFunction, PathError> {
    let missing = || gone(what);
    let function = places.pci_function(address).ok_or_else(missing)?;
    let alias = match driver {
        Some(driver) => {
            write(&file(address, "driver_override"), driver)?;
            if function.driver.as_deref().is_some_and(|now| now != driver) {
                write(&file(address, "driver/unbind"), address)?;
            }
            driver.to_owned()
        }
        None => fs::read_to_string(file(address, "modalias")).unwrap_or_default(),
    };
    load(alias.trim());
    // Refused where a driver has it already, which the wait below sees.
    let _ = fs::write("/sys/bus/pci/drivers_probe", address);
    let end = Instant::now() + DRIVER_LIMIT;
    loop {
        let now = places.pci_function(address).ok_or_else(missing)?;
        match driver {
            Some(_) if now.driver.as_deref() == driver => return Ok(now),
            None if !now.interfaces.is_empty() => return Ok(now),
            _ if Instant::now() > end => {
                let wanted = driver.unwrap_or("no driver that makes an interface");
                return Err(PathError::Guest {
                    why: format!("{what} was not taken by its driver ({wanted})"),
                    remedy: Remedy::here(format!("modprobe {} and see dmesg", alias.trim())),
                });
            }
            _ => std::thread::sleep(LOOK),
        }
    }
}

/// The interface of a function that [`bind`] has waited for.
pub(crate) fn interface_of(function: PciFunction) -> String {
    function.interfaces.into_iter().next().unwrap_or_default()
}

/// It was there a moment ago.
pub(super) fn gone(what: &str) -> PathError {
    PathError::Guest {
        why: format!("{what} has gone"),
        remedy: Remedy::here(
            "see what else makes virtual functions or removes devices on this machine",
        ),
    }
}

fn write(file: &Path, text: &str) -> Result<(), PathError> {
    fs::write(file, text).map_err(|e| PathError::io("write", file.display(), e))
}

/// Loads what drives a device, where that is a module. One that is not there is missed by who waits
/// for the driver.
pub(super) fn load(alias: &str) {
    modprobe(&["-q", alias]);
}

/// Whether there is a module of this name, loaded or not.
pub(super) fn loadable(module: &str) -> bool {
    modprobe(&["-q", "-n", module])
}

fn modprobe(arguments: &[&str]) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    Command::new("modprobe")
        .args(arguments)
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
