//! Network functions that a program or a guest drives: which driver lets them, and whether it
//! will have them after the next boot too.

use nicety_model::facts::UserFunction;

use super::function::NETWORK;
use crate::roots::{Roots, SysRoot};

/// Drivers that hand a function to user space. The last comes with DPDK.
const DRIVERS: [&str; 3] = ["vfio-pci", "uio_pci_generic", "igb_uio"];
pub(super) fn user_functions(roots: &Roots) -> Vec<UserFunction> {
    let sys = &roots.sys;
    let mut functions = Vec::new();
    for driver in DRIVERS {
        let bound = sys.entries_where(format!("bus/pci/drivers/{driver}"), is_address);
        for address in bound {
            let text = |file: &str| sys.text(format!("bus/pci/devices/{address}/{file}"));
            if !text("class").is_some_and(|class| class.starts_with(NETWORK)) {
                continue;
            }
            functions.push(UserFunction {
                device: device(sys, &address),
                kept_driver: roots.etc.text(format!("driverctl.d/{address}")),
                driver: driver.to_owned(),
                address,
            });
        }
    }
    functions
}

/// `0000:01:00.0`; the folder of a driver also holds files.
fn is_address(name: &str) -> bool {
    name.len() >= 12 && name.contains(':') && name.contains('.')
}

fn device(sys: &SysRoot, address: &str) -> Option<String> {
    let id = |file: &str| {
        let text = sys.text(format!("bus/pci/devices/{address}/{file}"))?;
        Some(text.strip_prefix("0x")?.to_ascii_lowercase())
    };
    Some(format!("{}:{}", id("vendor")?, id("device")?))
}
