//! The guest's second process: runs the commands that come through the ports.

use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};

use crate::beat::{self, Beats};
use crate::spec::PORT_NAME;
use crate::{init, limiter, serve};
use nicety_guests::QemuError;

const PORTS_DIR: &str = "/sys/class/virtio-ports";
/// How often a port without a caller is looked at: the kernel tells of a caller by a signal only.
const IDLE: Duration = Duration::from_millis(50);

/// Serves until the machine ends.
///
/// # Errors
/// When there are no ports.
pub fn run() -> Result<(), QemuError> {
    loopback_up();
    let ports = ports()?;
    std::thread::spawn(|| {
        let Err(error) = limiter::keep();
        init::note(&error.to_string());
    });
    let beats = Beats::start(beat::EVERY)?;
    let threads: Vec<_> = ports
        .into_iter()
        .map(|port| {
            let beats = beats.clone();
            std::thread::spawn(move || serve_port(&port, &beats))
        })
        .collect();
    for thread in threads {
        if let Ok(Err(error)) = thread.join() {
            return Err(error);
        }
    }
    Ok(())
}

/// Devices of the ports that commands come through.
fn ports() -> Result<Vec<PathBuf>, QemuError> {
    let error = |e| QemuError::io("list", PORTS_DIR, e);
    let mut ports = Vec::new();
    for entry in fs::read_dir(PORTS_DIR).map_err(error)? {
        let entry = entry.map_err(error)?;
        let name = fs::read_to_string(entry.path().join("name")).unwrap_or_default();
        if name.starts_with(PORT_NAME) {
            ports.push(Path::new("/dev").join(entry.file_name()));
        }
    }
    match ports.is_empty() {
        true => Err(error(std::io::ErrorKind::NotFound.into())),
        false => Ok(ports),
    }
}

fn loopback_up() {
    let up = nicety_host::link::LinkChange {
        up: Some(true),
        ..Default::default()
    };
    let done = nicety_host::netns::NetNs::current()
        .and_then(|ns| nicety_host::link::Links::open(&ns))
        .and_then(|links| links.change("lo", &up));
    // Local services in the lab would miss it; nothing of nicety does.
    drop(done);
}

/// One caller after the other.
fn serve_port(path: &Path, beats: &Beats) -> Result<(), QemuError> {
    let error = |e| QemuError::io("use", path, e);
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let port = rustix::fs::open(path, flags, Mode::empty()).map_err(error)?;
    loop {
        let mut ready = [PollFd::new(&port, PollFlags::IN)];
        match poll(&mut ready, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(error(e)),
        }
        let seen = ready[0].revents();
        if seen.contains(PollFlags::IN) && !seen.contains(PollFlags::HUP) {
            // The caller learns of its own mistakes; the port goes on with the next.
            let _ = serve::serve(port.as_fd(), beats.listen());
        }
        std::thread::sleep(IDLE);
    }
}
