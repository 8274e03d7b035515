//! CPU model, firmware, memory, and whether the machine is itself a guest.

use std::collections::BTreeMap;

use crate::roots::{ProcRoot, SysRoot};

/// First value of a `key : value` line.
fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        (name.trim() == key && !value.is_empty()).then_some(value)
    })
}

/// CPU model: `model name` on x86, `cpu` on POWER, implementer and part on Arm.
pub(crate) fn cpu_model(cpuinfo: &str) -> Option<String> {
    if let Some(name) = value_of(cpuinfo, "model name").or_else(|| value_of(cpuinfo, "cpu")) {
        return Some(name.to_owned());
    }
    let implementer = value_of(cpuinfo, "CPU implementer")?;
    let part = value_of(cpuinfo, "CPU part")?;
    Some(format!("implementer {implementer} part {part}"))
}

pub(crate) fn microcode(sys: &SysRoot, cpuinfo: &str) -> Option<String> {
    value_of(cpuinfo, "microcode")
        .map(str::to_owned)
        .or_else(|| sys.text("devices/system/cpu/cpu0/microcode/version"))
}

/// `MemTotal`: what the kernel manages, a little less than what is fitted.
pub(crate) fn memory_mib(proc: &ProcRoot) -> Option<u64> {
    let meminfo = proc.text("meminfo")?;
    let kib = value_of(&meminfo, "MemTotal")?.strip_suffix(" kB")?;
    kib.trim().parse::<u64>().ok().map(|kib| kib / 1024)
}

/// Huge pages reserved on all nodes together, by size in KiB.
pub(crate) fn hugepages(sys: &SysRoot) -> BTreeMap<String, u64> {
    const DIR: &str = "kernel/mm/hugepages";
    sys.entries(DIR)
        .into_iter()
        .filter_map(|name| {
            let size = name.strip_prefix("hugepages-")?.strip_suffix("kB")?;
            let count = sys.text(format!("{DIR}/{name}/nr_hugepages"))?;
            Some((size.to_owned(), count.parse().ok()?))
        })
        .collect()
}

/// Vendor, version and date of the firmware.
pub(crate) fn bios(sys: &SysRoot) -> Option<String> {
    let words: Vec<String> = ["bios_vendor", "bios_version", "bios_date"]
        .iter()
        .filter_map(|file| sys.text(format!("class/dmi/id/{file}")))
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Words in the maker or product name that only virtual machines have.
const VIRTUAL_WORDS: [&str; 10] = [
    "QEMU",
    "KVM",
    "VMware",
    "VirtualBox",
    "Virtual Machine",
    "Xen",
    "Bochs",
    "BHYVE",
    "OpenStack",
    "Google Compute Engine",
];

/// The hypervisor below this machine. The CPU's `hypervisor` flag decides where the CPU has
/// flags (x86); the names in DMI and `/sys/hypervisor` say which it is.
pub(crate) fn hypervisor(sys: &SysRoot, cpuinfo: &str) -> Option<String> {
    let flags = value_of(cpuinfo, "flags");
    let flagged = flags.map(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    if let Some(kind) = sys.text("hypervisor/type") {
        return Some(kind);
    }
    let dmi = |file: &str| sys.text(format!("class/dmi/id/{file}"));
    let names = [dmi("sys_vendor"), dmi("product_name")];
    let name = names.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let virtual_name = VIRTUAL_WORDS.iter().any(|word| name.contains(word));
    match flagged {
        Some(false) => None,
        Some(true) if name.is_empty() => Some("an unknown hypervisor".to_owned()),
        Some(true) => Some(name),
        None => virtual_name.then_some(name),
    }
}
