//! Kernel modules in the order in which they can be loaded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;

use rustix::io::Errno;

use crate::error::QemuError;

/// Directory of the modules to load first in a guest, in order of their names.
pub(crate) const MODULES_DIR: &str = "/nicety/modules";
/// `MODULE_INIT_COMPRESSED_FILE` of include/uapi/linux/module.h: the kernel decompresses.
const COMPRESSED: i32 = 4;

/// The modules of one kernel, as depmod wrote them down.
#[derive(Debug, Default)]
pub struct ModuleIndex {
    /// Name to file and to the files it needs, those needed first at the end.
    files: BTreeMap<String, (String, Vec<String>)>,
    builtin: BTreeSet<String>,
}

impl ModuleIndex {
    /// Reads `modules.dep` and `modules.builtin`.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn read(dir: &Path) -> Result<Self, QemuError> {
        let text = |name: &str| {
            let path = dir.join(name);
            fs::read_to_string(&path).map_err(|e| QemuError::io("read", path, e))
        };
        Ok(Self::parse(
            &text("modules.dep")?,
            &text("modules.builtin")?,
        ))
    }

    /// The same of the files' text.
    pub fn parse(dep: &str, builtin: &str) -> Self {
        let files = dep.lines().filter_map(|line| {
            let (file, needs) = line.split_once(':')?;
            let needs = needs.split_whitespace().map(str::to_owned).collect();
            Some((name(file), (file.to_owned(), needs)))
        });
        Self {
            files: files.collect(),
            builtin: builtin.lines().map(name).collect(),
        }
    }

    /// Files, relative to the directory, in an order in which they can be loaded: what a module
    /// needs comes before it. What is built into the kernel is left out.
    ///
    /// # Errors
    /// The name of a module that does not exist.
    pub fn order<'a>(&'a self, names: &[&'a str]) -> Result<Vec<&'a str>, &'a str> {
        let mut order: Vec<&str> = Vec::new();
        for wanted in names {
            let wanted_name = name(wanted);
            if self.builtin.contains(&wanted_name) {
                continue;
            }
            let (file, needs) = self.files.get(&wanted_name).ok_or(*wanted)?;
            for file in needs.iter().rev().chain([file]) {
                if !order.contains(&file.as_str()) {
                    order.push(file);
                }
            }
        }
        Ok(order)
    }
}

/// `kvm_amd` of `kernel/arch/x86/kvm/kvm-amd.ko.xz`: the kernel takes both dashes for one.
fn name(file: &str) -> String {
    let last = file.rsplit('/').next().unwrap_or(file);
    last.split(".ko").next().unwrap_or(last).replace('-', "_")
}

/// Loads the modules of the initramfs, in a guest.
///
/// # Errors
/// When they cannot be listed, or what the kernel says.
pub fn load_first() -> Result<(), QemuError> {
    let error = |e| QemuError::io("list", MODULES_DIR, e);
    let entries: Result<Vec<_>, _> = fs::read_dir(MODULES_DIR).map_err(error)?.collect();
    let mut files: Vec<_> = entries
        .map_err(error)?
        .iter()
        .map(fs::DirEntry::path)
        .collect();
    files.sort();
    files.iter().try_for_each(|file| load(file))
}

/// Loads one module into the running kernel; one that is loaded already is fine.
///
/// # Errors
/// What the kernel says.
pub fn load(file: &Path) -> Result<(), QemuError> {
    let error = |e: std::io::Error| QemuError::io("load module", file, e);
    let open = File::open(file).map_err(error)?;
    let flags = if file.extension().is_some_and(|end| end == "ko") {
        0
    } else {
        COMPRESSED
    };
    match rustix::system::finit_module(open, c"", flags) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(e) => Err(error(e.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Lines of Debian's 6.12.
    const DEP: &str = "\
kernel/fs/netfs/netfs.ko.xz:
kernel/net/9p/9pnet.ko.xz: kernel/fs/netfs/netfs.ko.xz
kernel/fs/9p/9p.ko.xz: kernel/net/9p/9pnet.ko.xz kernel/fs/netfs/netfs.ko.xz
kernel/net/9p/9pnet_virtio.ko.xz: kernel/net/9p/9pnet.ko.xz kernel/fs/netfs/netfs.ko.xz
kernel/arch/x86/kvm/kvm.ko.xz: kernel/virt/lib/irqbypass.ko.xz
kernel/virt/lib/irqbypass.ko.xz:
kernel/arch/x86/kvm/kvm-amd.ko.xz: kernel/arch/x86/kvm/kvm.ko.xz kernel/virt/lib/irqbypass.ko.xz
";

    #[test]
    fn what_is_needed_comes_first_and_once() {
        let index = ModuleIndex::parse(DEP, "kernel/drivers/virtio/virtio_pci.ko\n");
        assert_eq!(
            index
                .order(&["9p", "virtio-pci", "9pnet_virtio", "9p"])
                .unwrap(),
            [
                "kernel/fs/netfs/netfs.ko.xz",
                "kernel/net/9p/9pnet.ko.xz",
                "kernel/fs/9p/9p.ko.xz",
                "kernel/net/9p/9pnet_virtio.ko.xz",
            ]
        );
    }

    #[test]
    fn both_dashes_are_one() {
        let index = ModuleIndex::parse(DEP, "");
        let order = index.order(&["kvm_amd"]).unwrap();
        assert_eq!(order, index.order(&["kvm-amd"]).unwrap());
        assert_eq!(order.len(), 3);
        assert!(order[0].ends_with("irqbypass.ko.xz"), "{order:?}");
    }

    #[test]
    fn a_module_that_does_not_exist_is_named() {
        let index = ModuleIndex::parse(DEP, "");
        assert_eq!(index.order(&["9p", "nosuch"]), Err("nosuch"));
    }
}
