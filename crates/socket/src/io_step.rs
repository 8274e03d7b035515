//! One step of sending or receiving so many bytes, the same for sockets that block (with a time
//! limit) and for those that never do.

use std::io;
use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

/// Longest piece of a message handed to the kernel at once.
const PIECE: usize = 256 << 10;

/// How far a step came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// All bytes.
    Done,
    /// Not all, and nothing more now.
    Blocked,
    /// The peer closed or reset the connection.
    Closed,
}

/// A buffer for messages of `bytes`, or for pieces of larger ones. Not zeros: nothing on the way
/// may take an easy road.
pub(crate) fn buffer(bytes: u32) -> Vec<u8> {
    let length = (bytes as usize).clamp(1, PIECE);
    (0..length).map(|i| (i * 31 + 7) as u8).collect()
}

/// Sends until `left` is 0 or the kernel takes no more.
pub(crate) fn send_some(fd: impl AsFd, from: &[u8], left: &mut usize) -> io::Result<Step> {
    while *left > 0 {
        let piece = &from[..from.len().min(*left)];
        match send(&fd, piece, SendFlags::NOSIGNAL) {
            Ok(sent) => *left -= sent,
            Err(error) => return refused(error),
        }
    }
    Ok(Step::Done)
}

/// Receives until `left` is 0 or there is no more now.
pub(crate) fn recv_some(fd: impl AsFd, into: &mut [u8], left: &mut usize) -> io::Result<Step> {
    while *left > 0 {
        let room = into.len().min(*left);
        match recv(&fd, &mut into[..room], RecvFlags::empty()) {
            Ok((0, _)) => return Ok(Step::Closed),
            Ok((got, _)) => *left -= got,
            Err(error) => return refused(error),
        }
    }
    Ok(Step::Done)
}

fn refused(error: Errno) -> io::Result<Step> {
    match error {
        Errno::AGAIN | Errno::INTR => Ok(Step::Blocked),
        Errno::PIPE | Errno::CONNRESET => Ok(Step::Closed),
        other => Err(other.into()),
    }
}
