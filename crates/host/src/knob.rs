//! Reads and writes single settings.

mod file;
mod functions;
mod interface;
mod rate;
mod rights;
mod thread;

use std::cell::OnceCell;
use std::path::{Component, Path};

use nicety_model::knob::Knob;
use nicety_netdev::ethtool::Ethtool;
use nicety_netdev::link::Links;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::ns_sysfs::NsSysfs;
use nicety_netdev::vf::UsedFunction;

pub use file::kept_below;
pub use rate::{port_shape, port_value};

/// Parts of /sys that may be written, relative to it. A plan is a file: it must not reach
/// further than the rules do.
const SYS_PARTS: [&str; 5] = [
    "class/net",
    "devices/system/cpu",
    "devices/system/node",
    "kernel/mm",
    "module",
];

/// Parts of /proc/sys that may be written.
const SYSCTL_PARTS: [&str; 2] = ["net", "vm"];

/// A setting that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum KnobError {
    /// The kernel says no.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A name that no rule would make.
    #[error("{knob}: {why}")]
    Refused {
        /// The setting.
        knob: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A value that the setting does not take.
    #[error("{knob}: {value:?} is not a value for it; expected {expected}")]
    BadValue {
        /// The setting.
        knob: String,
        /// The value.
        value: String,
        /// What would be one.
        expected: &'static str,
    },
    /// Somebody uses what would go.
    #[error("{knob} cannot change: {}", users.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    InUse {
        /// The setting.
        knob: String,
        /// Who uses what.
        users: Vec<UsedFunction>,
    },
}

impl KnobError {
    /// Whether the setting does not exist (any more).
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Net(error) if error.is_not_found())
    }

    fn refused(knob: &Knob, why: &'static str) -> Self {
        Self::Refused {
            knob: knob.to_string(),
            why,
        }
    }

    fn bad(knob: &Knob, value: &str, expected: &'static str) -> Self {
        Self::BadValue {
            knob: knob.to_string(),
            value: value.chars().take(60).collect(),
            expected,
        }
    }
}

/// The settings of the machine as the calling process's network namespace shows them.
#[derive(Debug)]
pub struct Knobs {
    ns: NetNs,
    links: Links,
    ethtool: Ethtool,
    sysfs: OnceCell<NsSysfs>,
}

impl Knobs {
    /// The settings.
    ///
    /// # Errors
    /// When the namespace cannot be asked.
    pub fn open() -> Result<Self, NetError> {
        let ns = NetNs::current()?;
        Ok(Self {
            links: Links::open(&ns)?,
            ethtool: Ethtool::open(&ns)?,
            sysfs: OnceCell::new(),
            ns,
        })
    }

    /// Inode of the network namespace, which tells it from others of the same boot.
    pub fn namespace(&self) -> u64 {
        self.ns.inode()
    }

    /// The value, as the kernel prints it.
    ///
    /// # Errors
    /// [`KnobError`].
    pub fn read(&self, knob: &Knob) -> Result<String, KnobError> {
        match knob {
            Knob::Sysctl { name } => {
                let path = sysctl_path(knob, name)?;
                let text = read_file(&path)?;
                Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
            }
            Knob::SysFile { path } => self.read_sys(knob, path),
            Knob::IrqAffinity { irq } => read_file(&irq_path(*irq)),
            Knob::ThreadCpus { tid, name } => thread::read(knob, *tid, name),
            Knob::VfRate { .. } | Knob::PortRate { .. } | Knob::ReceiveRate { .. } => {
                self.read_rate(knob)
            }
            Knob::VfCount { interface } => self.read_count(interface),
            Knob::File { path } => file::read(knob, path),
            _ => self.read_interface(knob),
        }
    }

    /// Writes a value. Read it back: the kernel may take another one.
    ///
    /// # Errors
    /// [`KnobError`].
    pub fn write(&self, knob: &Knob, value: &str) -> Result<(), KnobError> {
        match knob {
            Knob::Sysctl { name } => write_file(&sysctl_path(knob, name)?, value),
            Knob::SysFile { path } => self.write_sys(knob, path, value),
            Knob::IrqAffinity { irq } => write_file(&irq_path(*irq), value),
            Knob::ThreadCpus { tid, name } => thread::write(knob, *tid, name, value),
            Knob::VfRate { .. } | Knob::PortRate { .. } | Knob::ReceiveRate { .. } => {
                self.write_rate(knob, value)
            }
            Knob::VfCount { interface } => self.write_count(knob, interface, value),
            Knob::File { path } => file::write(knob, path, value),
            _ => self.write_interface(knob, value),
        }
    }

    fn read_sys(&self, knob: &Knob, path: &str) -> Result<String, KnobError> {
        let text = match self.interface_file(knob, path)? {
            Some((interface, file)) => self.sysfs()?.read(interface, file)?,
            None => read_file(&format!("/sys/{path}"))?,
        };
        // `always [madvise] never`: the chosen word is the value.
        let chosen = text
            .split_once('[')
            .and_then(|(_, rest)| rest.split_once(']'));
        Ok(chosen.map_or_else(|| text.clone(), |(word, _)| word.to_owned()))
    }

    fn write_sys(&self, knob: &Knob, path: &str, value: &str) -> Result<(), KnobError> {
        match self.interface_file(knob, path)? {
            Some((interface, file)) => {
                self.sysfs()?.write(interface, file, value)?;
                Ok(())
            }
            None => write_file(&format!("/sys/{path}"), value),
        }
    }

    /// Interface and file of a path below `class/net`, which only a sysfs of this namespace
    /// shows; checks every path.
    fn interface_file<'a>(
        &self,
        knob: &Knob,
        path: &'a str,
    ) -> Result<Option<(&'a str, &'a str)>, KnobError> {
        let refused = || KnobError::refused(knob, "is not a file that tuning may touch");
        if !is_below(path, &SYS_PARTS) {
            return Err(refused());
        }
        match path.strip_prefix("class/net/") {
            Some(rest) => rest.split_once('/').map(Some).ok_or_else(refused),
            None => Ok(None),
        }
    }

    fn sysfs(&self) -> Result<&NsSysfs, KnobError> {
        if let Some(sysfs) = self.sysfs.get() {
            return Ok(sysfs);
        }
        let sysfs = NsSysfs::mount(&self.ns)?;
        Ok(self.sysfs.get_or_init(|| sysfs))
    }
}

/// Whether a relative path leads to one of `parts`, without detours.
fn is_below(path: &str, parts: &[&str]) -> bool {
    let plain = Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let first = |part: &&str| {
        path.strip_prefix(*part)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    plain && parts.iter().any(first)
}

/// sysctl(8): dots and slashes change places when the first separator is a dot.
fn sysctl_path(knob: &Knob, name: &str) -> Result<String, KnobError> {
    let relative = if name.contains('/') {
        name.to_owned()
    } else {
        name.replace('.', "/")
    };
    if is_below(&relative, &SYSCTL_PARTS) {
        Ok(format!("/proc/sys/{relative}"))
    } else {
        Err(KnobError::refused(
            knob,
            "is not a setting that tuning may touch; net.* and vm.* are",
        ))
    }
}

fn irq_path(irq: u32) -> String {
    format!("/proc/irq/{irq}/smp_affinity_list")
}

fn read_file(path: &str) -> Result<String, KnobError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(error) => Err(NetError::new("read", path, error).into()),
    }
}

/// One write call, as these files want it, into a file that is there: a mistaken path must not
/// make one. An empty value is an empty line, for a write of nothing is none.
fn write_file(path: &str, value: &str) -> Result<(), KnobError> {
    use std::io::Write;
    let value = if value.is_empty() { "\n" } else { value };
    let file = std::fs::OpenOptions::new().write(true).open(path);
    file.and_then(|mut file| file.write_all(value.as_bytes()))
        .map_err(|error| NetError::new("write", path, error).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_of_the_rules_are_reached() {
        let sysctl = |name: &str| sysctl_path(&Knob::sysctl(name), name).ok();
        assert_eq!(
            sysctl("net.core.rmem_max").as_deref(),
            Some("/proc/sys/net/core/rmem_max")
        );
        assert_eq!(
            sysctl("net/ipv4/conf/eth0.7/forwarding").as_deref(),
            Some("/proc/sys/net/ipv4/conf/eth0.7/forwarding")
        );
        for name in [
            "kernel.core_pattern",
            "net",
            "net/../kernel/x",
            "",
            "network.x",
            "/net/x",
        ] {
            assert_eq!(sysctl(name), None, "{name:?}");
        }
        assert!(is_below("module/kvm/parameters/halt_poll_ns", &SYS_PARTS));
        for path in [
            "power/state",
            "class/net/../../power/state",
            "module",
            "class/netx/a",
        ] {
            assert!(!is_below(path, &SYS_PARTS), "{path:?}");
        }
    }
}
