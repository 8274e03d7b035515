//! Functions on the PCI bus: their links to the host; and network functions that a program or a guest
//! drives: which driver lets them, and whether it will have them after the next boot too.

use nicety_model::facts::{PcieLink, UserFunction};

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

/// The link of the function whose file a name gives; `None` where speed or width is unknown.
pub(super) fn link(file: impl Fn(&str) -> Option<String>) -> Option<PcieLink> {
    Some(PcieLink {
        speed_gts: gigatransfers(&file("current_link_speed")?)?,
        width: lanes(&file("current_link_width")?)?,
        max_speed_gts: file("max_link_speed").and_then(|text| gigatransfers(&text)),
        max_width: file("max_link_width").and_then(|text| lanes(&text)),
    })
}

/// `8.0 GT/s PCIe`, `8 GT/s` before Linux 5.7; else `Unknown` or megahertz of older buses
/// (drivers/pci/probe.c, `pci_speed_string`).
fn gigatransfers(text: &str) -> Option<f64> {
    let mut words = text.split_ascii_whitespace();
    let number: f64 = words.next()?.parse().ok()?;
    (words.next()? == "GT/s" && number > 0.0).then_some(number)
}

/// 1 to 32 lanes; 0 and 255 (`PCIE_LNK_WIDTH_UNKNOWN`) mean that nobody knows.
fn lanes(text: &str) -> Option<u32> {
    let lanes = text.trim_start_matches('x').parse().ok()?;
    (1..=32).contains(&lanes).then_some(lanes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_known_by_speed_and_width() {
        let link = |speed: &str, width: &str| {
            link(|name| match name {
                "current_link_speed" => Some(speed.to_owned()),
                "current_link_width" => Some(width.to_owned()),
                "max_link_speed" => Some("Unknown".to_owned()),
                "max_link_width" => Some("16".to_owned()),
                _ => None,
            })
        };
        let known = link("8.0 GT/s PCIe", "8").unwrap();
        assert_eq!((known.speed_gts, known.width), (8.0, 8));
        assert_eq!((known.max_speed_gts, known.max_width), (None, Some(16)));
        assert_eq!(link("2.5 GT/s", "1").unwrap().speed_gts, 2.5);
        for (speed, width) in [
            ("Unknown speed", "8"),
            ("Unknown", "0"),
            ("66 MHz PCI", "8"),
            ("8.0 GT/s PCIe", "0"),
            ("8.0 GT/s PCIe", "255"),
            ("8.0 GT/s PCIe", ""),
        ] {
            assert_eq!(link(speed, width), None, "{speed} {width}");
        }
    }
}
