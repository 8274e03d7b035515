//! The virtual functions of a path on one port, made and removed.

use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nicety_model::Remedy;
use nicety_model::note::PathNote;
use nicety_netdev::link::{LinkChange, Links, Mac};
use nicety_netdev::netns::NetNs;
use nicety_netdev::vf::{FunctionSetting, Functions, PciFunction, Places, Registers};

use super::counters;
use super::layout::{count, of_guest, too_few};
use super::used::holder;
use crate::counters::InterfaceCounters;
use crate::driver::{self, Driver};
use crate::error::PathError;
use crate::inventory::functions::FunctionInventory;
use crate::routes::routed;
use crate::run_dir::RunDir;

/// The NIC keeps the two halves of the path apart by VLANs: frames between the tester's first
/// function and the guests' first ones carry the first tag inside of the NIC, all others the
/// second.
const VLANS: [u16; 2] = [101, 102];
/// A port that is set up again looks for its link for a few seconds.
const LINK_LIMIT: Duration = Duration::from_secs(15);

/// Drivers of a guest by the device ids of Intel's functions (`igbvf_pci_tbl`, `ixgbevf_pci_tbl`,
/// `iavf_pci_tbl` in drivers/net/ethernet/intel).
const DRIVERS: [(&str, &[u16]); 3] = [
    ("igbvf", &[0x10ca, 0x1520]),
    ("ixgbevf", &[0x10ed, 0x1515, 0x1565, 0x15a8, 0x15c5]),
    ("iavf", &[0x154c, 0x1571, 0x37cd, 0x1889]),
];

/// The functions; gone when dropped.
#[derive(Debug)]
pub(crate) struct FunctionSet {
    pf: String,
    /// Guests that have two of them.
    guests: u32,
    /// Functions beside the path's own.
    extra: u32,
    inventory: FunctionInventory,
    host: NetNs,
    /// Where the functions are counted, or why not.
    registers: Result<Mutex<Registers>, String>,
    dir: RunDir,
}

impl FunctionSet {
    /// Refuses a port that cannot be used for so many guests; makes nothing.
    pub(crate) fn check(pf: &str, guests: u32, pass_through: bool) -> Result<(), PathError> {
        let host = NetNs::current()?;
        let refuse = |why: String, remedy: Remedy| Err(PathError::Guest { why, remedy });
        let link = match Links::open(&host)?.get(pf) {
            Ok(link) => link,
            Err(error) if error.is_not_found() => {
                let places = Places::of(&host);
                let there = places.physical_functions().unwrap_or_default();
                return refuse(
                    format!("pf = \"{pf}\" does not exist"),
                    if there.is_empty() {
                        Remedy::elsewhere(
                            "measure where there is a NIC with SR-IOV, or in the lab (nicety lab run)",
                        )
                    } else {
                        Remedy::plan(format!("name a port with SR-IOV: {}", there.join(", ")))
                    },
                );
            }
            Err(error) => return Err(error.into()),
        };
        let places = Places::of(&host);
        let number = |file: &str| places.attribute(pf, file)?.parse::<u32>().ok();
        let most = number("device/sriov_totalvfs").unwrap_or(0);
        if let Some((why, remedy)) = too_few(pf, most, guests) {
            return refuse(why, remedy);
        }
        if let Some(there @ 1..) = number("device/sriov_numvfs") {
            return refuse(
                format!(
                    "{pf} has {there} virtual functions already{}",
                    holder(&places, pf, there)
                ),
                Remedy::here_or_plan(
                    format!(
                        "when nobody needs them, echo 0 > /sys/class/net/{pf}/device/sriov_numvfs"
                    ),
                    "name another port",
                ),
            );
        }
        if link.master.is_some() || routed(pf) {
            return refuse(
                format!(
                    "{pf} carries traffic of this machine, and making virtual functions resets it"
                ),
                Remedy::plan("name a port that is used for nothing else"),
            );
        }
        let group = places.pci(pf).and_then(|function| function.group);
        if pass_through && group.is_none() {
            return refuse(
                format!("there is no IOMMU for {pf}, so its functions cannot be given to a guest"),
                Remedy::here_or_plan(
                    "boot with intel_iommu=on iommu=pt or switch the IOMMU on in the firmware",
                    "write nic = \"sriov-macvtap\"",
                ),
            );
        }
        if !rustix::process::geteuid().is_root()
            || rustix::fs::access(
                format!("/sys/class/net/{pf}/device/sriov_numvfs"),
                rustix::fs::Access::WRITE_OK,
            )
            .is_err()
        {
            return refuse(
                "only root may make virtual functions".to_owned(),
                Remedy::here("measure as root"),
            );
        }
        Ok(())
    }

    /// Makes them with the addresses of the tester's ports and of the guests' NICs, and two more
    /// for each of `pairs` pairs of neighbours as far as the port has them; no driver has them yet.
    pub(crate) fn make(
        pf: &str,
        [a, b]: [Mac; 2],
        guests: &[[Mac; 2]],
        pairs: u32,
    ) -> Result<Self, PathError> {
        let own = count(guests.len() as u32);
        let host = NetNs::current()?;
        let links = Links::open(&host)?;
        let places = Places::of(&host);
        let address = places.pci(pf).map(|function| function.address);
        let most = places.attribute(pf, "device/sriov_totalvfs");
        let most = most.and_then(|most| most.parse().ok()).unwrap_or(own);
        let extra = 2 * pairs.min(most.saturating_sub(own) / 2);
        let dir = RunDir::create_for_host()?;
        let inventory = FunctionInventory {
            address: address.unwrap_or_default(),
            autoprobe: places
                .attribute(pf, "device/sriov_drivers_autoprobe")
                .unwrap_or_else(|| "1".to_owned()),
            down: (!links.get(pf)?.up).then(|| pf.to_owned()),
            made: own + extra,
        };
        inventory
            .save(dir.path())
            .map_err(|e| PathError::io("write down the state of", pf, e))?;
        let set = Self {
            pf: pf.to_owned(),
            guests: guests.len() as u32,
            extra,
            inventory,
            host,
            registers: match places.registers(pf) {
                Ok(Some(registers)) => Ok(Mutex::new(registers)),
                Ok(None) => Err("registers of this chip are not known".to_owned()),
                Err(error) => Err(error.to_string()),
            },
            dir,
        };
        let up = |up| LinkChange {
            up: Some(up),
            ..LinkChange::default()
        };
        // A function that is probed before its port has been reset gets no link, so that drivers
        // have to wait (drivers/net/ethernet/intel/igbvf/netdev.c, "PF still in reset state").
        links.change(pf, &up(true))?;
        set.write("sriov_drivers_autoprobe", "0")?;
        set.write("sriov_numvfs", &(own + extra).to_string())?;
        let functions = Functions::open(&set.host)?;
        let [near, far] = VLANS;
        let of_guests = guests
            .iter()
            .flat_map(|[first, second]| [(*first, near), (*second, far)]);
        let own = [(a, near)].into_iter().chain(of_guests).chain([(b, far)]);
        // Neighbours are in the half of the path where its sockets end.
        let others = (0..extra).map(|number| (neighbour(number), near));
        for (vf, (mac, vlan)) in (0..).zip(own.chain(others)) {
            functions.set(pf, vf, FunctionSetting::Mac(mac))?;
            functions.set(pf, vf, FunctionSetting::Vlan(vlan))?;
        }
        for vf in set.of_guests().chain(set.takers()) {
            // What it sends has addresses of the tester's stations.
            functions.set(pf, vf, FunctionSetting::SpoofCheck(false))?;
        }
        links.change(pf, &up(false))?;
        links.change(pf, &up(true))?;
        links.wait_carrier(pf, LINK_LIMIT)?;
        set.write("sriov_drivers_autoprobe", "1")?;
        Ok(set)
    }

    /// What the NIC has counted of the functions, in the order in which frames meet them; nothing
    /// where that cannot be read.
    pub(crate) fn counters(&self) -> Vec<InterfaceCounters> {
        match &self.registers {
            Ok(registers) => {
                let registers = registers.lock().unwrap_or_else(PoisonError::into_inner);
                counters::places(&self.pf, self.guests, |vf| registers.read(vf))
            }
            Err(_) => Vec::new(),
        }
    }

    /// Why the functions are not counted, for the run's notes.
    pub(crate) fn not_counted(&self) -> Option<PathNote> {
        let why = self.registers.as_ref().err()?;
        Some(PathNote::FunctionsUncounted {
            pf: self.pf.clone(),
            why: why.to_string(),
        })
    }

    /// The guests' functions.
    fn of_guests(&self) -> impl Iterator<Item = u32> + use<> {
        (0..self.guests).flat_map(of_guest)
    }

    /// The tester's functions, at A and B.
    pub(crate) fn of_tester(&self) -> [u32; 2] {
        [0, count(self.guests) - 1]
    }

    /// Those that take frames for other addresses than their own. The guest's forwards to stations
    /// of the tester. Where there are several guests the tester's have several stations, and those of
    /// the guests have their addresses: drivers have one filter per address beside the functions' own
    /// (drivers/net/ethernet/intel/igb/igb_main.c, `igb_add_mac_filter`).
    fn takers(&self) -> Vec<u32> {
        match self.guests {
            1 => of_guest(0).to_vec(),
            _ => self.of_tester().to_vec(),
        }
    }

    /// Lets functions take frames for stations, see [`function_rig`](crate::function_rig). Only once a driver
    /// has reset them: an ordinary function keeps the address the host gave it, a trusted one may
    /// make one up.
    pub(crate) fn trust(&self) -> Result<(), PathError> {
        let functions = Functions::open(&self.host)?;
        for vf in self.takers() {
            match functions.set(&self.pf, vf, FunctionSetting::Trust(true)) {
                // Drivers without the word ask for none.
                Err(error) if !error.is_unsupported() => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Functions for neighbours, two of each pair.
    pub(crate) fn neighbours(&self) -> std::ops::Range<u32> {
        let own = count(self.guests);
        own..own + self.extra
    }

    /// Lets the host's driver have function `vf` and moves its interface to `ns`.
    pub(crate) fn interface(&self, vf: u32, ns: &NetNs, name: &str) -> Result<(), PathError> {
        let there = driver::interface_of(self.bind(vf, Driver::Own)?);
        Ok(Links::open(&self.host)?.move_to(&there, ns, name)?)
    }

    /// Gives function `vf` to VFIO. Returns its PCI address.
    pub(crate) fn pass_through(&self, vf: u32) -> Result<String, PathError> {
        Ok(self.bind(vf, Driver::VFIO)?.address)
    }

    /// Kernel module with which a guest drives the functions.
    pub(crate) fn guest_module(&self) -> Result<&'static str, PathError> {
        let function = Places::of(&self.host).virtual_function(&self.pf, 0);
        let device = function.and_then(|function| function.device).unwrap_or(0);
        DRIVERS
            .iter()
            .find(|(_, devices)| devices.contains(&device))
            .map(|(module, _)| *module)
            .ok_or_else(|| PathError::Guest {
                why: format!(
                    "the guest has no driver for the virtual functions of {} (device {device:#06x})",
                    self.pf
                ),
                remedy: Remedy::plan(
                    "write guest = \"netns\" or nic = \"sriov-macvtap\", which use the host's driver",
                ),
            })
    }

    /// Lets a driver have a function, the host's when none is named.
    fn bind(&self, vf: u32, driver: Driver) -> Result<PciFunction, PathError> {
        let places = Places::of(&self.host);
        let missing = || PathError::Guest {
            why: format!("virtual function {vf} of {} has gone", self.pf),
            remedy: Remedy::here("see what else makes virtual functions on this machine"),
        };
        let function = places.virtual_function(&self.pf, vf).ok_or_else(missing)?;
        let what = format!(
            "virtual function {vf} of {} ({})",
            self.pf, function.address
        );
        driver::bind(&places, &function.address, driver, &what)
    }

    fn write(&self, file: &str, text: &str) -> Result<(), PathError> {
        let file = self.inventory.file(file);
        fs::write(&file, text).map_err(|e| PathError::io("write", file.display(), e))
    }
}

impl Drop for FunctionSet {
    fn drop(&mut self) {
        // What cannot be undone now is undone by the next nicety, if the directory stays.
        if self.inventory.undo().is_err() {
            self.dir.keep();
        }
    }
}

/// Hardware address of a neighbour's function: locally administered, the same in every run.
fn neighbour(number: u32) -> Mac {
    Mac([0x02, 0x6e, 0x69, 0, 2, number as u8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_not_there_is_named() {
        let error = FunctionSet::check("nosuch0", 1, true).unwrap_err();
        assert_eq!(error.to_string(), "pf = \"nosuch0\" does not exist");
        assert!(error.remedy().is_some());
    }
}
