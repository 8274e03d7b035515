//! Who has a function: an interface here, another namespace, a virtual machine, nobody.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::PciFunction;

/// Who has a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// An interface of this namespace.
    Interface(String),
    /// A network driver whose interface is in another namespace.
    OtherNamespace,
    /// A process that has opened the function by VFIO, most often QEMU.
    Process {
        /// Process id.
        pid: u32,
        /// Name of its virtual machine, else of the process.
        name: String,
    },
    /// Given to VFIO; nobody has opened it, or this user may not see who.
    Vfio,
    /// No driver.
    Nobody,
}

/// Processes by the VFIO groups they have opened.
#[derive(Debug, Clone, Default)]
pub struct VfHolders {
    by_group: BTreeMap<u32, (u32, String)>,
}

impl VfHolders {
    /// Looks through the processes that this user may look into.
    pub fn find() -> Self {
        Self::below(Path::new("/proc"))
    }

    /// As [`Self::find`] for a procfs elsewhere.
    pub fn below(proc: &Path) -> Self {
        let mut by_group = BTreeMap::new();
        let pids = fs::read_dir(proc).into_iter().flatten().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        for pid in pids {
            let dir = proc.join(pid.to_string());
            let descriptors = fs::read_dir(dir.join("fd")).into_iter().flatten().flatten();
            for descriptor in descriptors {
                let target = fs::read_link(descriptor.path()).ok();
                let group = target.as_deref().and_then(|target| {
                    let name = target.strip_prefix("/dev/vfio").ok()?;
                    name.to_str()?.parse::<u32>().ok()
                });
                if let Some(group) = group {
                    by_group.insert(group, (pid, name(&dir)));
                }
            }
        }
        Self { by_group }
    }

    /// Who has `function`.
    pub fn of(&self, function: &PciFunction) -> Holder {
        if let Some(interface) = function.interfaces.first() {
            return Holder::Interface(interface.clone());
        }
        match function.driver.as_deref() {
            None => Holder::Nobody,
            Some(driver) if driver.starts_with("vfio") => {
                let found = function.group.and_then(|group| self.by_group.get(&group));
                match found {
                    Some((pid, name)) => Holder::Process {
                        pid: *pid,
                        name: name.clone(),
                    },
                    None => Holder::Vfio,
                }
            }
            Some(_) => Holder::OtherNamespace,
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
        fs::write(
            dir.path().join("77/cmdline"),
            "qemu\0-name\0guest=blue,debug-threads=on\0-m\x00512\0",
        )
        .unwrap();
        let holders = VfHolders::below(dir.path());
        let mut function = PciFunction {
            driver: Some("vfio-pci".to_owned()),
            group: Some(17),
            ..PciFunction::default()
        };
        let blue = Holder::Process {
            pid: 77,
            name: "blue".to_owned(),
        };
        assert_eq!(holders.of(&function), blue);
        function.group = Some(18);
        assert_eq!(holders.of(&function), Holder::Vfio);
        function.driver = Some("igbvf".to_owned());
        assert_eq!(holders.of(&function), Holder::OtherNamespace);
        function.interfaces = vec!["eth3".to_owned()];
        assert_eq!(holders.of(&function), Holder::Interface("eth3".to_owned()));
        assert_eq!(holders.of(&PciFunction::default()), Holder::Nobody);
    }
}
