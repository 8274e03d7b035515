//! How the program gets onto an interface: in the driver if that can be had, else in the network stack.

use std::os::fd::OwnedFd;

use super::program::{LoadError, Program};
use super::{attach, one_line};
use crate::af_packet::socket::Socket;
use crate::error::PortError;
use crate::lack::{Lack, Why};
use crate::xdp::attach::Mode;

/// Largest MTU whose frames fit into one page with what the kernel keeps beside them; above,
/// drivers want a program that takes fragments.
const MTU_ONE_PAGE: u32 = 3498;

/// The modes of attaching the program, the fastest first; the second word says whether frames
/// may come in several buffers.
pub(super) fn modes(mtu: u32) -> [(Mode, bool); 3] {
    let large = mtu > MTU_ONE_PAGE;
    [
        (Mode::Native, large),
        (Mode::Native, !large),
        (Mode::Generic, false),
    ]
}

/// Tries one mode: the link, or why the driver refuses.
pub(super) fn try_mode(
    program: &Program,
    socket: &Socket,
    mode: Mode,
) -> Result<Result<OwnedFd, String>, PortError> {
    let (name, index) = (socket.interface(), socket.index());
    let failed = |error: LoadError| PortError::XdpReceive {
        interface: name.to_owned(),
        why: one_line(&error),
    };
    let fd = program.fd().map_err(failed)?;
    let error = match attach::attach(fd, index, mode) {
        Ok(link) => return Ok(Ok(link)),
        Err(error) => error,
    };
    match error.raw_os_error() {
        Some(libc::EBUSY | libc::EEXIST) => Err(attach::busy(name, index)),
        Some(libc::EPERM | libc::EACCES) => Err(PortError::XdpReceive {
            interface: name.to_owned(),
            why: Why::lacks(
                Lack::Root,
                "programs may not be attached: run as root, or with CAP_NET_ADMIN and CAP_BPF",
            ),
        }),
        Some(libc::ENODEV | libc::ENXIO) => Err(PortError::Down {
            interface: name.to_owned(),
        }),
        Some(libc::EOPNOTSUPP) if mode == Mode::Native => {
            Ok(Err("the driver has no native XDP".to_owned()))
        }
        _ => {
            let words = match mode {
                Mode::Native => attach::driver_words(fd, index),
                Mode::Generic => None,
            };
            Ok(Err(format!(
                "{mode} XDP is refused: {}",
                words.unwrap_or_else(|| error.to_string())
            )))
        }
    }
}

pub(super) fn describe(mode: Mode, refusals: &[String]) -> String {
    match (mode, refusals.last()) {
        (Mode::Generic, Some(why)) => format!("generic ({why})"),
        _ => mode.to_string(),
    }
}
