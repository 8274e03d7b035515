//! How a PCI function changes its driver (Documentation/ABI/testing/sysfs-bus-pci).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nicety_model::Remedy;
use nicety_netdev::vf::{Holder, PciFunction, Places, VfHolders};

use crate::error::PathError;

/// The kernel's driver for programs that drive a function themselves.
pub(crate) const VFIO: &str = "vfio-pci";
/// `driver_override` of a function without one (`driver_override_show`, drivers/pci/pci-sysfs.c).
pub(crate) const NONE: &str = "(null)";
/// A program that was killed lets go of its functions within this time.
const LETS_GO: Duration = Duration::from_secs(5);
/// A driver finds its function at once; its module may have to be loaded.
pub(crate) const DRIVER_LIMIT: Duration = Duration::from_secs(15);
/// Between two looks.
pub(crate) const LOOK: Duration = Duration::from_millis(20);

/// A file of a function in sysfs.
pub(crate) fn file(address: &str, name: &str) -> PathBuf {
    Path::new("/sys/bus/pci/devices").join(address).join(name)
}

/// Whose a function is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Driver {
    /// That of the driver with this name, which is no driver of it otherwise.
    Override(&'static str),
    /// The kernel's for it, which makes an interface.
    Own,
}

impl Driver {
    /// For a program, or a guest, that drives the function itself.
    pub(crate) const VFIO: Self = Self::Override(VFIO);
}

/// Lets `driver` have the function at `address`, whichever has it now, and waits until it has it.
/// `what` names the function in messages.
pub(crate) fn bind(
    places: &Places,
    address: &str,
    driver: Driver,
    what: &str,
) -> Result<PciFunction, PathError> {
    let missing = || gone(what);
    let function = places.pci_function(address).ok_or_else(missing)?;
    let alias = match driver {
        Driver::Override(name) => {
            let failed = |file, e| PathError::io("write", self::file(address, file).display(), e);
            fs::write(file(address, "driver_override"), name)
                .map_err(|e| failed("driver_override", e))?;
            if function.driver.as_deref().is_some_and(|now| now != name) {
                unbind(&function).map_err(|e| failed("driver/unbind", e))?;
            }
            name.to_owned()
        }
        Driver::Own => fs::read_to_string(file(address, "modalias")).unwrap_or_default(),
    };
    load(alias.trim());
    // Refused where a driver has it already, which the wait below sees.
    let _ = fs::write("/sys/bus/pci/drivers_probe", address);
    let end = Instant::now() + DRIVER_LIMIT;
    loop {
        let now = places.pci_function(address).ok_or_else(missing)?;
        let wanted = match driver {
            Driver::Override(name) if now.driver.as_deref() == Some(name) => return Ok(now),
            Driver::Own if !now.interfaces.is_empty() => return Ok(now),
            Driver::Override(name) => name,
            Driver::Own => "no driver that makes an interface",
        };
        if Instant::now() > end {
            return Err(PathError::Guest {
                why: format!("{what} was not taken by its driver ({wanted})"),
                remedy: Remedy::here(format!("modprobe {} and see dmesg", alias.trim())),
            });
        }
        std::thread::sleep(LOOK);
    }
}

/// Gives a function back to the driver and with the `driver_override` that it had before.
pub(crate) fn give_back(
    now: &PciFunction,
    driver: Option<&str>,
    driver_override: Option<&str>,
) -> io::Result<()> {
    let address = &now.address;
    if now.driver.is_some() && now.driver.as_deref() != driver {
        wait_until_free(now)?;
        unbind(now)?;
    }
    let former = driver_override.filter(|name| *name != NONE);
    fs::write(file(address, "driver_override"), former.unwrap_or("\n"))?;
    let Some(driver) = driver.filter(|driver| now.driver.as_deref() != Some(*driver)) else {
        return Ok(());
    };
    load(fs::read_to_string(file(address, "modalias"))?.trim());
    let drivers = Path::new("/sys/bus/pci/drivers");
    fs::write(drivers.join(driver).join("bind"), address)
}

fn unbind(function: &PciFunction) -> io::Result<()> {
    fs::write(file(&function.address, "driver/unbind"), &function.address)
}

/// While a program has opened a function the kernel makes whoever takes it from VFIO wait.
fn wait_until_free(function: &PciFunction) -> io::Result<()> {
    let end = Instant::now() + LETS_GO;
    loop {
        match VfHolders::find().of(function) {
            Holder::Process { .. } if Instant::now() > end => {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            Holder::Process { .. } => std::thread::sleep(LOOK),
            _ => return Ok(()),
        }
    }
}

/// The interface of a function that [`bind`] has waited for.
pub(crate) fn interface_of(function: PciFunction) -> String {
    function.interfaces.into_iter().next().unwrap_or_default()
}

/// It was there a moment ago.
pub(crate) fn gone(what: &str) -> PathError {
    PathError::Guest {
        why: format!("{what} has gone"),
        remedy: Remedy::here(
            "see what else makes virtual functions or removes devices on this machine",
        ),
    }
}

/// Loads what drives a device, where that is a module. One that is not there is missed by who waits
/// for the driver.
fn load(alias: &str) {
    modprobe(&["-q", alias]);
}

/// Whether there is a module of this name, loaded or not.
pub(crate) fn loadable(module: &str) -> bool {
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
