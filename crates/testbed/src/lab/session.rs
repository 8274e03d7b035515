//! One command in the lab, from the host's side.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::wire::{CHUNK, Decoder, Message, Size, Start, ToGuest, ToHost, WireError};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With this exit code.
    Exited(u8),
    /// By this signal.
    Signalled(u8),
    /// Given up by the caller.
    Abandoned,
}

/// What may come up while a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEvent {
    /// A signal to pass on.
    Signal(u8),
    /// The terminal has another size.
    Resize(Size),
    /// Wait no longer.
    GiveUp,
}

/// Why a command's end is not known.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The guest will not start it.
    #[error("{0}")]
    Refused(String),
    /// Nothing came in time.
    #[error("the lab did not answer in {} s", .0.as_secs())]
    Late(Duration),
    /// The lab has gone.
    #[error("the connection to the lab ended")]
    Gone,
    /// The other side speaks another language.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Our own standard output does not take what the command writes.
    #[error("write the command's output: {0}")]
    Output(#[source] io::Error),
    /// The kernel refused something else.
    #[error("use the connection to the lab: {0}")]
    Io(#[source] io::Error),
}

/// The caller's streams and wishes.
pub struct Session<'a> {
    /// Read for the command; absent for none.
    pub input: Option<BorrowedFd<'a>>,
    /// Gets its standard output.
    pub output: &'a mut dyn Write,
    /// Gets its standard error.
    pub errors: &'a mut dyn Write,
    /// Readable when [`Session::events`] has news; read by this session.
    pub wake: BorrowedFd<'a>,
    /// What has come up since it was last asked.
    pub events: &'a mut dyn FnMut() -> Vec<SessionEvent>,
    /// Longest wait for the command's start.
    pub limit: Duration,
}

impl Session<'_> {
    /// Runs a command to its end.
    ///
    /// # Errors
    /// When it does not start, or the lab ends before it does.
    pub fn run(&mut self, lab: &UnixStream, start: Start) -> Result<Ended, SessionError> {
        send(lab, &ToGuest::Start(Box::new(start)))?;
        let mut decoder = Decoder::default();
        let deadline = Instant::now() + self.limit;
        let mut started = false;
        // One chunk is under way at a time, so that a command that reads slowly fills nothing.
        let mut may_send = true;
        let mut input = self.input;
        loop {
            while let Some(message) = decoder.message::<ToHost>()? {
                match message {
                    ToHost::Started => started = true,
                    ToHost::Refused(why) => return Err(SessionError::Refused(why)),
                    ToHost::Output(bytes) => write(self.output, &bytes)?,
                    ToHost::Errors(bytes) => write(self.errors, &bytes)?,
                    ToHost::Took => may_send = true,
                    ToHost::Exited(code) => return Ok(Ended::Exited(code)),
                    ToHost::Signalled(number) => return Ok(Ended::Signalled(number)),
                }
            }
            let listen = input.filter(|_| started && may_send);
            let limit = (!started).then(|| deadline.saturating_duration_since(Instant::now()));
            if limit.is_some_and(|left| left.is_zero()) {
                return Err(SessionError::Late(self.limit));
            }
            let ready = wait(lab.as_fd(), self.wake, listen, limit)?;
            if ready.wake {
                // One byte per wake-up; what it is about is asked below.
                let _ = rustix::io::read(self.wake, &mut [0; 64]);
                for event in (self.events)() {
                    match event {
                        SessionEvent::GiveUp => return Ok(Ended::Abandoned),
                        SessionEvent::Signal(_) if !started => return Ok(Ended::Abandoned),
                        SessionEvent::Signal(number) => send(lab, &ToGuest::Signal(number))?,
                        SessionEvent::Resize(size) => send(lab, &ToGuest::Resize(size))?,
                    }
                }
            }
            if let (true, Some(fd)) = (ready.input, listen) {
                let mut buffer = [0; CHUNK];
                match rustix::io::read(fd, &mut buffer) {
                    Ok(count @ 1..) => {
                        send(lab, &ToGuest::Input(buffer[..count].to_vec()))?;
                        may_send = false;
                    }
                    Err(Errno::INTR | Errno::AGAIN) => {}
                    // What cannot be read has ended, as far as the command is concerned.
                    Ok(_) | Err(_) => {
                        send(lab, &ToGuest::InputEnd)?;
                        input = None;
                    }
                }
            }
            if ready.lab {
                let mut buffer = [0; CHUNK];
                match rustix::io::read(lab, &mut buffer) {
                    Ok(count @ 1..) => decoder.push(&buffer[..count]),
                    Err(Errno::INTR | Errno::AGAIN) => {}
                    Ok(_) | Err(Errno::CONNRESET) => return Err(SessionError::Gone),
                    Err(e) => return Err(SessionError::Io(e.into())),
                }
            }
        }
    }
}

struct Ready {
    lab: bool,
    wake: bool,
    input: bool,
}

fn wait(
    lab: BorrowedFd<'_>,
    wake: BorrowedFd<'_>,
    input: Option<BorrowedFd<'_>>,
    limit: Option<Duration>,
) -> Result<Ready, SessionError> {
    let mut fds = vec![
        PollFd::new(&lab, PollFlags::IN),
        PollFd::new(&wake, PollFlags::IN),
    ];
    fds.extend(input.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
    let limit = limit.map(|left| Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    });
    match poll(&mut fds, limit.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(e) => return Err(SessionError::Io(e.into())),
    }
    let ready = |n: usize| fds.get(n).is_some_and(|fd| !fd.revents().is_empty());
    Ok(Ready {
        lab: ready(0),
        wake: ready(1),
        input: ready(2),
    })
}

fn send(mut lab: &UnixStream, message: &ToGuest) -> Result<(), SessionError> {
    lab.write_all(&message.encode())
        .map_err(|e| match e.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => SessionError::Gone,
            _ => SessionError::Io(e),
        })
}

fn write(out: &mut dyn Write, bytes: &[u8]) -> Result<(), SessionError> {
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(SessionError::Output)
}
