//! The guest's second process: runs the commands that come through the ports.

use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};

use crate::beat::{self, Beats};
use crate::spec::PORT_NAME;
use crate::{init, limiter, serve};
use nicety_guests::{QemuError, virtio_ports};

/// How often a port without a caller is looked at: the kernel tells of a caller by a signal only.
const IDLE: Duration = Duration::from_millis(50);

/// Serves until the machine ends.
///
/// # Errors
/// When there are no ports.
pub fn run() -> Result<(), QemuError> {
    loopback_up();
    let ports = virtio_ports::devices(|name| name.starts_with(PORT_NAME))?;
    if ports.is_empty() {
        let none = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(QemuError::io("list", virtio_ports::DIR, none));
    }
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

fn loopback_up() {
    let done = nicety_netdev::netns::NetNs::current()
        .and_then(|ns| nicety_netdev::link::Links::open(&ns))
        .and_then(|links| links.set_up("lo"));
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
