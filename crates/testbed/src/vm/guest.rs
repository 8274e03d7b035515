//! One running guest, from the host's side.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nicety_host::net_error::NetError;

use super::channel::{Channel, Missed};
use super::place::Plan;
use super::spec::{self, Backend, MACS, VmSpec};
use super::wire::{CONFIG, GuestConfig, Hello, Report, Serve};
use crate::error::PathError;
use crate::path::PathThread;
use crate::qemu::console::last_lines;
use crate::qemu::initramfs::{self, Contents};
use crate::qemu::{Accelerator, Bundle, Machine, MachineSpec, QemuError};
use crate::sriov::STATIONS;

/// Longest wait for the guest's counters. A guest that has just been overloaded finishes the
/// frames in its rings first.
const REPORT_LIMIT: Duration = Duration::from_secs(20);
const COMMAND_LINE: &str = "console=ttyS0 loglevel=4 panic=-1";

/// A guest that forwards; killed when dropped.
#[derive(Debug)]
pub(super) struct Guest {
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

/// What booting needs beside the guest's own description.
pub(super) struct Boot<'a> {
    pub(super) bundle: &'a Bundle,
    pub(super) accelerator: &'a Accelerator,
    /// Where threads go.
    pub(super) place: Plan<'a>,
    /// Module of the guest's driver, where its NICs are virtual functions.
    pub(super) function_driver: Option<&'static str>,
    /// MTU of its NICs in bytes.
    pub(super) mtu: u32,
    /// What makes it an endpoint; without, it forwards.
    pub(super) serve: Option<&'a Serve>,
    /// Says when nobody wants the guest any more.
    pub(super) stopped: &'a dyn Fn() -> bool,
}

impl Guest {
    /// Starts it and waits until it forwards.
    pub(super) fn boot(
        spec: &VmSpec,
        boot: &Boot<'_>,
        backends: [Backend; 2],
    ) -> Result<Self, PathError> {
        let socket = |e| QemuError::io("make", "the guest's channel", e);
        let (ours, theirs) = UnixStream::pair().map_err(socket)?;
        let theirs = OwnedFd::from(theirs);
        let mut channel = Channel::new(ours).map_err(socket)?;
        let config = GuestConfig {
            macs: MACS.map(|mac| mac.0),
            stations: boot.function_driver.map(|_| STATIONS.map(|mac| mac.0)),
            mtu: boot.mtu,
            queues: spec.ask.queues,
            ring: spec.ask.ring,
            serve: boot.serve.cloned(),
        };
        let text = serde_json::to_vec(&config).map_err(|e| QemuError::io("write", CONFIG, e))?;
        let initramfs = initramfs::build(&Contents {
            kernel: &boot.bundle.kernel,
            modules: &[
                boot.function_driver.unwrap_or(spec::module(spec.ask.nic)),
                "bridge",
            ],
            files: &[(CONFIG, text.as_slice())],
        })?;
        let mut arguments = spec::arguments(&spec.ask, boot.accelerator, &backends, &theirs);
        arguments.extend(crate::qemu::machine::kernel(
            &boot.bundle.kernel.image,
            &initramfs,
            COMMAND_LINE,
            "vm",
        ));
        let mut inherit = vec![theirs, initramfs.file.into()];
        inherit.extend(backends.into_iter().flat_map(Backend::into_queues));
        let mut machine = Machine::start(
            &boot.bundle.emulator,
            MachineSpec {
                name: "the guest".to_owned(),
                arguments,
                inherit,
                left_in: None,
            },
        )?;
        let id = machine.id();
        let vcpus = match machine.qmp() {
            Some(qmp) => qmp.vcpu_threads()?,
            None => Vec::new(),
        };
        let mut threads = boot.place.place(id, &vcpus)?;
        let hello =
            channel
                .hello(spec.boot_limit, boot.stopped)
                .map_err(|missed| match missed {
                    Missed::Stopped => PathError::Stopped,
                    Missed::Late => machine.late("its hello", spec.boot_limit).into(),
                    Missed::Gone(e) => {
                        let other = QemuError::io("read from", "the guest", e);
                        machine.why_ended("its hello", other).into()
                    }
                })?;
        threads.extend(boot.place.place_vhost(id)?);
        Ok(Self {
            inner: Mutex::new(Inner { machine, channel }),
            id,
            hello,
            threads,
        })
    }

    /// The guest's counters now.
    ///
    /// # Errors
    /// When it has ended or does not answer, with the last lines of its console.
    pub(super) fn report(&self) -> Result<Report, NetError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Inner { machine, channel } = &mut *inner;
        let silent = |why: String| NetError::Silent {
            object: "the guest".to_owned(),
            why,
        };
        match channel.report(REPORT_LIMIT) {
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
                REPORT_LIMIT.as_secs(),
                last_lines(&machine.console())
            ))),
        }
    }
}
