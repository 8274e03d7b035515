//! `pci = [["0000:03:00.0", "0000:03:00.1"]]`: NICs that DPDK drives itself.

use crate::plan::PlanError;
use crate::plan::read::{Entry, Section};

/// What to write.
const WANTED: &str =
    "a list of two addresses per path, as in pci = [[\"0000:03:00.0\", \"0000:03:00.1\"]]";

/// The pairs of addresses under the key. A flat list could mean either, so it is refused.
pub(super) fn pairs(section: &Section<'_, '_>) -> Result<Vec<[String; 2]>, PlanError> {
    let Some(entry) = section.get("pci") else {
        return Ok(Vec::new());
    };
    entry.list(|pair| {
        if pair.value.get_ref().as_array().is_none() {
            let what = format!("pci holds {}, not two addresses", pair.quote());
            return Err(pair.error(what, format!("write {WANTED}")));
        }
        <[String; 2]>::try_from(pair.list(address)?).map_err(|them| {
            let what = match them.len() {
                1 => "pci has one address in a list: what comes in at one port goes out at another",
                _ => "pci has more than two addresses in a list: a path has two ports",
            };
            pair.error(what, format!("write {WANTED}"))
        })
    })
}

fn address(entry: &Entry<'_, '_>) -> Result<String, PlanError> {
    let text = entry.string("PCI addresses in quotes, as in \"0000:03:00.0\"")?;
    in_full(text).ok_or_else(|| {
        let what = format!("{} is no PCI address", entry.quote());
        entry.error(what, "write what lspci -D shows, as in \"0000:03:00.0\"")
    })
}

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
