//! What a path through a guest is to be, and whether this machine can have it.

use nicety_guests::devices::MEMORY_MIB;
use nicety_guests::{Bundle, QemuOption};
use nicety_model::plan::VmConfig;
use nicety_model::{FrameSize, Remedy};
use nicety_netdev::link::Mac;

use crate::error::PathError;
use crate::guest::{self, STATIONS};
use crate::memory::available_mib;

/// A path through a guest.
#[derive(Debug, Clone)]
pub struct VmSpec {
    /// The guest.
    pub ask: VmConfig,
    /// Largest frame it has to carry.
    pub largest_frame: FrameSize,
    /// CPUs for the receive threads on the host, as of a bridge path.
    pub path_cpus: Vec<u32>,
    /// CPUs for the polling threads of switches built on DPDK, the first ones taken.
    pub switch_cpus: Vec<u32>,
    /// Stations of the tester at ports A and B, a pair for every guest; needed where there are
    /// several. On virtual functions the first pair is the address of the ports themselves.
    pub stations: Vec<[Mac; 2]>,
    /// CPUs on which the tester polls: what is not pinned keeps away from them.
    pub tester_cpus: Vec<u32>,
    /// Pairs of neighbours that are to share the guest's way to the tester.
    pub neighbours: u32,
    /// Longest wait until the guest forwards.
    pub boot_limit: std::time::Duration,
}

impl VmSpec {
    /// A pair of stations per guest; which they are does not matter where there is one.
    pub(super) fn guest_stations(&self) -> Vec<[Mac; 2]> {
        guest::stations(&self.stations, self.ask.vms)
    }

    /// The pair that is behind one guest.
    pub(super) fn stations_of(&self, guest: usize) -> [Mac; 2] {
        let stations = self.stations.get(guest);
        stations.copied().unwrap_or(STATIONS)
    }
}

/// CPUs for what is not pinned: where the tester and the switch do not poll, if there are any.
pub(super) fn rest(spec: &VmSpec, allowed: &[u32]) -> Vec<u32> {
    let polling = if spec.ask.switch.on_dpdk() {
        spec.switch_cpus.get(..spec.ask.cores as usize)
    } else {
        None
    };
    let without = |busy: &[u32]| -> Vec<u32> {
        let left = allowed.iter().filter(|cpu| !busy.contains(cpu));
        left.copied().collect()
    };
    let busy = [&spec.tester_cpus, polling.unwrap_or_default()].concat();
    let tries = [busy.as_slice(), &spec.tester_cpus, &[]].map(without);
    let mut tries = tries.into_iter().filter(|cpus| !cpus.is_empty());
    tries.next().unwrap_or_default()
}

/// Refuses what this machine cannot do, before anything is made. `cpus` are those that this
/// process may use.
pub(super) fn check(spec: &VmSpec, cpus: &[u32]) -> Result<(), PathError> {
    if spec.ask.vms > 1 {
        memory(spec.ask.vms, available_mib())?;
    }
    let missing = spec.ask.pin.iter().find(|cpu| !cpus.contains(cpu));
    if let Some(cpu) = missing {
        return Err(PathError::Guest {
            why: format!("pin names CPU {cpu}, this process may use {}", words(cpus)),
            remedy: Remedy::plan(
                "name CPUs of this machine, or measure on the one that the plan was written for",
            ),
        });
    }
    Ok(())
}

/// Refuses what the QEMU at hand does not know.
pub(super) fn known(spec: &VmSpec, bundle: &Bundle) -> Result<(), PathError> {
    match bundle.emulator.lacks(&spec.ask)? {
        None => Ok(()),
        Some(option) => Err(PathError::Guest {
            why: format!("QEMU {} knows no {option}", bundle.emulator.version),
            remedy: Remedy::here_or_plan(
                "put a QEMU that has it first in PATH, or none, so that Debian's is fetched",
                match option {
                    QemuOption::Netdev(_) => "write another nic",
                    _ => "leave the key out",
                },
            ),
        }),
    }
}

/// CPU numbers: `CPUs 0, 1`.
fn words(cpus: &[u32]) -> String {
    let plural = if cpus.len() == 1 { "" } else { "s" };
    let words: Vec<String> = cpus.iter().map(u32::to_string).collect();
    format!("CPU{plural} {}", words.join(", "))
}

/// Whether so many guests fit in the memory that is available, where that is known.
fn memory(guests: u32, available_mib: Option<u64>) -> Result<(), PathError> {
    let needed = u64::from(guests) * u64::from(MEMORY_MIB);
    match available_mib {
        Some(have) if have < needed => Err(PathError::Guest {
            why: format!("{guests} guests need {needed} MiB of memory, {have} MiB are available"),
            remedy: Remedy::plan(format!(
                "write vms = {} or less",
                (have / u64::from(MEMORY_MIB)).max(1)
            )),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::PathSpec;

    use super::*;

    fn ask(words: &[(&str, &str)]) -> VmConfig {
        let words = words.iter().copied().chain([("kind", "vm")]);
        let words = words.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        PathSpec::try_from(&words).unwrap().vm().unwrap().config()
    }

    fn spec(words: &[(&str, &str)]) -> VmSpec {
        VmSpec {
            ask: ask(words),
            largest_frame: FrameSize::new(64).unwrap(),
            path_cpus: Vec::new(),
            switch_cpus: Vec::new(),
            stations: Vec::new(),
            tester_cpus: Vec::new(),
            neighbours: 0,
            boot_limit: std::time::Duration::ZERO,
        }
    }

    #[test]
    fn guests_must_fit_in_memory() {
        assert!(memory(4, Some(2048)).is_ok() && memory(4, None).is_ok());
        let error = memory(4, Some(1600)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "4 guests need 2048 MiB of memory, 1600 MiB are available"
        );
        assert_eq!(error.remedy(), Some(Remedy::plan("write vms = 3 or less")));
    }

    #[test]
    fn what_is_not_pinned_keeps_off_those_that_poll() {
        let spec = |switch: &str| VmSpec {
            switch_cpus: vec![1],
            tester_cpus: vec![0],
            ..spec(&[("switch", switch)])
        };
        assert_eq!(rest(&spec("bridge"), &[0, 1, 2]), [1, 2]);
        assert_eq!(rest(&spec("ovs-dpdk"), &[0, 1, 2]), [2]);
        assert_eq!(rest(&spec("ovs-dpdk"), &[0, 1]), [1]);
        assert_eq!(rest(&spec("bridge"), &[0]), [0]);
    }

    #[test]
    fn cpus_that_are_not_there_are_named() {
        let spec = |pin: &str| spec(&[("pin", pin), ("vcpus", "4")]);
        assert!(check(&spec("0+1+0"), &[0, 1]).is_ok());
        assert_eq!(
            check(&spec("0+7"), &[0, 1]).unwrap_err().to_string(),
            "pin names CPU 7, this process may use CPUs 0, 1"
        );
    }
}
