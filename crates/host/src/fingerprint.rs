//! The machine in facts, for `host.json` (RFC 8204 §3.3).
//!
//! What cannot be read is absent. A fingerprint is made to be published: it holds no serial
//! number, asset tag or machine id, the host's name only where the caller adds it (see
//! [`Fingerprint::name`]), and of the kernel command line only the
//! kernel's own part, with addresses and identifiers blanked (see [`public_cmdline`]).
//! Interfaces are added by [`add_interfaces`].

mod cmdline;
mod interface;
mod sysctl;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use nicety_model::Fingerprint;
use nicety_netdev::privilege::{Privilege, privilege};

use crate::hardware;
use crate::roots::{EtcRoot, Roots, SysRoot};
use crate::topology::Topology;

pub use cmdline::public_cmdline;
pub use interface::add_interfaces;
pub use sysctl::SYSCTLS;

/// What stands in fields that a fingerprint must have when they cannot be read.
pub const UNKNOWN: &str = "unknown";

/// The name of the running host, as uname(2) has it; absent when it has none.
pub fn hostname() -> Option<String> {
    let uname = rustix::system::uname();
    let name = uname.nodename().to_string_lossy().into_owned();
    let has_one = !name.is_empty() && name != "(none)";
    has_one.then_some(name)
}

/// Who measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measurer<'a> {
    /// Version of nicety.
    pub version: &'a str,
    /// Whether it has root's rights on the host.
    pub privileged: bool,
}

impl Measurer<'static> {
    /// This program.
    pub fn current() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            privileged: matches!(privilege(), Ok(Privilege::Privileged)),
        }
    }
}

/// Reads the facts. Settings under `net.` are those of the network namespace this process
/// is in: some exist only in the first one, so read before entering another.
pub fn read(roots: &Roots, measurer: Measurer<'_>) -> Fingerprint {
    let Roots { proc, sys, etc } = roots;
    let topology = Topology::read(proc, sys).unwrap_or_default();
    let cpuinfo = proc.text("cpuinfo").unwrap_or_default();
    let or_unknown = |value: Option<String>| value.unwrap_or_else(|| UNKNOWN.to_owned());
    Fingerprint {
        nicety: measurer.version.to_owned(),
        hostname: None,
        label: None,
        privileged: measurer.privileged,
        kernel: or_unknown(proc.text("sys/kernel/osrelease")),
        cmdline: or_unknown(proc.text_as("cmdline", public_cmdline)),
        os: distribution(etc),
        cpu_model: or_unknown(hardware::cpu_model(&cpuinfo)),
        cpus: u32::try_from(topology.cpus.len()).unwrap_or(u32::MAX),
        sockets: topology.sockets(),
        numa: topology
            .nodes
            .iter()
            .map(|(node, cpus)| (node.to_string(), cpus.clone()))
            .collect(),
        smt: sys.text("devices/system/cpu/smt/control"),
        governor: governors(sys, &topology),
        mitigations: mitigations(sys),
        isolated: topology.isolated,
        cpus_allowed: topology.allowed,
        hypervisor: hardware::hypervisor(sys, &cpuinfo),
        clocksource: sys.text("devices/system/clocksource/clocksource0/current_clocksource"),
        microcode: hardware::microcode(sys, &cpuinfo),
        memory_mib: hardware::memory_mib(proc),
        hugepages: hardware::hugepages(sys),
        sysctl: sysctl::read(proc),
        interfaces: BTreeMap::new(),
        bios: hardware::bios(sys),
    }
}

/// `PRETTY_NAME` of os-release(5), else `NAME`.
fn distribution(etc: &EtcRoot) -> Option<String> {
    let text = etc.text("os-release")?;
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        let bare = line.strip_prefix('=')?.trim().trim_matches(['"', '\'']);
        (!bare.is_empty()).then(|| bare.to_owned())
    };
    value("PRETTY_NAME").or_else(|| value("NAME"))
}

fn governors(sys: &SysRoot, topology: &Topology) -> BTreeMap<String, String> {
    let of = |cpu: &u32| {
        let file = format!("devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        Some((cpu.to_string(), sys.text(file)?))
    };
    topology.cpus.keys().filter_map(of).collect()
}

fn mitigations(sys: &SysRoot) -> BTreeMap<String, String> {
    const DIR: &str = "devices/system/cpu/vulnerabilities";
    sys.entries(DIR)
        .into_iter()
        .filter_map(|name| {
            let state = sys.text(format!("{DIR}/{name}"))?;
            Some((name, state))
        })
        .collect()
}
