//! Which virtual functions somebody uses, and who: they must not be taken away.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;

use super::place::net_folders;
use super::{FunctionState, Functions, Holder, Places, VfHolders};
use crate::link::Links;
use crate::net_error::NetError;
use crate::netns::NetNs;

/// IFF_UP of linux/if.h.
const UP: u32 = 1;

/// Who or what uses a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FunctionUse {
    /// A guest, a program, another network namespace, or a driver for one of them.
    Held(Holder),
    /// Its interface is up.
    Up(String),
    /// Another interface is on top of its own: a bridge, a macvtap, a VLAN.
    Below {
        /// Its own.
        interface: String,
        /// The other one.
        upper: String,
    },
    /// Its interface has an address.
    Address(String, IpAddr),
    /// It has a limit, in Mbit/s.
    Limited(u32),
}

/// A function that is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedFunction {
    /// Its number.
    pub vf: u32,
    /// By whom.
    pub by: FunctionUse,
}

impl fmt::Display for UsedFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "vf{}", self.vf)?;
        match &self.by {
            FunctionUse::Held(Holder::Process { pid, name }) => {
                write!(f, " belongs to {name} (pid {pid})")
            }
            FunctionUse::Held(Holder::OtherNamespace(Some(name))) => {
                write!(f, " is in namespace {name}")
            }
            FunctionUse::Held(Holder::OtherNamespace(None)) => {
                f.write_str(" is in another network namespace")
            }
            FunctionUse::Held(Holder::Uio) => f.write_str(" is bound to UIO"),
            FunctionUse::Held(_) => f.write_str(" is bound to VFIO for a guest"),
            FunctionUse::Up(interface) => write!(f, ": {interface} is up"),
            FunctionUse::Below { interface, upper } => {
                write!(f, ": {upper} is on top of {interface}")
            }
            FunctionUse::Address(interface, address) => {
                write!(f, ": {interface} has address {address}")
            }
            FunctionUse::Limited(mbit) => write!(f, " has a limit of {mbit} Mbit/s"),
        }
    }
}

/// The functions of a NIC that somebody uses, each with the first reason.
///
/// # Errors
/// When the kernel does not tell.
pub fn used(ns: &NetNs, nic: &str) -> Result<Vec<UsedFunction>, NetError> {
    let places = Places::of(ns);
    let links = Links::open(ns)?;
    let holders = VfHolders::find();
    let functions = Functions::open(ns)?.read(nic)?.functions;
    let count = places.count(nic).map_or(0, |count| count.now);
    let address = |interface: &str| links.addresses(interface).ok()?.first().copied();
    let used = (0..count).filter_map(|vf| {
        let told = functions.iter().find(|function| function.vf == vf);
        let by = places.use_of(nic, vf, &holders);
        let by = by.or_else(|| {
            let place = places.virtual_function(nic, vf)?;
            let mut own = place.interfaces.into_iter();
            own.find_map(|name| Some(FunctionUse::Address(name.clone(), address(&name)?)))
        });
        let by = by.or_else(|| limit(told?));
        Some(UsedFunction { vf, by: by? })
    });
    Ok(used.collect())
}

fn limit(function: &FunctionState) -> Option<FunctionUse> {
    let rates = [function.max_mbit, function.min_mbit];
    let rate = rates.into_iter().flatten().find(|mbit| *mbit > 0);
    rate.map(FunctionUse::Limited)
}

impl Places {
    /// What sysfs and procfs tell of who uses a function.
    fn use_of(&self, nic: &str, vf: u32, holders: &VfHolders) -> Option<FunctionUse> {
        let function = self.virtual_function(nic, vf)?;
        match holders.of(&function) {
            Holder::Nobody => None,
            Holder::Interface(_) => {
                let place = self.device(nic).join(format!("virtfn{vf}"));
                let folders = net_folders(&place);
                let mut own = function.interfaces.iter();
                own.find_map(|name| {
                    let mut faces = folders.iter().map(|folder| folder.join(name));
                    of_interface(&faces.find(|face| face.exists())?, name)
                })
            }
            holder => Some(FunctionUse::Held(holder)),
        }
    }
}

/// Whether an interface is up or below another one (Documentation/ABI/testing/sysfs-class-net).
fn of_interface(face: &Path, name: &str) -> Option<FunctionUse> {
    let flags = std::fs::read_to_string(face.join("flags")).unwrap_or_default();
    let flags = flags.trim().strip_prefix("0x");
    let flags = flags.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    if flags.is_some_and(|flags| flags & UP != 0) {
        return Some(FunctionUse::Up(name.to_owned()));
    }
    let entries = std::fs::read_dir(face).into_iter().flatten().flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let upper = names.find_map(|file| Some(file.strip_prefix("upper_")?.to_owned()))?;
    Some(FunctionUse::Below {
        interface: name.to_owned(),
        upper,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vf::fake::Nic;

    #[test]
    fn the_user_of_a_function_is_named() {
        let nic = Nic::new(5, 7);
        for vf in 0..5 {
            nic.add(vf);
        }
        nic.interface(0, "eth5", "0x1002");
        nic.interface(1, "eth6", "0x1003");
        nic.interface(2, "eth7", "0x1002");
        std::fs::create_dir(nic.function(2).join("net/eth7/upper_br0")).unwrap();
        nic.driver(3, "vfio-pci");
        let proc = tempfile::tempdir().unwrap();
        let holders = VfHolders::below(proc.path());
        let said = |vf| {
            let by = nic.places().use_of("eth0", vf, &holders)?;
            Some(UsedFunction { vf, by }.to_string())
        };
        assert_eq!(said(0), None);
        assert_eq!(said(1).as_deref(), Some("vf1: eth6 is up"));
        assert_eq!(said(2).as_deref(), Some("vf2: br0 is on top of eth7"));
        assert_eq!(said(3).as_deref(), Some("vf3 is bound to VFIO for a guest"));
        assert_eq!(said(4), None);
        assert_eq!(said(5), None);
    }

    #[test]
    fn a_limit_is_a_use() {
        let function = |max_mbit, min_mbit| FunctionState {
            max_mbit,
            min_mbit,
            ..FunctionState::default()
        };
        assert_eq!(limit(&function(Some(0), None)), None);
        let limited = limit(&function(Some(0), Some(20))).unwrap();
        assert_eq!(limited, FunctionUse::Limited(20));
    }
}
