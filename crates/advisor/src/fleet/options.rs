//! Options of the kernel's command line.

use std::collections::BTreeMap;

use super::profile::{Area, Settings, UNKNOWN};

/// Options that name a kernel, a disk or an address, or a look: not what a host is tuned by.
const OWN: [&str; 16] = [
    "BOOT_IMAGE",
    "console",
    "cryptdevice",
    "initrd",
    "ip",
    "nfsroot",
    "ostree",
    "quiet",
    "resume",
    "ro",
    "root",
    "rootflags",
    "rw",
    "splash",
    "systemd.machine_id",
    "vconsole.keymap",
];

/// Adds them, one setting for each.
pub(super) fn settings(cmdline: &str, settings: &mut Settings) {
    if matches!(cmdline, "" | UNKNOWN) {
        return;
    }
    settings.knows(Area::Options);
    let mut options: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for word in cmdline.split_ascii_whitespace() {
        let (name, value) = word.split_once('=').unwrap_or((word, "set"));
        // What an initramfs is told is about the disk.
        if !OWN.contains(&name) && !name.starts_with("rd.") {
            options.entry(name).or_default().push(value);
        }
    }
    settings.about("");
    for (name, values) in options {
        // What stands twice takes effect in its order. The kernel takes `-` and `_` for the same.
        let name = format!("kernel option {}", name.replace('-', "_"));
        settings.listed(Area::Options, &name, values.join(" "));
    }
}
