//! Booting the lab.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use crate::spec::{self, CONFIG, FIRST_MODULES, GuestConfig, HOST_MODULES, LabSpec, PORTS, Share};
use nicety_guests::initramfs::{self, Contents, Initramfs};
use nicety_guests::machine;
use nicety_guests::modules::ModuleIndex;
use nicety_guests::{Accelerator, Bundle, Machine, MachineSpec, QemuError};

/// A booting lab that ends with the thread that boots it.
#[derive(Debug)]
pub struct Lab {
    /// QEMU.
    pub machine: Machine,
    /// Runs one command; the guest answers when it is up.
    pub port: UnixStream,
}

/// Name of the port's socket of a lab that is left running.
pub fn port_name(number: usize) -> String {
    format!("port{number}")
}

/// Starts a lab for one command.
///
/// # Errors
/// When QEMU does not start.
pub fn boot(bundle: &Bundle, spec: &LabSpec, accelerator: &Accelerator) -> Result<Lab, QemuError> {
    let (ours, theirs) =
        UnixStream::pair().map_err(|e| QemuError::io("make", "a socket pair", e))?;
    let theirs = OwnedFd::from(theirs);
    let ports = spec::port_of_fd(0, &theirs).to_vec();
    let initramfs = initramfs_of(bundle, spec, accelerator)?;
    let mut arguments = spec::devices(spec, accelerator);
    arguments.extend(ports);
    arguments.extend(machine::kernel(
        &bundle.kernel.image,
        &initramfs,
        spec::COMMAND_LINE,
        "lab",
    ));
    let inherit = vec![theirs, initramfs.file.into()];
    let machine = Machine::start(
        &bundle.emulator,
        MachineSpec {
            name: "the lab".into(),
            arguments,
            inherit,
            left_in: None,
            ns: None,
        },
    )?;
    Ok(Lab {
        machine,
        port: ours,
    })
}

/// Starts a lab that is left running, with its sockets in a directory.
///
/// # Errors
/// When QEMU does not start.
pub fn boot_in(
    bundle: &Bundle,
    spec: &LabSpec,
    accelerator: &Accelerator,
    dir: &Path,
) -> Result<Machine, QemuError> {
    let initramfs = initramfs_of(bundle, spec, accelerator)?;
    let mut arguments = spec::devices(spec, accelerator);
    for number in 0..PORTS {
        arguments.extend(spec::port_of_path(number, &dir.join(port_name(number))));
    }
    arguments.extend(machine::kernel(
        &bundle.kernel.image,
        &initramfs,
        spec::COMMAND_LINE,
        "lab",
    ));
    let inherit = vec![initramfs.file.into()];
    let left_in = Some(PathBuf::from(dir));
    Machine::start(
        &bundle.emulator,
        MachineSpec {
            name: "the lab".into(),
            arguments,
            inherit,
            left_in,
            ns: None,
        },
    )
}

fn initramfs_of(
    bundle: &Bundle,
    spec: &LabSpec,
    accelerator: &Accelerator,
) -> Result<Initramfs, QemuError> {
    let share = |(number, path): (usize, &PathBuf)| Share {
        tag: spec::share_tag(number),
        path: path.clone().into_os_string(),
    };
    let index = ModuleIndex::read(&bundle.kernel.modules)?;
    let mut load = Vec::new();
    for modules in host_modules(accelerator) {
        let order = index
            .order(&modules)
            .map_err(|name| bundle.kernel.no_module(name))?;
        load.push(order.into_iter().map(str::to_owned).collect());
    }
    let config = GuestConfig {
        load,
        release: bundle.kernel.release.clone(),
        modules: bundle.kernel.modules.clone().into_os_string(),
        loader: bundle
            .loader
            .iter()
            .map(|word| word.clone().into_os_string())
            .collect(),
        kmod: bundle.kmod.clone().into_os_string(),
        shares: spec.shares.iter().enumerate().map(share).collect(),
    };
    let text = serde_json::to_vec(&config).map_err(|e| QemuError::io("write", CONFIG, e))?;
    let contents = Contents {
        kernel: &bundle.kernel,
        modules: &FIRST_MODULES,
        files: &[(CONFIG, text.as_slice())],
    };
    initramfs::build(&contents)
}

/// The lists of [`HOST_MODULES`] with the KVM of this CPU: the emulated one is AMD's.
fn host_modules(accelerator: &Accelerator) -> Vec<Vec<&'static str>> {
    let intel = *accelerator == Accelerator::Kvm
        && fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains("GenuineIntel"));
    let name = |name: &&'static str| match (*name, intel) {
        ("kvm_amd", true) => "kvm_intel",
        (name, _) => name,
    };
    HOST_MODULES
        .iter()
        .map(|list| list.iter().map(name).collect())
        .collect()
}
