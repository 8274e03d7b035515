//! QEMU, a kernel and the way they run, for every command that boots a lab.

use std::ops::ControlFlow;

use anyhow::anyhow;
use nicety_guests::bundle;
use nicety_lab::setup::Setup;
use nicety_model::counted::plural;

use super::args::MachineArgs;
use super::progress::Progress;
use crate::exit::{Exit, Failure};
use crate::kvm;
use crate::output;

/// Fetches what is not there, and finds out about KVM.
pub fn get(args: &MachineArgs) -> Result<Setup, Failure> {
    if !cfg!(target_arch = "x86_64") {
        return Err(Failure::environment(anyhow!(
            "the lab is an x86-64 machine; this nicety is built for another"
        )));
    }
    let mut progress = Progress::default();
    let mut fetching = |now: Option<bundle::Progress<'_>>| match now {
        Some(now) => progress.show(now),
        None => progress.done(),
    };
    let told = kvm::Once::default();
    let mut booting = |wait| {
        told.say(wait, "");
        ControlFlow::Continue(())
    };
    Setup::get(args.into(), &mut fetching, &mut booting).map_err(Failure::environment)
}

/// Says what is booted.
pub fn announce(setup: &Setup) {
    output::say(&format!(
        "nicety: booting the lab: {}, {} MiB, Linux {}, QEMU {}, {}",
        plural(setup.spec.cpus, "CPU"),
        setup.spec.memory_mib,
        setup.bundle.kernel.release,
        setup.bundle.emulator.version,
        setup.accelerator
    ));
}

/// `nicety lab fetch`.
pub fn fetch(args: &MachineArgs) -> Result<Exit, Failure> {
    let setup = get(args)?;
    let packages = &setup.bundle.packages;
    let bytes: u64 = packages.iter().map(|package| package.bytes).sum();
    let text = format!(
        "QEMU   {}\nLinux  {}\nruns   {}\nin     {}, {} Debian packages of {} MB\n",
        setup.bundle.emulator.version,
        setup.bundle.kernel.release,
        setup.accelerator,
        setup.bundle.cache.display(),
        packages.len(),
        bytes / 1_000_000
    );
    // Nobody reads a closed standard output.
    let _ = output::print(&text);
    Ok(Exit::Done)
}
