//! Tap devices: an interface whose other end is a file descriptor
//! (Documentation/networking/tuntap.rst).
#![allow(unsafe_code)] // edge: TUNSETIFF has no safe wrapper among our crates

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::ifreq::ifreq;
use crate::link::{Links, Share, check_name};
use crate::net_error::NetError;
use crate::netns::NetNs;
use crate::ns_sysfs::NsSysfs;

/// The device that makes taps, also those of Open vSwitch's userspace datapath.
pub const DEVICE: &str = "/dev/net/tun";

/// Makes a tap with a `struct virtio_net_hdr` before every frame, as virtual machines want it,
/// and returns a file descriptor per queue. The interface is down, and goes when the last of
/// them and its copies is closed.
///
/// # Errors
/// [`NetError::BadName`], [`NetError::NotPermitted`], [`NetError::NotFound`] without
/// `/dev/net/tun`, or what the driver says: it takes at most 256 queues.
pub fn create(ns: &NetNs, name: &str, queues: u32) -> Result<Vec<OwnedFd>, NetError> {
    check_name(name)?;
    let open = || {
        (0..queues.max(1))
            .map(|_| queue(name, queues > 1))
            .collect()
    };
    let made: io::Result<Vec<OwnedFd>> = ns.run(open)?;
    made.map_err(|error| NetError::new("make tap", ns.has(name), error))
}

/// Makes a macvtap `name` on the interface with number `on` and opens its one queue, with a
/// `struct virtio_net_hdr` before every frame as the driver has it by itself. The interface is
/// down, and goes with the one below it.
///
/// # Errors
/// As [`create`]; [`NetError::NotFound`] where `/dev` does not show new devices, and
/// [`NetError::NotPermitted`] for whoever is not root of the host.
pub fn create_macvtap(ns: &NetNs, name: &str, on: u32, share: Share) -> Result<OwnedFd, NetError> {
    // The device is named after the interface's number, which is unique in its namespace only.
    static MADE: AtomicU32 = AtomicU32::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed) % 256;
    let index = 1_000_000 + std::process::id().wrapping_mul(256) + number;
    Links::open(ns)?.add_macvtap(name, on, index, share)?;
    let device = format!("/dev/tap{index}");
    let error = |e: io::Error| NetError::new("open", &device, e);
    let open = || OpenOptions::new().read(true).write(true).open(&device);
    let file = ns.run(open)?.map_err(error)?;
    let rdev = file.metadata().map_err(error)?.rdev();
    let actual = format!("{}:{}", libc::major(rdev), libc::minor(rdev));
    let wanted = NsSysfs::mount(ns)?.read(name, &format!("tap{index}/dev"))?;
    if wanted != actual {
        return Err(NetError::NotApplied {
            operation: "open",
            object: device,
            wanted,
            actual,
        });
    }
    Ok(file.into())
}

fn queue(name: &str, several: bool) -> io::Result<OwnedFd> {
    let file = OpenOptions::new().read(true).write(true).open(DEVICE)?;
    let mut request = ifreq(name);
    let mut flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    if several {
        flags |= libc::IFF_MULTI_QUEUE;
    }
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: the kernel reads and writes one ifreq, which lives for the call.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    match done {
        0 => Ok(file.into()),
        _ => Err(io::Error::last_os_error()),
    }
}
