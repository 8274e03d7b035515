//! Options of virtio NICs, and machines without PCI: what device and driver agreed on, with frames through it.

use std::fs;

use nicety_guests::virtio::unusual;
use nicety_paths::VmPath;

use super::{Outcome, build, carries};

/// QEMU's command line, word by word.
fn words(path: &VmPath) -> Vec<String> {
    let line = fs::read(format!("/proc/{}/cmdline", path.processes()[0])).unwrap();
    let words = line.split(|byte| *byte == 0);
    words
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

/// What both NICs are, as the guest's kernel has it.
fn agreed(path: &VmPath) -> [Vec<String>; 2] {
    let nics = &path.hellos()[0].nics;
    [unusual(&nics[0]), unusual(&nics[1])]
}

/// Every switch that needs no second queue, on a machine without PCI.
pub fn microvm() -> Outcome {
    let path = build(&[
        ("machine", "microvm"),
        ("packed", "on"),
        ("indirect_desc", "off"),
        ("mrg_rxbuf", "off"),
        ("ioeventfd", "off"),
        ("sndbuf", "65536"),
    ])?;
    let expected = ["packed on", "indirect_desc off", "mrg_rxbuf off"].map(str::to_owned);
    assert_eq!(agreed(&path), [expected.to_vec(), expected.to_vec()]);
    let words = words(&path);
    for word in ["microvm", "virtio-mmio.ioeventfd=off"] {
        assert!(words.iter().any(|own| own == word), "{words:?}");
    }
    assert!(words.iter().all(|own| !own.contains("-pci")), "{words:?}");
    carries(&path);
    Ok(())
}

/// An IOMMU that translates, and frames spread by a hash.
pub fn iommu_and_rss() -> Outcome {
    let path = build(&[("iommu", "on"), ("queues", "2"), ("rss", "on")])?;
    let expected = ["rss on", "iommu on"].map(str::to_owned);
    assert_eq!(agreed(&path), [expected.to_vec(), expected.to_vec()]);
    for nic in &path.hellos()[0].nics {
        assert_eq!(nic.queues, 2);
        // Addresses are translated, and no page is where it was.
        let domain = nic.iommu.as_deref().unwrap_or_default();
        assert!(domain.starts_with("DMA"), "{nic:?}");
    }
    carries(&path);
    Ok(())
}
