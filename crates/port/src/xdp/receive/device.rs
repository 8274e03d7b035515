//! What an interface says about itself.
#![allow(unsafe_code)] // edge: ioctl(2)

use std::io;

use crate::af_packet::socket::Socket;
use crate::error::PortError;

/// Of linux/ethtool.h.
const ETHTOOL_GCHANNELS: u32 = 0x3c;
const ETHTOOL_GDRVINFO: u32 = 3;
/// Receive queues taken for granted where the driver does not say: more than such drivers have.
const QUEUES_UNKNOWN: u32 = 16;
/// Most queues told apart; those beyond share the last lane.
const QUEUES_MAX: u32 = 256;

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct Channels {
    cmd: u32,
    max_rx: u32,
    max_tx: u32,
    max_other: u32,
    max_combined: u32,
    now: [u32; 4],
}

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct Driver {
    cmd: u32,
    name: [u8; 32],
    rest: [u8; 160],
}

/// Name of the interface's driver, if it says one.
pub(super) fn driver(socket: &Socket) -> Option<String> {
    let mut driver = Driver {
        cmd: ETHTOOL_GDRVINFO,
        name: [0; 32],
        rest: [0; 160],
    };
    request(socket, libc::SIOCETHTOOL, |request| {
        request.ifr_ifru.ifru_data = (&raw mut driver).cast();
    })
    .ok()?;
    let name = driver.name.split(|byte| *byte == 0).next()?;
    String::from_utf8(name.to_vec()).ok()
}

/// Drivers that count frames which a program in them drops as `rx_dropped`: `tun_xdp_act` in
/// drivers/net/tun.c, though not for frames that it makes a socket buffer for first, and
/// `receive_small_xdp`, `receive_mergeable_xdp` in drivers/net/virtio_net.c.
const COUNT_AS_DROPPED: [&str; 2] = ["tun", "virtio_net"];

/// Whether a driver may count what a program in it drops as `rx_dropped`.
pub(super) fn counts_as_dropped(driver: &str) -> bool {
    COUNT_AS_DROPPED.contains(&driver)
}

/// Receive queues the interface can have.
pub(super) fn receive_queues(socket: &Socket) -> u32 {
    let mut channels = Channels {
        cmd: ETHTOOL_GCHANNELS,
        ..Channels::default()
    };
    let result = request(socket, libc::SIOCETHTOOL, |request| {
        request.ifr_ifru.ifru_data = (&raw mut channels).cast();
    });
    match (result, channels.max_rx + channels.max_combined) {
        (Err(_), _) | (_, 0) => QUEUES_UNKNOWN,
        (Ok(_), queues) => queues.min(QUEUES_MAX),
    }
}

/// Fails when the interface is gone or down.
pub(super) fn check_up(socket: &Socket) -> Result<(), PortError> {
    let answer = request(socket, libc::SIOCGIFFLAGS, |_| {})
        .map_err(|error| PortError::system(socket.interface(), "read the interface", error))?;
    // SAFETY: SIOCGIFFLAGS has filled this member.
    let flags = libc::c_int::from(unsafe { answer.ifr_ifru.ifru_flags });
    if flags & libc::IFF_UP == 0 {
        return Err(PortError::Down {
            interface: socket.interface().to_owned(),
        });
    }
    Ok(())
}

fn request(
    socket: &Socket,
    code: libc::c_ulong,
    fill: impl FnOnce(&mut libc::ifreq),
) -> io::Result<libc::ifreq> {
    // SAFETY: an all-zero ifreq is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    let name = socket.interface().bytes().take(room);
    for (to, from) in request.ifr_name.iter_mut().zip(name) {
        *to = from as libc::c_char;
    }
    fill(&mut request);
    // SAFETY: the request, and what `fill` points it to, live for the call and are as large as
    // the code says.
    let done = unsafe { libc::ioctl(socket.raw(), code as _, &raw mut request) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(request)
}
