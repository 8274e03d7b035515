//! `pci = [["0000:03:00.0", "0000:03:00.1"]]`: NICs that DPDK drives itself.

use serde::{Deserialize, Deserializer};

use crate::kind;
use crate::path::PciPair;
use crate::problem::Problem;
use crate::source::{Wrong, only_list, refuse};

/// What to do.
const REMEDY: &str =
    "write a list of two addresses per path, as in pci = [[\"0000:03:00.0\", \"0000:03:00.1\"]]";

/// The addresses of a path in a list of their own: a flat list could mean either.
impl<'de> Deserialize<'de> for PciPair {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wanted = Problem::value("{key} holds {value}, not two addresses", REMEDY);
        let addresses: Vec<PciAddress> = only_list(deserializer, &wanted)?;
        let addresses: Vec<String> = addresses.into_iter().map(|address| address.0).collect();
        addresses.try_into().map(Self).map_err(|them: Vec<String>| {
            let what = match them.len() {
                1 => "pci has one address in a list: what comes in at one port goes out at another",
                _ => "pci has more than two addresses in a list: a path has two ports",
            };
            refuse(&Problem::value(what, REMEDY))
        })
    }
}

/// A PCI address, in full.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PciAddress(String);

kind!(
    PciAddress,
    "PCI addresses in quotes, as in \"0000:03:00.0\"",
    |raw| {
        in_full(raw.text()?).map(Self).ok_or_else(|| {
            let remedy = "write what lspci -D shows, as in \"0000:03:00.0\"";
            Wrong::value("{value} is not a PCI address", remedy)
        })
    }
);

/// The address as the kernel writes it: `DOMAIN:BUS:DEVICE.FUNCTION` (PCI_DEVFN and pci_setup_device
/// in drivers/pci/probe.c). Without a domain it is in the first one, as lspci(8) shows it.
fn in_full(text: &str) -> Option<String> {
    let hex = |text: &str, digits: std::ops::RangeInclusive<usize>| {
        let all = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        (all && digits.contains(&text.len())).then(|| u32::from_str_radix(text, 16).ok())?
    };
    let (before, function) = text.rsplit_once('.')?;
    let (before, device) = before.rsplit_once(':')?;
    let (domain, bus) = before.rsplit_once(':').unwrap_or(("0000", before));
    let (domain, bus) = (hex(domain, 4..=8)?, hex(bus, 2..=2)?);
    let (device, function) = (hex(device, 2..=2)?, hex(function, 1..=1)?);
    (device < 32 && function < 8).then(|| format!("{domain:04x}:{bus:02x}:{device:02x}.{function}"))
}

#[cfg(test)]
mod tests {
    use super::in_full;

    #[test]
    fn addresses_are_written_as_the_kernel_does() {
        for (text, full) in [
            ("0000:03:00.1", Some("0000:03:00.1")),
            ("0000:3B:1f.7", Some("0000:3b:1f.7")),
            ("03:00.0", Some("0000:03:00.0")),
            ("10000:e1:00.0", Some("10000:e1:00.0")),
            ("0000:03:20.0", None),
            ("0000:03:00.8", None),
            ("0000:3:00.0", None),
            ("03:00", None),
            ("000:03:00.0", None),
            ("0000:+3:00.0", None),
            ("../03:00.0", None),
            ("", None),
        ] {
            assert_eq!(in_full(text).as_deref(), full, "{text}");
        }
    }
}
