//! Many sockets in one thread: which of them has something, or has room.

use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{Errno, ioctl_fionbio};

/// Room for the events of one wait.
pub(crate) const EVENTS: usize = 128;

/// A poller with `sockets`, each known by its place. None of them blocks from here on.
pub(crate) fn poller<S: AsFd>(
    sockets: impl IntoIterator<Item = S>,
    flags: EventFlags,
) -> io::Result<OwnedFd> {
    let poller = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (place, socket) in sockets.into_iter().enumerate() {
        ioctl_fionbio(&socket, true)?;
        epoll::add(&poller, socket, EventData::new_u64(place as u64), flags)?;
    }
    Ok(poller)
}

/// Waits for events, at most `limit`; interrupted is nothing happened.
pub(crate) fn wait<'e>(
    poller: &OwnedFd,
    room: &'e mut [MaybeUninit<Event>],
    limit: Duration,
) -> io::Result<&'e mut [Event]> {
    let limit = Timespec::try_from(limit).ok();
    match epoll::wait(poller, room, limit.as_ref()) {
        Ok((events, _)) => Ok(events),
        Err(Errno::INTR) => Ok(&mut []),
        Err(error) => Err(error.into()),
    }
}
