//! A QEMU process that does not outlive the one that started it.
#![allow(unsafe_code)] // edge: what the child does between fork and exec

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use nicety_host::child;
use nicety_netdev::netns::NetNs;
use rustix::thread::LinkNameSpaceType;

use crate::console::{Console, last_lines};
use crate::emulator::Emulator;
use crate::error::QemuError;
use crate::initramfs::Initramfs;
use crate::qmp::Qmp;

/// QEMU answers its monitor as soon as the machine is built; long on a busy host only.
const MONITOR_LIMIT: Duration = Duration::from_secs(60);

/// A machine to start.
#[derive(Debug)]
pub struct MachineSpec {
    /// Name for messages.
    pub name: String,
    /// QEMU's arguments; the monitor, the console and the absence of a display are added.
    pub arguments: Vec<OsString>,
    /// File descriptors that the arguments name by their numbers.
    pub inherit: Vec<OwnedFd>,
    /// Directory of a machine that is left running: its monitor is a socket there and its
    /// console a file. Absent for a machine that ends with the process that starts it.
    pub left_in: Option<PathBuf>,
    /// Namespace that it runs in; the caller's when absent.
    pub ns: Option<NetNs>,
}

/// Name of the monitor's socket of a machine that is left running.
pub const MONITOR: &str = "qmp";
/// Name of its console's file.
pub const CONSOLE: &str = "console.log";
/// Name of the file that QEMU writes its process id to.
pub const PID: &str = "qemu.pid";

/// A running machine; killed when dropped, unless it was to be left.
#[derive(Debug)]
pub struct Machine {
    name: String,
    child: Child,
    console: Console,
    complaints: Console,
    left_in: Option<PathBuf>,
    qmp: Option<Qmp>,
    kept: bool,
}

impl Machine {
    /// Starts QEMU and waits for its monitor.
    ///
    /// Unless it is to be left, it is killed by the kernel when this process ends.
    ///
    /// # Errors
    /// [`QemuError::Ended`] with what QEMU said.
    pub fn start(emulator: &Emulator, spec: MachineSpec) -> Result<Self, QemuError> {
        let error = |e| QemuError::io("start", "QEMU", e);
        let mut command = emulator.command();
        command.args([
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-no-reboot",
            "-name",
        ]);
        command.arg(&spec.name).args(emulator.sandbox());
        let mut inherit: Vec<RawFd> = spec.inherit.iter().map(AsRawFd::as_raw_fd).collect();
        let mut ours = None;
        let mut theirs = None;
        command.arg("-chardev");
        match &spec.left_in {
            Some(dir) => {
                command.arg(path_argument(
                    "socket,id=qmp,server=on,wait=off,path=",
                    &dir.join(MONITOR),
                ));
                command.arg("-chardev");
                command.arg(path_argument("file,id=console,path=", &dir.join(CONSOLE)));
                command.arg("-pidfile").arg(dir.join(PID));
            }
            None => {
                let (near, far) = UnixStream::pair().map_err(error)?;
                inherit.push(far.as_raw_fd());
                command.arg(format!("socket,id=qmp,fd={}", far.as_raw_fd()));
                command.args(["-chardev", "stdio,id=console,signal=off"]);
                (ours, theirs) = (Some(near), Some(far));
            }
        }
        command.args([
            "-mon",
            "chardev=qmp,mode=control",
            "-serial",
            "chardev:console",
        ]);
        command.args(&spec.arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(dir) = &spec.left_in {
            // Nobody is left to read a pipe.
            let path = dir.join("qemu.log");
            let log = File::create(&path).map_err(|e| QemuError::io("create", &path, e))?;
            command.stdout(log.try_clone().map_err(error)?).stderr(log);
        }
        before_exec(&mut command, inherit, spec.ns);
        let mut child = match &spec.left_in {
            Some(_) => command.spawn(),
            None => child::spawn(command),
        }
        .map_err(error)?;
        drop((theirs, spec.inherit));
        let mut machine = Self {
            name: spec.name,
            console: Console::of(child.stdout.take()),
            complaints: Console::of(child.stderr.take()),
            child,
            left_in: spec.left_in,
            qmp: None,
            kept: false,
        };
        if let Some(ours) = ours {
            let qmp = Qmp::connect(ours, MONITOR_LIMIT);
            let qmp = qmp.map_err(|e| machine.why_ended("its start", e))?;
            machine.qmp = Some(qmp);
        }
        Ok(machine)
    }

    /// Its monitor.
    ///
    /// # Errors
    /// When there is none: the machine is to be left running.
    pub fn qmp(&mut self) -> Result<&mut Qmp, QemuError> {
        let none = || QemuError::answer("the machine's monitor", "none");
        self.qmp.as_mut().ok_or_else(none)
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, when it has.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, QemuError> {
        self.child
            .try_wait()
            .map_err(|e| QemuError::io("wait for", &self.name, e))
    }

    /// The last lines of the console.
    pub fn console(&self) -> Vec<String> {
        match &self.left_in {
            Some(dir) => read_tail(&dir.join(CONSOLE)),
            None => self.console.lines(),
        }
    }

    /// Reads the console to its end; for a machine that has ended.
    pub fn finish_console(&mut self) {
        self.console.finish();
        self.complaints.finish();
    }

    /// The error to report for `awaited` that did not come: the machine's own end when it has
    /// ended, else `other`.
    pub fn why_ended(&mut self, awaited: &'static str, other: QemuError) -> QemuError {
        // The end of a channel is seen a little before the end of the process.
        for _ in 0..20 {
            if let Ok(Some(status)) = self.ended() {
                self.finish_console();
                let last = match &self.left_in {
                    Some(dir) => said_last(dir),
                    None => cause(self.console.lines(), self.complaints.lines()),
                };
                return QemuError::Ended {
                    what: self.name.clone(),
                    awaited,
                    status,
                    last,
                };
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        other
    }

    /// The error for `awaited` that did not come in time.
    pub fn late(&self, awaited: &'static str, limit: Duration) -> QemuError {
        let last = last_lines(&self.console());
        QemuError::TimedOut {
            what: self.name.clone(),
            awaited,
            limit,
            last,
        }
    }

    /// Ends it at once; what its guest has not written is lost.
    pub fn kill(&mut self) {
        // Fails only when it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Leaves it running; for a machine with a directory only.
    pub fn leave(mut self) {
        self.kept = self.left_in.is_some();
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if !self.kept {
            self.kill();
        }
    }
}

/// Kernel, initramfs and command line of a guest in which this program plays `part`.
pub fn kernel(
    image: &Path,
    initramfs: &Initramfs,
    command_line: &str,
    part: &str,
) -> Vec<OsString> {
    let words = format!(
        "{command_line} {} -- guest-init {part}",
        initramfs.command_line
    );
    vec![
        "-kernel".into(),
        image.into(),
        "-initrd".into(),
        format!("/proc/self/fd/{}", initramfs.file.as_raw_fd()).into(),
        "-append".into(),
        words.into(),
    ]
}

/// An option with a path as its last part; QEMU wants commas doubled.
pub fn path_argument(option: &str, path: &Path) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut bytes = option.as_bytes().to_vec();
    for byte in path.as_os_str().as_bytes() {
        bytes.push(*byte);
        if *byte == b',' {
            bytes.push(b',');
        }
    }
    OsString::from_vec(bytes)
}

/// What the console and QEMU of a machine that was left in a directory said last.
pub fn said_last(dir: &Path) -> String {
    let [console, log] = [CONSOLE, "qemu.log"].map(|name| read_tail(&dir.join(name)));
    cause(console, log)
}

/// Why a machine ended, from its console and from QEMU's own lines; of a warning nothing ends.
fn cause(mut console: Vec<String>, log: Vec<String>) -> String {
    console.extend(log.into_iter().filter(|line| !line.contains(": warning: ")));
    last_lines(&console)
}

fn read_tail(path: &Path) -> Vec<String> {
    let Ok(file) = File::open(path) else {
        return Vec::new();
    };
    let mut console = Console::read(file);
    console.finish();
    console.lines()
}

/// Gives the child a session of its own, so that Ctrl-C reaches it through us only, the
/// file descriptors it is to have, and a namespace where it needs one.
fn before_exec(command: &mut Command, inherit: Vec<RawFd>, ns: Option<NetNs>) {
    let prepare = move || {
        rustix::process::setsid()?;
        if let Some(ns) = &ns {
            let kind = Some(LinkNameSpaceType::Network);
            rustix::thread::move_into_link_name_space(ns.as_fd(), kind)?;
        }
        for fd in &inherit {
            // SAFETY: the parent keeps these open until the child has been started.
            let fd = unsafe { BorrowedFd::borrow_raw(*fd) };
            rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::empty())?;
        }
        Ok(())
    };
    // SAFETY: `prepare` makes system calls only and allocates nothing.
    unsafe { command.pre_exec(prepare) };
}
