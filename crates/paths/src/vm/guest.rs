//! One running guest, from the host's side.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nicety_guests::channel::{Channel, Missed};
use nicety_guests::console::last_lines;
use nicety_guests::devices::{self, Backend};
use nicety_guests::initramfs::{self, Contents};
use nicety_guests::machine;
use nicety_guests::virtio;
use nicety_guests::wire::{CONFIG, GuestConfig, Hello, Report, Serve};
use nicety_guests::{Accelerator, Bundle, Machine, MachineSpec, QemuError};
use nicety_model::Remedy;
use nicety_model::plan::VmNic;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use serde_json::Value;

use super::place::Plan;
use super::spec::VmSpec;
use crate::error::PathError;
use crate::guest::{behind, macs};
use crate::path::PathThread;

/// Longest wait for the guest's counters. A guest that has just been overloaded finishes the
/// frames in its rings first.
const REPORT_LIMIT: Duration = Duration::from_secs(20);
/// `no_timer_check`: the kernel counts ticks for some ms and gives up when none came, which on a busy host says nothing
/// about the timer.
const COMMAND_LINE: &str = "console=ttyS0 loglevel=4 panic=-1 no_timer_check";

/// A guest that forwards; killed when dropped.
#[derive(Debug)]
pub(super) struct Guest {
    /// `guest`, or `guest0` where there are several.
    pub(super) name: String,
    inner: Mutex<Inner>,
    pub(super) id: u32,
    pub(super) hello: Hello,
    pub(super) threads: Vec<PathThread>,
}

#[derive(Debug)]
struct Inner {
    machine: Machine,
    channel: Channel,
}

/// What booting needs.
pub(super) struct Boot<'a> {
    pub(super) spec: &'a VmSpec,
    pub(super) bundle: &'a Bundle,
    pub(super) accelerator: &'a Accelerator,
    /// Namespace of the guests' interfaces on the host.
    pub(super) ns: &'a NetNs,
    /// Where threads go.
    pub(super) place: Plan<'a>,
    /// Module of the guest's driver, where its NICs are virtual functions.
    pub(super) function_driver: Option<&'static str>,
    /// MTU of its NICs in bytes.
    pub(super) mtu: u32,
    /// Whether they compute checksums themselves.
    pub(super) whole_frames: bool,
    /// What makes each of them an endpoint; without, they forward.
    pub(super) serve: &'a [Serve],
    /// Says when nobody wants the guest any more.
    pub(super) stopped: &'a dyn Fn() -> bool,
}

/// A guest that boots; killed when dropped.
pub(super) struct Starting {
    name: String,
    inner: Inner,
    threads: Vec<PathThread>,
}

impl Boot<'_> {
    /// Starts guest `number`.
    pub(super) fn start(
        &self,
        number: usize,
        backends: [Backend; 2],
    ) -> Result<Starting, PathError> {
        let ask = &self.spec.ask;
        let on_functions = self.function_driver.is_some();
        let stations = behind(self.spec.stations_of(number));
        let macs = if on_functions && ask.vms > 1 {
            stations
        } else {
            macs(number)
        };
        let config = GuestConfig {
            macs: macs.map(|mac| mac.0),
            stations: (on_functions && ask.vms == 1).then(|| stations.map(|mac| mac.0)),
            shared: on_functions && ask.vms > 1,
            mtu: self.mtu,
            queues: ask.queues,
            ring: ask.ring,
            whole_frames: self.whole_frames,
            serve: self.serve.get(number).cloned(),
        };
        let text = serde_json::to_vec(&config).map_err(|e| QemuError::io("write", CONFIG, e))?;
        let mut modules = vec![
            self.function_driver.unwrap_or(devices::module(ask.nic)),
            "bridge",
        ];
        modules.extend(devices::bus_module(ask.machine));
        let initramfs = initramfs::build(&Contents {
            kernel: &self.bundle.kernel,
            modules: &modules,
            files: &[(CONFIG, text.as_slice())],
        })?;
        let name = match ask.vms {
            1 => "guest".to_owned(),
            _ => format!("guest{number}"),
        };
        let socket = |e| QemuError::io("make", "the guest's channel", e);
        let (ours, theirs) = UnixStream::pair().map_err(socket)?;
        let theirs = OwnedFd::from(theirs);
        let channel = Channel::new(ours).map_err(socket)?;
        let words = devices::kernel_words(ask, self.accelerator);
        let mut arguments = devices::arguments(ask, self.accelerator, &backends, macs, &theirs);
        arguments.extend(machine::kernel(
            &self.bundle.kernel.image,
            &initramfs,
            &format!("{COMMAND_LINE}{words}"),
            "vm",
        ));
        let mut inherit = vec![theirs, initramfs.file.into()];
        inherit.extend(backends.into_iter().flat_map(Backend::into_queues));
        let spec = MachineSpec {
            name: format!("the {name}"),
            arguments,
            inherit,
            left_in: None,
            // Sockets of AF_XDP are those of interfaces that QEMU looks up by their names.
            ns: (ask.nic == VmNic::AfXdp).then(|| self.ns.clone()),
        };
        let mut machine = Machine::start(&self.bundle.emulator, spec)?;
        let vcpus = machine.qmp()?.vcpu_threads()?;
        let first = number * ask.vcpus as usize;
        let threads = self.place.place(&name, first, machine.id(), &vcpus)?;
        Ok(Starting {
            name,
            inner: Inner { machine, channel },
            threads,
        })
    }
}

impl Starting {
    /// Waits until it forwards.
    pub(super) fn finish(self, boot: &Boot<'_>) -> Result<Guest, PathError> {
        let Self {
            name,
            mut inner,
            mut threads,
        } = self;
        let Inner { machine, channel } = &mut inner;
        let id = machine.id();
        let limit = boot.spec.boot_limit;
        let hello = channel.hello(limit, boot.stopped);
        let hello = hello.map_err(|missed| match missed {
            Missed::Stopped => PathError::Stopped,
            Missed::Late => machine.late("its hello", limit).into(),
            Missed::Gone(e) => {
                let other = QemuError::io("read from", "the guest", e);
                machine.why_ended("its hello", other).into()
            }
        })?;
        let differs = |nic| virtio::differs(&boot.spec.ask.virtio, nic);
        if let Some((key, why)) = hello.nics.iter().find_map(differs) {
            return Err(PathError::Guest {
                why,
                remedy: Remedy::plan(format!(
                    "leave {key} out beside nic = \"{}\"",
                    boot.spec.ask.nic
                )),
            });
        }
        threads.extend(boot.place.place_vhost(&name, id)?);
        Ok(Guest {
            inner: Mutex::new(inner),
            name,
            id,
            hello,
            threads,
        })
    }
}

/// The counters of all guests now, asked for at the same time.
///
/// # Errors
/// As those of [`Guest::report`].
pub(super) fn reports(guests: &[Guest]) -> Result<Vec<Report>, NetError> {
    if let [one] = guests {
        return Ok(vec![one.report()?]);
    }
    let silent = || NetError::Silent {
        object: "the guests".to_owned(),
        why: "the thread that asked them has ended".to_owned(),
    };
    std::thread::scope(|scope| {
        let asked: Vec<_> = guests
            .iter()
            .map(|guest| scope.spawn(|| guest.report()))
            .collect();
        let answers = asked.into_iter();
        answers
            .map(|thread| thread.join().map_err(|_| silent())?)
            .collect()
    })
}

impl Guest {
    /// Names of its NICs as places of the path.
    pub(super) fn nic_places(&self) -> impl Iterator<Item = String> {
        let nics = self.hello.nics.iter();
        nics.map(|nic| format!("{} {}", self.name, nic.name))
    }

    /// Stops its virtual CPUs; whether they stand.
    pub(super) fn stop(&self) -> bool {
        self.stand(true)
    }

    /// Lets them go on; whether they do.
    pub(super) fn go_on(&self) -> bool {
        self.stand(false)
    }

    /// Presses its reset button. It boots again, and forwards as it did.
    pub(super) fn reset(&self) -> Result<(), QemuError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.machine.qmp()?.reset()
    }

    fn stand(&self, still: bool) -> bool {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let stood = inner.machine.qmp().and_then(|qmp| qmp.stand(still));
        stood.is_ok()
    }

    /// The guest's counters now.
    ///
    /// # Errors
    /// When it has ended or does not answer, with the last lines of its console.
    fn report(&self) -> Result<Report, NetError> {
        self.after(None, REPORT_LIMIT, &|| false)
    }

    /// Lets the guest do some work for at most `limit`, and returns what came of it.
    ///
    /// # Errors
    /// As those of the report.
    pub(super) fn work(
        &self,
        work: Value,
        limit: Duration,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Value, NetError> {
        let report = self.after(Some(work), limit, stopped)?;
        Ok(report.done.unwrap_or_default())
    }

    fn after(
        &self,
        work: Option<Value>,
        limit: Duration,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Report, NetError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Inner { machine, channel } = &mut *inner;
        let silent = |why: String| NetError::Silent {
            object: format!("the {}", self.name),
            why,
        };
        match channel.after(work, limit, stopped) {
            Ok(report) => Ok(report),
            Err(Missed::Gone(e)) => {
                let other = QemuError::io("read from", "its channel", e);
                Err(match machine.why_ended("the end of the run", other) {
                    QemuError::Ended { last, .. } => {
                        silent(format!("it has ended; last on its console: {last}"))
                    }
                    other => silent(other.to_string()),
                })
            }
            Err(Missed::Late | Missed::Stopped) => Err(silent(format!(
                "no answer in {} s; last on its console: {}",
                limit.as_secs(),
                last_lines(&machine.console())
            ))),
        }
    }
}
