//! QEMU, a kernel and the way they run, for every command that boots a lab.

use std::io::{self, Write};

use anyhow::anyhow;
use nicety_testbed::lab::LabSpec;
use nicety_testbed::qemu::{Accelerator, Bundle, BundleSpec, Purpose, bundle};

use super::args::{FetchArgs, MachineArgs};
use super::progress::Progress;
use crate::exit::{Exit, Failure};
use crate::output;

/// Memory without `--memory`: room for two guests of the lab's own.
const MEMORY_MIB: u32 = 4096;

/// What booting needs.
pub struct Setup {
    pub bundle: Bundle,
    pub spec: LabSpec,
    pub accelerator: Accelerator,
}

impl Setup {
    /// Fetches what is not there, and finds out about KVM.
    pub fn new(args: &MachineArgs) -> Result<Self, Failure> {
        if !cfg!(target_arch = "x86_64") {
            return Err(Failure::environment(anyhow!(
                "the lab is an x86-64 machine; this nicety is built for another"
            )));
        }
        let cache = match &args.cache {
            Some(cache) => cache.clone(),
            None => bundle::default_cache().map_err(Failure::environment)?,
        };
        let spec = BundleSpec {
            cache,
            mirror: args.mirror.clone(),
            purpose: Purpose::Lab,
        };
        let mut progress = Progress::default();
        let bundle =
            Bundle::get(&spec, &mut |now| progress.show(now)).map_err(Failure::environment)?;
        progress.done();
        let accel = args.accel.unwrap_or_default();
        let accelerator = accel
            .choose(&bundle, &mut |step| output::say(&format!("nicety: {step}")))
            .map_err(Failure::environment)?;
        let here =
            std::thread::available_parallelism().map_or(2, |count| count.get().clamp(2, 8) as u16);
        let spec = LabSpec {
            cpus: args.cpus.unwrap_or(here),
            memory_mib: args.memory.unwrap_or(MEMORY_MIB),
            accel,
            shares: Vec::new(),
            guest_channel: None,
        };
        Ok(Self {
            bundle,
            spec,
            accelerator,
        })
    }

    /// Says what is booted.
    pub fn announce(&self) {
        output::say(&format!(
            "nicety: booting the lab: {} CPUs, {} MiB, Linux {}, QEMU {}, {}",
            self.spec.cpus,
            self.spec.memory_mib,
            self.bundle.kernel.release,
            self.bundle.emulator.version,
            self.accelerator
        ));
    }
}

/// `nicety lab fetch`.
pub fn fetch(args: &FetchArgs) -> Result<Exit, Failure> {
    let setup = Setup::new(&args.machine)?;
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
