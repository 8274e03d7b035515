//! One running guest, from the host's side.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nicety_guests::channel::{Channel, Missed};
use nicety_guests::cloud_hypervisor::{self, CloudHypervisor};
use nicety_guests::console::last_lines;
use nicety_guests::devices::{self, Backend};
use nicety_guests::initramfs::{self, Contents, Initramfs};
use nicety_guests::machine;
use nicety_guests::virtio;
use nicety_guests::vsock;
use nicety_guests::wire::{CONFIG, GuestConfig, Hello, Report, Serve};
use nicety_guests::{Accelerator, Bundle, Machine, MachineSpec, QemuError};
use nicety_model::Remedy;
use nicety_model::plan::VmNic;
use nicety_netdev::link::Mac;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use serde_json::Value;

use super::place::Plan;
use super::spec::VmSpec;
use crate::error::PathError;
use crate::guest::{behind, macs};
use crate::path::PathThread;
use crate::run_dir::RunDir;

/// Longest wait for the guest's counters. A guest that has just been overloaded finishes the
/// frames in its rings first.
const REPORT_LIMIT: Duration = Duration::from_secs(20);
const COMMAND_LINE: &str = "console=ttyS0 loglevel=4 panic=-1";
/// What this program plays in it.
const PART: &str = "vm";

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
    /// The user's own program that runs it, where one does, and a directory for its sockets.
    pub(super) own: Option<(&'a CloudHypervisor, &'a RunDir)>,
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
    machine: Machine,
    line: Line,
    threads: Vec<PathThread>,
}

/// The way to a guest that boots.
enum Line {
    /// It is there before the guest.
    Open(Channel),
    /// The guest connects to it.
    Awaited(UnixListener),
}

/// How often a wait for a guest's connection looks whether its machine has ended.
const LOOK: Duration = Duration::from_millis(500);

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
        let macs = match on_functions && ask.vms > 1 {
            true => stations,
            false => macs(number),
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
            over_vsock: self.own.is_some(),
        };
        let text = serde_json::to_vec(&config).map_err(|e| QemuError::io("write", CONFIG, e))?;
        let mut modules = vec![
            self.function_driver.unwrap_or(devices::module(ask.nic)),
            "bridge",
        ];
        modules.extend(devices::bus_module(ask.machine));
        modules.extend(config.over_vsock.then_some(vsock::MODULE));
        let initramfs = initramfs::build(&Contents {
            kernel: &self.bundle.kernel,
            modules: &modules,
            files: &[(CONFIG, text.as_slice())],
        })?;
        let name = match ask.vms {
            1 => "guest".to_owned(),
            _ => format!("guest{number}"),
        };
        let (mut machine, line) = match self.own {
            None => self.on_qemu(&name, backends, macs, initramfs)?,
            Some(own) => self.on_cloud_hypervisor(own, &name, backends, macs, initramfs)?,
        };
        let vcpus = machine.vcpu_threads(ask.vcpus)?;
        let first = number * ask.vcpus as usize;
        let process = (machine.id(), ask.vmm);
        let threads = self.place.place(&name, first, process, &vcpus)?;
        Ok(Starting {
            name,
            machine,
            line,
            threads,
        })
    }

    fn on_qemu(
        &self,
        name: &str,
        backends: [Backend; 2],
        macs: [Mac; 2],
        initramfs: Initramfs,
    ) -> Result<(Machine, Line), PathError> {
        let ask = &self.spec.ask;
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
            PART,
        ));
        let mut spec = machine_spec(name, arguments, vec![theirs], backends, initramfs);
        // It names its interfaces.
        spec.ns = (ask.nic == VmNic::AfXdp).then(|| self.ns.clone());
        let machine = Machine::start(&self.bundle.emulator, spec)?;
        Ok((machine, Line::Open(channel)))
    }

    fn on_cloud_hypervisor(
        &self,
        (vmm, dir): (&CloudHypervisor, &RunDir),
        name: &str,
        backends: [Backend; 2],
        macs: [Mac; 2],
        initramfs: Initramfs,
    ) -> Result<(Machine, Line), PathError> {
        let vsock = dir.file(&format!("{name}.vsock"));
        let listener = vsock::listen(&vsock).map_err(|e| QemuError::io("make", &vsock, e))?;
        let mut arguments = cloud_hypervisor::arguments(&self.spec.ask, &backends, macs, &vsock);
        arguments.extend(cloud_hypervisor::kernel(
            &self.bundle.kernel.image,
            &initramfs,
            machine::command_line(COMMAND_LINE, &initramfs, PART),
        ));
        let mut spec = machine_spec(name, arguments, Vec::new(), backends, initramfs);
        // It reads the MTU of taps by their names.
        spec.ns = Some(self.ns.clone());
        let api = dir.file(&format!("{name}.api"));
        let machine = Machine::on_cloud_hypervisor(vmm, spec, &api)?;
        Ok((machine, Line::Awaited(listener)))
    }
}

fn machine_spec(
    name: &str,
    arguments: Vec<OsString>,
    mut inherit: Vec<OwnedFd>,
    backends: [Backend; 2],
    initramfs: Initramfs,
) -> MachineSpec {
    inherit.push(initramfs.file.into());
    inherit.extend(backends.into_iter().flat_map(Backend::into_queues));
    MachineSpec {
        name: format!("the {name}"),
        arguments,
        inherit,
        left_in: None,
        ns: None,
    }
}

impl Starting {
    /// Waits until it forwards.
    pub(super) fn finish(self, boot: &Boot<'_>) -> Result<Guest, PathError> {
        let Self {
            name,
            mut machine,
            line,
            mut threads,
        } = self;
        let id = machine.id();
        let limit = boot.spec.boot_limit;
        let channel = match line {
            Line::Open(channel) => Ok(channel),
            Line::Awaited(listener) => connected(&mut machine, &listener, limit, boot.stopped)?,
        };
        let hello = channel.and_then(|mut channel| {
            let hello = channel.hello(limit, boot.stopped)?;
            Ok((channel, hello))
        });
        let (channel, hello) = hello.map_err(|missed| match missed {
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
        threads.extend(boot.place.place_carriers(&name, id)?);
        let inner = Inner { machine, channel };
        Ok(Guest {
            inner: Mutex::new(inner),
            name,
            id,
            hello,
            threads,
        })
    }
}

/// Waits until a guest that boots has connected, unless its machine ends first.
fn connected(
    machine: &mut Machine,
    listener: &UnixListener,
    limit: Duration,
    stopped: &dyn Fn() -> bool,
) -> Result<Result<Channel, Missed>, QemuError> {
    let end = Instant::now() + limit;
    loop {
        match Channel::accept(listener, LOOK, stopped) {
            Err(Missed::Late) if Instant::now() < end => {}
            accepted => return Ok(accepted),
        }
        if machine.ended()?.is_some() {
            let late = machine.late("its hello", limit);
            return Err(machine.why_ended("its hello", late));
        }
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
        inner.machine.reset()
    }

    fn stand(&self, still: bool) -> bool {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.machine.stand(still).is_ok()
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
