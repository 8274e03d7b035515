//! A lab that is left running: where it is, and how the next nicety finds or removes it.
//!
//! The directory is the ledger: it is written before QEMU is started, the path of a file in it
//! marks QEMU's command line, and it is removed when QEMU is known to have ended.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::boot::port_name;
use crate::setup::LabRequest;
use crate::spec::PORTS;
use nicety_guests::QemuError;
use nicety_guests::machine::{self, CONSOLE, MONITOR, PID};
use nicety_guests::qmp::Qmp;
use nicety_model::counted::plural;
use nicety_model::path::VmAccel;
use nicety_netdev::runtime_dir;

/// QEMU ends at once when asked; longer only on a busy host.
const END_LIMIT: Duration = Duration::from_secs(10);
const LEDGER: &str = "lab.json";

/// What is known of a lab that is left running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabState {
    /// Version of this file.
    pub schema: u32,
    /// Virtual CPUs.
    pub cpus: u16,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// How its instructions run.
    pub accelerator: String,
    /// Whether its agent has answered.
    pub up: bool,
    /// The directory of the host in which its commands may write, if there is one.
    #[serde(default)]
    pub runs: Option<RunsDir>,
}

/// A directory for what is measured in a lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunsDir {
    /// The directory, absolute.
    pub directory: PathBuf,
    /// Made for the lab.
    pub made: bool,
}

impl RunsDir {
    /// Removes it if it was made for the lab and nothing was written to it.
    pub fn remove_empty(&self) {
        if self.made {
            // Fails when there is something in it, which is to stay.
            let _ = fs::remove_dir(&self.directory);
        }
    }
}

impl LabState {
    /// What it has that another machine was asked for with, in words.
    pub fn other_than(&self, request: &LabRequest) -> Option<String> {
        let is_kvm = self.accelerator.starts_with("KVM");
        let other_accel = match request.accel {
            VmAccel::Auto => false,
            VmAccel::Kvm => !is_kvm,
            VmAccel::Tcg => is_kvm,
        };
        if request.kernel.is_some() {
            Some("was booted with a kernel that nobody wrote down".to_owned())
        } else if request.cpus.is_some_and(|cpus| cpus != self.cpus) {
            Some(format!("has {}", plural(self.cpus, "CPU")))
        } else if request.memory_mib.is_some_and(|mib| mib != self.memory_mib) {
            Some(format!("has {} MiB", self.memory_mib))
        } else {
            other_accel.then(|| format!("runs on {}", self.accelerator))
        }
    }

    /// What is left to do when its machine has ended.
    fn ended(&self) {
        self.runs.iter().for_each(RunsDir::remove_empty);
    }
}

/// The directory of the user's lab, whether there is one or not.
#[derive(Debug)]
pub struct Home {
    dir: PathBuf,
}

/// A lab that is running.
#[derive(Debug)]
pub struct Running {
    /// What is known of it.
    pub state: LabState,
    dir: PathBuf,
    /// QEMU.
    pid: Pid,
}

impl Home {
    /// The place for the user's lab: in his [runtime directory](runtime_dir::place).
    pub fn of_user() -> Self {
        Self::at(runtime_dir::place().join("lab"))
    }

    /// The same at another place, for tests.
    pub fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The running lab; what one that has ended left behind is removed.
    ///
    /// # Errors
    /// When the directory cannot be read or removed, or others can write in the one it is in.
    pub fn running(&self) -> Result<Option<Running>, QemuError> {
        if let Some(base) = self.dir.parent() {
            match runtime_dir::check(base) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
                safe => safe.map_err(|e| QemuError::io("use directory", base, e))?,
            }
        }
        let path = self.dir.join(LEDGER);
        let text = match fs::read_to_string(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|e| QemuError::io("read", &path, e))?,
        };
        let state: Option<LabState> = serde_json::from_str(&text).ok();
        match (state, self.qemu()) {
            (Some(state), Some(pid)) => Ok(Some(Running {
                state,
                dir: self.dir.clone(),
                pid,
            })),
            (state, _) => {
                state.iter().for_each(LabState::ended);
                self.clear().map(|()| None)
            }
        }
    }

    /// Makes the directory and writes the ledger, before QEMU is started.
    ///
    /// # Errors
    /// When it cannot be written, or others can write there.
    pub fn begin(&self, state: &LabState) -> Result<(), QemuError> {
        self.make_base()?;
        self.clear()?;
        // Its sockets give root in the lab and the user's rights on files: for the user only.
        make(&self.dir)?;
        self.write(state)
    }

    /// Replaces the ledger.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, state: &LabState) -> Result<(), QemuError> {
        let (path, new) = (self.dir.join(LEDGER), self.dir.join("lab.new"));
        let text =
            serde_json::to_vec_pretty(state).map_err(|e| QemuError::io("write", &path, e))?;
        fs::write(&new, text)
            .and_then(|()| File::open(&new)?.sync_all())
            .and_then(|()| fs::rename(&new, &path))
            .map_err(|e| QemuError::io("write", &path, e))
    }

    /// Removes the directory.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn clear(&self) -> Result<(), QemuError> {
        match fs::remove_dir_all(&self.dir) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(QemuError::io("remove", &self.dir, e))
            }
            _ => Ok(()),
        }
    }

    /// Waits for its turn to change whether there is a lab; others wait until the file is
    /// dropped.
    ///
    /// # Errors
    /// When the file cannot be made, or others can write there.
    pub fn lock(&self) -> Result<File, QemuError> {
        self.make_base()?;
        let path = self.dir.with_extension("lock");
        let error = |e| QemuError::io("lock", &path, e);
        // Who may open a file may lock it, and others may pass root's directory (flock(2)).
        let mut options = File::options();
        let file = options.write(true).create(true).truncate(false).mode(0o600);
        let file = file.open(&path).map_err(error)?;
        file.set_permissions(Permissions::from_mode(0o600))
            .and_then(|()| file.lock())
            .map_err(error)?;
        Ok(file)
    }

    /// Makes what the directory is in.
    fn make_base(&self) -> Result<(), QemuError> {
        self.dir.parent().map_or(Ok(()), make)
    }

    /// The QEMU that was started with our directory, also when nicety was killed before it
    /// could note the process.
    fn qemu(&self) -> Option<Pid> {
        let ours = self.dir.join(PID);
        let ours = ours.as_os_str().as_bytes();
        fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
            let id: i32 = entry.file_name().to_str()?.parse().ok()?;
            let words = fs::read(entry.path().join("cmdline")).ok()?;
            words
                .split(|byte| *byte == 0)
                .any(|word| word == ours)
                .then(|| Pid::from_raw(id))?
        })
    }
}

impl Running {
    /// A free port of it.
    ///
    /// # Errors
    /// When all are in use, or it does not answer.
    pub fn connect(&self) -> Result<(UnixStream, File), QemuError> {
        for number in 0..PORTS {
            let lock = self.dir.join(format!("{}.lock", port_name(number)));
            let file = File::create(&lock).map_err(|e| QemuError::io("open", &lock, e))?;
            if file.try_lock().is_ok() {
                let socket = self.dir.join(port_name(number));
                let stream =
                    connect(&socket).map_err(|e| QemuError::io("connect to", &socket, e))?;
                return Ok((stream, file));
            }
        }
        let busy = io::Error::other(format!("all {PORTS} sessions are in use"));
        Err(QemuError::io("enter", &self.dir, busy))
    }

    /// The last lines of its console.
    pub fn console(&self) -> PathBuf {
        self.dir.join(CONSOLE)
    }

    /// What it said last; for when it has ended by itself.
    pub fn said_last(&self) -> String {
        machine::said_last(&self.dir)
    }

    /// QEMU's process id.
    pub fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Ends it and removes what it leaves.
    ///
    /// # Errors
    /// When it does not end.
    pub fn end(self) -> Result<(), QemuError> {
        let error = |e: io::Error| QemuError::io("end", format!("QEMU, process {}", self.id()), e);
        let handle = match rustix::process::pidfd_open(self.pid, PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(rustix::io::Errno::SRCH) => {
                self.state.ended();
                return Home::at(self.dir).clear();
            }
            Err(e) => return Err(error(e.into())),
        };
        // Asked first, so that it writes what it has; one that does not listen is killed.
        if let Ok(stream) = connect(&self.dir.join(MONITOR))
            && let Ok(mut qmp) = Qmp::connect(stream, Duration::from_secs(2))
        {
            let _ = qmp.execute("quit", &json!({}));
        } else {
            rustix::process::pidfd_send_signal(&handle, Signal::KILL)
                .map_err(|e| error(e.into()))?;
        }
        let end = Instant::now() + END_LIMIT;
        while !has_ended(&handle) {
            if Instant::now() > end {
                rustix::process::pidfd_send_signal(&handle, Signal::KILL)
                    .map_err(|e| error(e.into()))?;
                break;
            }
        }
        self.state.ended();
        Home::at(self.dir).clear()
    }
}

fn make(dir: &Path) -> Result<(), QemuError> {
    runtime_dir::make(dir, 0o700).map_err(|e| QemuError::io("make directory", dir, e))
}

/// Connects to a socket of this user's lab. Whoever serves it gets the command and sees what it reads.
fn connect(socket: &Path) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(socket)?;
    // Of the process that began to listen (unix(7)).
    let peer = rustix::net::sockopt::socket_peercred(&stream)?.uid;
    if peer != rustix::process::geteuid() {
        let peer = peer.as_raw();
        let what = format!("user {peer} serves it, not you; remove the directory it is in");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    }
    Ok(stream)
}

/// Waits a little for the end.
fn has_ended(handle: &rustix::fd::OwnedFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::new(handle, PollFlags::IN)];
    let limit = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    matches!(poll(&mut fds, Some(&limit)), Ok(1..))
}

#[cfg(test)]
mod tests {
    use nicety_guests::bundle::KernelWish;

    use super::*;

    fn state() -> LabState {
        LabState {
            schema: 1,
            cpus: 2,
            memory_mib: 4096,
            accelerator: "TCG".into(),
            up: false,
            runs: None,
        }
    }

    #[test]
    fn a_lab_of_another_kind_is_not_the_one_asked_for() {
        let accelerator = nicety_guests::Accelerator::Kvm.to_string();
        let state = LabState {
            accelerator,
            ..state()
        };
        let asked = |cpus, memory_mib, accel| LabRequest {
            cpus,
            memory_mib,
            accel,
            kernel: None,
        };
        for same in [
            asked(None, None, VmAccel::Auto),
            asked(Some(2), Some(4096), VmAccel::Kvm),
        ] {
            assert_eq!(state.other_than(&same), None, "{same:?}");
        }
        for (other, has) in [
            (asked(Some(4), None, VmAccel::Auto), "has 2 CPUs"),
            (asked(None, Some(8192), VmAccel::Auto), "has 4096 MiB"),
            (asked(None, None, VmAccel::Tcg), "runs on KVM"),
        ] {
            assert_eq!(state.other_than(&other).as_deref(), Some(has), "{other:?}");
        }
        let kernel = LabRequest {
            kernel: Some(KernelWish::Version("6.12".to_owned())),
            ..asked(None, None, VmAccel::Auto)
        };
        assert!(state.other_than(&kernel).is_some());
    }

    #[test]
    fn a_ledger_without_its_process_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("nicety/lab"));
        assert!(home.running().unwrap().is_none());
        home.begin(&state()).unwrap();
        // Killed before QEMU was started.
        assert!(home.running().unwrap().is_none());
        assert!(!home.dir().exists());
        // The directory it had made for runs goes too, one that was there stays.
        for made in [true, false] {
            let directory = dir.path().join("runs");
            fs::create_dir(&directory).unwrap();
            let runs = Some(RunsDir {
                directory: directory.clone(),
                made,
            });
            home.begin(&LabState { runs, ..state() }).unwrap();
            assert!(home.running().unwrap().is_none());
            assert_eq!(directory.exists(), !made);
        }
    }

    #[test]
    fn nobody_else_can_hold_the_lock_as_any_user() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("nicety/lab"));
        let path = home.dir().with_extension("lock");
        let mode = || path.metadata().unwrap().permissions().mode() & 0o777;
        drop(home.lock().unwrap());
        assert_eq!(mode(), 0o600);
        // As it was made before.
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        drop(home.lock().unwrap());
        assert_eq!(mode(), 0o600);
    }

    #[test]
    fn a_socket_that_another_user_serves_is_not_used_as_any_user() {
        let dir = tempfile::tempdir().unwrap();
        let (own, other) = (dir.path().join("own"), dir.path().join("other"));
        let _listener = std::os::unix::net::UnixListener::bind(&own).unwrap();
        connect(&own).unwrap();
        if !rustix::process::geteuid().is_root() {
            println!(
                "SKIP a_socket_that_another_user_serves_is_not_used: only root changes its user"
            );
            return;
        }
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(dir.path(), open).unwrap();
        // A thread has credentials of its own, until libc makes them the process's.
        let theirs = std::thread::scope(|scope| {
            let listen = || {
                let user = rustix::process::Uid::from_raw(65534);
                rustix::thread::set_thread_res_uid(user, user, user).ok()?;
                std::os::unix::net::UnixListener::bind(&other).ok()
            };
            scope.spawn(listen).join().unwrap()
        });
        let Some(_theirs) = theirs else {
            println!(
                "SKIP a_socket_that_another_user_serves_is_not_used: this root knows no other user"
            );
            return;
        };
        let refused = connect(&other).unwrap_err().to_string();
        assert!(
            refused.starts_with("user 65534 serves it, not you"),
            "{refused}"
        );
    }

    #[test]
    fn a_running_process_is_found_and_ended() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("lab"));
        home.begin(&state()).unwrap();
        let pid_file = home.dir().join(PID);
        let mut child = std::process::Command::new("sh")
            .args(["-c", "while :; do sleep 0.1; done", "sh"])
            .arg(&pid_file)
            .spawn()
            .unwrap();
        // The process exists before it has its command line.
        let mut found = home.qemu();
        while found.is_none() {
            found = home.qemu();
        }
        let running = home.running().unwrap().unwrap();
        assert_eq!((running.id(), &running.state), (child.id(), &state()));
        // It has no monitor, so it is killed.
        running.end().unwrap();
        assert!(!child.wait().unwrap().success());
        assert!(!home.dir().exists());
    }
}
