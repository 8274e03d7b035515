//! What guests are made of: QEMU and a kernel, had once per run, and the way they run.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::ControlFlow;

use nicety_guests::wire::Serve;
use nicety_guests::{Accelerator, Bundle, BundleSpec, Purpose, QemuError, bundle};
use nicety_host::placement::Placement;
use nicety_model::note::GuestNote;
use nicety_model::path::{VmAccel, VmConfig, VmParams};
use nicety_model::{Coded, FrameSize, Note, PathSpec, Plan, ProblemCode, Remedy};
use nicety_paths::{NetnsPath, NetnsSpec, Path, PathError, VmPath, VmSpec};
use nicety_port::Stop;

use crate::event::{Event, Observer, Stage};
use crate::{builder, setup};

/// Longest wait for a guest. Under emulation on a quiet machine it takes five seconds, under KVM
/// in the emulated CPU of the lab twenty.
const BOOT_LIMIT: std::time::Duration = std::time::Duration::from_secs(90);

/// Guests of one run.
#[derive(Debug)]
pub struct Guests {
    /// Or why there is none.
    bundle: Result<Bundle, NoBundle>,
    /// How they run, by what was asked for.
    accelerators: BTreeMap<VmAccel, Accelerator>,
}

impl Guests {
    /// Fetches QEMU and a kernel where the plan has guests and they are not in the cache. To be
    /// called before a user namespace is entered.
    pub fn prepare(plan: &Plan, observer: &dyn Observer) -> Self {
        let machine = |path: &PathSpec| path.vm().is_some_and(|vm| !vm.config().netns);
        let wanted = plan.buildable_cells().any(|key| machine(&key.path))
            || plan.sock_cells().any(|cell| machine(&cell.path));
        let bundle = if wanted {
            fetch(observer)
        } else {
            Err(NoBundle {
                code: ProblemCode::NoQemu,
                why: "the plan has no guests".to_owned(),
                remedy: Remedy::plan("write a [[path]] with kind = \"vm\""),
            })
        };
        Self {
            bundle,
            accelerators: BTreeMap::new(),
        }
    }

    /// What is used, for the run's notes; nothing without guests.
    pub fn note(&self) -> Option<Note> {
        let bundle = self.bundle.as_ref().ok()?;
        let note = GuestNote::Qemu {
            version: bundle.emulator.version.to_string(),
            kernel: bundle.kernel.release.to_string(),
            cache: bundle.cache.display().to_string(),
        };
        Some(note.into())
    }

    /// Boots the guest `vm`, or makes its namespace. `observer` is told what takes time.
    pub fn path(
        &mut self,
        vm: &VmParams,
        largest: FrameSize,
        placement: &Placement,
        stop: &Stop,
        observer: &dyn Observer,
    ) -> Result<Box<dyn Path>, PathError> {
        let ask = vm.config();
        if ask.netns {
            let spec = namespace_spec(ask, largest, placement);
            return Ok(Box::new(NetnsPath::build(&spec)?));
        }
        let bundle = self.bundle.as_ref().map_err(NoBundle::refusal)?;
        let spec = machine_spec(ask, largest, placement);
        VmPath::check(&spec)?;
        let accelerator = accelerator(&mut self.accelerators, bundle, &spec.ask, observer)?;
        booting(&spec.ask, accelerator, observer);
        let path = VmPath::build(&spec, bundle, accelerator, &|| stop.is_set())?;
        Ok(Box::new(path))
    }

    /// Refuses what this machine cannot do, in no time: nothing is made or booted.
    pub fn check(
        &self,
        vm: &VmParams,
        largest: FrameSize,
        placement: &Placement,
    ) -> Result<(), PathError> {
        let ask = vm.config();
        if ask.netns {
            return NetnsPath::check(&namespace_spec(ask, largest, placement));
        }
        let bundle = self.bundle.as_ref().map_err(NoBundle::refusal)?;
        let spec = machine_spec(ask, largest, placement);
        VmPath::check(&spec)?;
        VmPath::check_qemu(&spec, bundle)
    }

    /// Boots a guest for each of `serve` in which sockets end, with at most `neighbours` pairs beside it. Nothing polls
    /// beside it, so it may use every CPU.
    pub fn serving(
        &mut self,
        ask: VmConfig,
        serve: &[Serve],
        (largest, neighbours): (FrameSize, u32),
        stop: &Stop,
        observer: &dyn Observer,
    ) -> Result<VmPath, PathError> {
        let bundle = self.bundle.as_ref().map_err(NoBundle::refusal)?;
        let spec = VmSpec {
            ask,
            largest_frame: largest,
            path_cpus: Vec::new(),
            switch_cpus: Vec::new(),
            stations: Vec::new(),
            tester_cpus: Vec::new(),
            neighbours,
            boot_limit: BOOT_LIMIT,
        };
        VmPath::check(&spec)?;
        let accelerator = accelerator(&mut self.accelerators, bundle, &spec.ask, observer)?;
        booting(&spec.ask, accelerator, observer);
        VmPath::serving(&spec, serve, bundle, accelerator, &|| stop.is_set())
    }
}

fn namespace_spec(ask: VmConfig, largest: FrameSize, placement: &Placement) -> NetnsSpec {
    NetnsSpec {
        stations: setup::stations(ask.vms),
        ask,
        largest_frame: largest,
        path_cpus: builder::path_cpus(placement),
        serves: false,
        neighbours: 0,
    }
}

fn machine_spec(ask: VmConfig, largest: FrameSize, placement: &Placement) -> VmSpec {
    VmSpec {
        stations: setup::stations(ask.vms),
        ask,
        largest_frame: largest,
        path_cpus: builder::path_cpus(placement),
        switch_cpus: builder::program_cpus(&placement.path),
        tester_cpus: placement.tester.iter().map(|tester| tester.cpu).collect(),
        neighbours: 0,
        boot_limit: BOOT_LIMIT,
    }
}

/// How guests run that ask for `ask.accel`: tried once per run.
fn accelerator<'a>(
    known: &'a mut BTreeMap<VmAccel, Accelerator>,
    bundle: &Bundle,
    ask: &VmConfig,
    observer: &dyn Observer,
) -> Result<&'a Accelerator, PathError> {
    let untried = match known.entry(ask.accel) {
        Entry::Occupied(known) => return Ok(known.into_mut()),
        Entry::Vacant(untried) => untried,
    };
    let mut told = false;
    let mut watch = |wait| {
        if !std::mem::replace(&mut told, true) {
            observer.on(Event::Stage(Stage::Accelerator(wait)));
        }
        ControlFlow::Continue(())
    };
    let chosen =
        Accelerator::choose(ask.accel, bundle, &mut watch).map_err(|error| match &error {
            QemuError::NoKvm { .. } => PathError::Guest {
                why: error.what(),
                remedy: Remedy::plan("write accel = \"tcg\" (slower) or accel = \"auto\""),
            },
            _ => PathError::Qemu(error),
        })?;
    Ok(untried.insert(chosen))
}

fn booting(ask: &VmConfig, accelerator: &Accelerator, observer: &dyn Observer) {
    observer.on(Event::Stage(Stage::Boot {
        guests: ask.vms,
        nic: ask.nic,
        vcpus: ask.vcpus,
        accelerator: match accelerator {
            Accelerator::Kvm => "KVM",
            Accelerator::Tcg(_) => "TCG",
        },
    }));
}

fn fetch(observer: &dyn Observer) -> Result<Bundle, NoBundle> {
    if !cfg!(target_arch = "x86_64") {
        return Err(NoBundle {
            code: ProblemCode::NoQemu,
            why: "guests are x86-64 machines, this nicety is built for another".to_owned(),
            remedy: Remedy::elsewhere("measure on such a host"),
        });
    }
    let spec = BundleSpec {
        cache: bundle::place::cache()?,
        purpose: Purpose::Guests,
    };
    let got = Bundle::get(&spec, &mut |now| observer.on(Event::Fetching(now)));
    observer.on(Event::Fetched);
    Ok(got?)
}

/// Why there are no QEMU and kernel for guests, which every cell with guests meets.
#[derive(Debug)]
struct NoBundle {
    code: ProblemCode,
    why: String,
    remedy: Remedy,
}

impl NoBundle {
    fn refusal(&self) -> PathError {
        PathError::NoBundle {
            code: self.code,
            why: self.why.clone(),
            remedy: self.remedy.clone(),
        }
    }
}

impl From<QemuError> for NoBundle {
    fn from(error: QemuError) -> Self {
        let fetch = || Remedy::here("fetch QEMU and a kernel with nicety lab fetch");
        Self {
            code: error.code(),
            why: error.what(),
            remedy: error.remedy().unwrap_or_else(fetch),
        }
    }
}
