//! QEMU, a kernel and the way they run: what booting a lab needs.

use nicety_guests::bundle::{self, KernelWish, Progress};
use nicety_guests::{Accelerator, Bundle, BundleSpec, Purpose, QemuError, Watch};
use nicety_model::path::VmAccel;

use crate::spec::LabSpec;

/// Memory where none is asked for: room for two guests of the lab's own.
const MEMORY_MIB: u32 = 4096;

/// The machine that is asked for.
#[derive(Debug, Clone)]
pub struct LabRequest {
    /// Virtual CPUs; without it as many as the host has, 2 to 8.
    pub cpus: Option<u16>,
    /// Memory in MiB; without it 4096.
    pub memory_mib: Option<u32>,
    /// How its instructions run.
    pub accel: VmAccel,
    /// A kernel of the user's own, or one that is installed; without it Debian's.
    pub kernel: Option<KernelWish>,
}

/// What booting needs.
#[derive(Debug)]
pub struct Setup {
    /// QEMU and the kernel.
    pub bundle: Bundle,
    /// The machine.
    pub spec: LabSpec,
    /// How its instructions run.
    pub accelerator: Accelerator,
}

impl Setup {
    /// Fetches what is not there, and finds out about KVM. `fetching` is told how far fetching has
    /// come, once more without a step when it is over; `booting` sees the boot of a kernel that proves KVM.
    ///
    /// # Errors
    /// When QEMU or the kernel cannot be had, or KVM was asked for and does not work.
    pub fn get(
        request: LabRequest,
        fetching: &mut dyn FnMut(Option<Progress<'_>>),
        booting: &mut Watch<'_>,
    ) -> Result<Self, QemuError> {
        let cache = bundle::place::cache()?;
        // Before anything is fetched.
        let kernel = request.kernel.map(|wish| wish.get(&cache)).transpose()?;
        let spec = BundleSpec {
            cache,
            purpose: Purpose::Lab,
        };
        let bundle = Bundle::get(&spec, &mut |now| fetching(Some(now)))?;
        fetching(None);
        let accelerator = Accelerator::choose(request.accel, &bundle, booting)?;
        let mut bundle = bundle;
        if let Some(kernel) = kernel {
            // KVM was proved with Debian's.
            bundle.kernel = kernel;
        }
        let here =
            std::thread::available_parallelism().map_or(2, |count| count.get().clamp(2, 8) as u16);
        let spec = LabSpec {
            cpus: request.cpus.unwrap_or(here),
            memory_mib: request.memory_mib.unwrap_or(MEMORY_MIB),
            shares: Vec::new(),
            guest_channel: None,
        };
        Ok(Self {
            bundle,
            spec,
            accelerator,
        })
    }
}
