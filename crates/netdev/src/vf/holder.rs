//! Who has a function: an interface here, another namespace, a virtual machine, nobody.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{PciFunction, namespace};

/// Who has a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// An interface of this namespace.
    Interface(String),
    /// A network driver whose interface is in another namespace; with its name, where ip-netns(8) has given
    /// it one, and that of the interface: `blue (eth0)`.
    OtherNamespace(Option<String>),
    /// A process that has opened the function by VFIO, most often QEMU, or by UIO, most often DPDK.
    Process {
        /// Process id.
        pid: u32,
        /// Name of its virtual machine, else of the process.
        name: String,
    },
    /// Given to VFIO; nobody has opened it, or this user may not see who.
    Vfio,
    /// The same of UIO.
    Uio,
    /// No driver.
    Nobody,
}

/// Drivers of UIO that functions are bound to.
const UIO: [&str; 2] = ["uio_pci_generic", "igb_uio"];

/// Processes by the device files of functions that they have opened.
#[derive(Debug, Clone, Default)]
pub struct VfHolders {
    by_file: BTreeMap<String, (u32, String)>,
    /// Namespaces by the PCI addresses of their interfaces; looked at when first needed.
    namespaces: OnceCell<BTreeMap<String, String>>,
}

impl VfHolders {
    /// Looks through the processes that this user may look into.
    pub fn find() -> Self {
        Self::below(Path::new("/proc"))
    }

    /// As [`Self::find`] for a procfs elsewhere.
    pub fn below(proc: &Path) -> Self {
        let mut by_file = BTreeMap::new();
        let pids = fs::read_dir(proc).into_iter().flatten().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        for pid in pids {
            let dir = proc.join(pid.to_string());
            let descriptors = fs::read_dir(dir.join("fd")).into_iter().flatten().flatten();
            for descriptor in descriptors {
                let target = fs::read_link(descriptor.path()).ok();
                let file = target.as_deref().and_then(Path::to_str);
                let is_ours =
                    |file: &&str| file.starts_with("/dev/vfio/") || file.starts_with("/dev/uio");
                if let Some(file) = file.filter(is_ours) {
                    by_file.insert(file.to_owned(), (pid, name(&dir)));
                }
            }
        }
        Self {
            by_file,
            namespaces: OnceCell::new(),
        }
    }

    /// Who has `function`.
    pub fn of(&self, function: &PciFunction) -> Holder {
        if let Some(interface) = function.interfaces.first() {
            return Holder::Interface(interface.clone());
        }
        let Some(driver) = function.driver.as_deref() else {
            return Holder::Nobody;
        };
        let mut files = function.files.iter();
        if let Some((pid, name)) = files.find_map(|file| self.by_file.get(file)) {
            return Holder::Process {
                pid: *pid,
                name: name.clone(),
            };
        }
        match driver {
            driver if driver.starts_with("vfio") => Holder::Vfio,
            driver if UIO.contains(&driver) => Holder::Uio,
            _ => {
                let namespaces = self.namespaces.get_or_init(namespace::by_address);
                Holder::OtherNamespace(namespaces.get(&function.address).cloned())
            }
        }
    }
}

/// `-name guest=blue,…` of QEMU, which libvirt sets, or `-name blue`; else the process's name.
fn name(dir: &Path) -> String {
    let words = fs::read(dir.join("cmdline")).unwrap_or_default();
    let mut words = words.split(|byte| *byte == 0);
    let given = words.find(|word| *word == b"-name").and(words.next());
    let given = given.map(|value| String::from_utf8_lossy(value).into_owned());
    let given = given.and_then(|value| {
        let first = value.split(',').next()?;
        let name = first.strip_prefix("guest=").unwrap_or(first);
        (!name.is_empty()).then(|| name.to_owned())
    });
    given.unwrap_or_else(|| {
        let comm = fs::read_to_string(dir.join("comm")).unwrap_or_default();
        comm.trim().to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_machine_is_found_by_what_it_has_opened() {
        let dir = tempfile::tempdir().unwrap();
        let fd = dir.path().join("77/fd");
        fs::create_dir_all(&fd).unwrap();
        symlink("/dev/vfio/17", fd.join("9")).unwrap();
        symlink("/dev/vfio/vfio", fd.join("8")).unwrap();
        symlink("/dev/vfio/devices/vfio3", fd.join("10")).unwrap();
        symlink("/dev/uio2", fd.join("11")).unwrap();
        fs::write(
            dir.path().join("77/cmdline"),
            "qemu\0-name\0guest=blue,debug-threads=on\0-m\x00512\0",
        )
        .unwrap();
        let holders = VfHolders::below(dir.path());
        let mut function = PciFunction {
            driver: Some("vfio-pci".to_owned()),
            files: vec!["/dev/vfio/17".to_owned()],
            ..PciFunction::default()
        };
        let blue = Holder::Process {
            pid: 77,
            name: "blue".to_owned(),
        };
        assert_eq!(holders.of(&function), blue);
        // By iommufd the function itself is opened, not its group.
        function.files = ["/dev/vfio/18", "/dev/vfio/devices/vfio3"]
            .map(str::to_owned)
            .to_vec();
        assert_eq!(holders.of(&function), blue);
        function.files.pop();
        assert_eq!(holders.of(&function), Holder::Vfio);
        function.driver = Some("uio_pci_generic".to_owned());
        assert_eq!(holders.of(&function), Holder::Uio);
        function.files = vec!["/dev/uio2".to_owned()];
        assert_eq!(holders.of(&function), blue);
        function.files.clear();
        function.driver = Some("igbvf".to_owned());
        function.address = "0000:01:10.2".to_owned();
        let named = BTreeMap::from([(function.address.clone(), "red (eth5)".to_owned())]);
        holders.namespaces.set(named).unwrap();
        let red = Holder::OtherNamespace(Some("red (eth5)".to_owned()));
        assert_eq!(holders.of(&function), red);
        function.address.clear();
        assert_eq!(holders.of(&function), Holder::OtherNamespace(None));
        function.interfaces = vec!["eth3".to_owned()];
        assert_eq!(holders.of(&function), Holder::Interface("eth3".to_owned()));
        assert_eq!(holders.of(&PciFunction::default()), Holder::Nobody);
    }
}
