//! QEMU, a kernel and the way they run, for every command that boots a lab.

use std::io::{self, Write};

use anyhow::anyhow;
use nicety_guests::bundle;
use nicety_lab::setup::{LabRequest, Setup};

use super::args::{FetchArgs, MachineArgs};
use super::progress::Progress;
use crate::exit::{Exit, Failure};
use crate::output;

/// Fetches what is not there, and finds out about KVM.
pub fn get(args: &MachineArgs) -> Result<Setup, Failure> {
    if !cfg!(target_arch = "x86_64") {
        return Err(Failure::environment(anyhow!(
            "the lab is an x86-64 machine; this nicety is built for another"
        )));
    }
    let request = LabRequest {
        cpus: args.cpus,
        memory_mib: args.memory,
        accel: args.accel.unwrap_or_default(),
        cache: args.cache.clone(),
        mirror: args.mirror.clone(),
    };
    let mut progress = Progress::default();
    let mut fetching = |now: Option<bundle::Progress<'_>>| match now {
        Some(now) => progress.show(now),
        None => progress.done(),
    };
    Setup::get(request, &mut fetching, &mut |step| {
        output::say(&format!("nicety: {step}"));
    })
    .map_err(Failure::environment)
}

/// Says what is booted.
pub fn announce(setup: &Setup) {
    output::say(&format!(
        "nicety: booting the lab: {} CPUs, {} MiB, Linux {}, QEMU {}, {}",
        setup.spec.cpus,
        setup.spec.memory_mib,
        setup.bundle.kernel.release,
        setup.bundle.emulator.version,
        setup.accelerator
    ));
}

/// `nicety lab fetch`.
pub fn fetch(args: &FetchArgs) -> Result<Exit, Failure> {
    let setup = get(&args.machine)?;
    let bytes: u64 = setup
        .bundle
        .packages
        .iter()
        .map(|package| package.bytes)
        .sum();
    let text = format!(
        "QEMU   {}\nLinux  {}\nruns   {}\nin     {}, {} Debian packages of {} MB",
        setup.bundle.emulator.version,
        setup.bundle.kernel.release,
        setup.accelerator,
        setup.bundle.cache.display(),
        setup.bundle.packages.len(),
        bytes / 1_000_000
    );
    // Nobody reads a closed standard output.
    let _ = writeln!(io::stdout().lock(), "{text}");
    Ok(Exit::Done)
}
