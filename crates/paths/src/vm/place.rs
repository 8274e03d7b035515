//! Which host CPUs the guest's threads run on: set, and read back from the kernel.

use std::fs;

use nicety_guests::QemuError;
use nicety_host::roots::ProcRoot;
use nicety_host::tasks;
use nicety_netdev::cpu_set;
use nicety_netdev::napi::NapiThread;
use rustix::process::Pid;

use crate::path::PathThread;

/// CPUs that this process may use.
pub(crate) fn allowed() -> Result<Vec<u32>, QemuError> {
    cpus_of(None)
}

/// Where threads go.
pub(super) struct Plan<'a> {
    /// Host CPUs of the virtual CPUs in turn; empty for [`Plan::rest`].
    pub(super) pin: &'a [u32],
    /// CPUs of everything else. Never empty.
    pub(super) rest: &'a [u32],
}

impl Plan<'_> {
    /// Places the threads of the process `qemu`, of which `vcpus` are the virtual CPUs' of
    /// `guest`, the first of them number `first` of all guests'. Returns those that do the path's
    /// work: its main thread too.
    pub(super) fn place(
        &self,
        guest: &str,
        first: usize,
        qemu: u32,
        vcpus: &[i32],
    ) -> Result<Vec<PathThread>, QemuError> {
        for task in tasks_of(qemu)? {
            if !vcpus.contains(&task) {
                set(task, self.rest)?;
            }
        }
        let mut placed = Vec::new();
        for (number, task) in vcpus.iter().enumerate() {
            let at = (first + number).checked_rem(self.pin.len());
            let pinned = at.and_then(|at| self.pin.get(at..=at));
            set(*task, pinned.unwrap_or(self.rest))?;
            let name = format!("{guest}/vcpu{number}");
            placed.push(read_back(name, *task, pinned)?);
        }
        placed.push(read_back(format!("{guest}/qemu"), qemu as i32, None)?);
        Ok(placed)
    }

    /// Places the kernel's vhost threads of `qemu`, which are there once the guest's driver is.
    pub(super) fn place_vhost(&self, guest: &str, qemu: u32) -> Result<Vec<PathThread>, QemuError> {
        let wanted = format!("vhost-{qemu}");
        let tasks = tasks::any_threads(&ProcRoot::live(), |name| name == wanted);
        let placed = tasks.iter().enumerate().map(|(number, task)| {
            set(task.tid as i32, self.rest)?;
            read_back(format!("{guest}/vhost{number}"), task.tid as i32, None)
        });
        placed.collect()
    }
}

fn tasks_of(process: u32) -> Result<Vec<i32>, QemuError> {
    let dir = format!("/proc/{process}/task");
    let entries = fs::read_dir(&dir).map_err(|e| QemuError::io("list", &dir, e))?;
    let ids = entries.flatten();
    Ok(ids
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect())
}

fn set(task: i32, cpus: &[u32]) -> Result<(), QemuError> {
    match cpu_set::pin(Pid::from_raw(task), cpus) {
        // Helpers come and go.
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(e) => Err(QemuError::io("place", format!("QEMU's thread {task}"), e)),
    }
}

fn cpus_of(task: Option<i32>) -> Result<Vec<u32>, QemuError> {
    cpu_set::allowed(task.and_then(Pid::from_raw))
        .map_err(|e| QemuError::io("read the CPUs of", "a thread", e))
}

fn read_back(name: String, task: i32, pinned: Option<&[u32]>) -> Result<PathThread, QemuError> {
    let cpus = cpus_of(Some(task))?;
    if let Some(wanted) = pinned
        && wanted != cpus
    {
        return Err(QemuError::answer(
            format!("the placement of {name}"),
            format!("asked for CPU {wanted:?}, the kernel says {cpus:?}"),
        ));
    }
    Ok(PathThread {
        interface: "guest".to_owned(),
        thread: NapiThread {
            name,
            pid: task as u32,
        },
        cpus,
        unpinned: pinned.is_none().then(|| "no CPU was asked for".to_owned()),
        preferred: false,
    })
}
