//! One command in the lab, from the host's side.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::wire::{CHUNK, Decoder, Message, Size, Start, ToGuest, ToHost, WireError};

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
    /// The command was started, and nothing more is heard of the CPUs.
    #[error("the lab stands still: one of its CPUs has not run for {} s, or its QEMU was stopped", .0.as_secs())]
    Still(Duration),
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
    /// Longest time after that without a sign of life of all the lab's CPUs.
    pub silence: Duration,
}

impl Session<'_> {
    /// Runs a command to its end.
    ///
    /// # Errors
    /// When it does not start, or the lab ends before it does.
    pub fn run(&mut self, lab: &UnixStream, start: Start) -> Result<Ended, SessionError> {
        send(lab, &ToGuest::Start(Box::new(start)))?;
        let mut decoder = Decoder::default();
        // When waiting is over: for its start, then for the next sign of life.
        let mut deadline = Instant::now() + self.limit;
        let mut started = false;
        // One chunk is under way at a time, so that a command that reads slowly fills nothing.
        let mut may_send = true;
        let mut input = self.input;
        loop {
            while let Some(message) = decoder.message::<ToHost>()? {
                match message {
                    ToHost::Started => {
                        started = true;
                        deadline = Instant::now() + self.silence;
                    }
                    ToHost::Alive => deadline = Instant::now() + self.silence,
                    ToHost::Refused(why) => return Err(SessionError::Refused(why)),
                    // Whoever reads slowly keeps us from listening.
                    ToHost::Output(bytes) => deadline += write(self.output, &bytes)?,
                    ToHost::Errors(bytes) => deadline += write(self.errors, &bytes)?,
                    ToHost::Took => may_send = true,
                    ToHost::Exited(code) => return Ok(Ended::Exited(code)),
                    ToHost::Signalled(number) => return Ok(Ended::Signalled(number)),
                }
            }
            let listen = input.filter(|_| started && may_send);
            let left = deadline.saturating_duration_since(Instant::now());
            let ready = wait(lab.as_fd(), self.wake, listen, left)?;
            // What has come already may be what is waited for.
            if left.is_zero() && !ready.lab {
                return Err(if started {
                    SessionError::Still(self.silence)
                } else {
                    SessionError::Late(self.limit)
                });
            }
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
    limit: Duration,
) -> Result<Ready, SessionError> {
    let mut fds = vec![
        PollFd::new(&lab, PollFlags::IN),
        PollFd::new(&wake, PollFlags::IN),
    ];
    fds.extend(input.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
    // What the kernel cannot count is for ever.
    let limit = Timespec::try_from(limit).ok();
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

/// Writes; the time it took.
fn write(out: &mut dyn Write, bytes: &[u8]) -> Result<Duration, SessionError> {
    let began = Instant::now();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(SessionError::Output)?;
    Ok(began.elapsed())
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::*;

    const SILENCE: Duration = Duration::from_secs(2);

    /// How a command ends for its caller, beside a guest that does as told.
    fn with_guest(guest: impl FnOnce(&dyn Fn(ToHost)) + Send) -> Result<Ended, SessionError> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (wake, _awake) = UnixStream::pair().unwrap();
        let start = Start {
            words: vec!["true".into()],
            environment: Vec::new(),
            directory: "/".into(),
            terminal: None,
        };
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut first = [0; 1];
                io::Read::read_exact(&mut theirs, &mut first).unwrap();
                // The caller may have had enough before the guest is done.
                guest(&|message| drop((&theirs).write_all(&message.encode())));
                let _ = io::copy(&mut &theirs, &mut io::sink());
            });
            let ended = Session {
                input: None,
                output: &mut Slow,
                errors: &mut io::sink(),
                wake: wake.as_fd(),
                events: &mut Vec::new,
                limit: SILENCE,
                silence: SILENCE,
            }
            .run(&ours, start);
            // The guest reads until then.
            ours.shutdown(std::net::Shutdown::Both).unwrap();
            ended
        })
    }

    /// Takes longer than the silence for the word `slow`.
    struct Slow;

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if bytes == b"slow" {
                sleep(SILENCE * 3 / 2);
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn signs_of_life_keep_a_command() {
        let ended = with_guest(|say| {
            say(ToHost::Started);
            for _ in 0..30 {
                sleep(SILENCE / 20);
                say(ToHost::Alive);
            }
            say(ToHost::Exited(7));
        });
        assert_eq!(ended.unwrap(), Ended::Exited(7));
    }

    #[test]
    fn a_slow_reader_is_no_silence() {
        let ended = with_guest(|say| {
            say(ToHost::Started);
            say(ToHost::Output(b"slow".to_vec()));
            sleep(SILENCE * 2);
            say(ToHost::Exited(0));
        });
        assert_eq!(ended.unwrap(), Ended::Exited(0));
    }

    #[test]
    fn one_that_has_not_started_is_late() {
        let ended = with_guest(|_| ());
        assert!(
            matches!(ended, Err(SessionError::Late(SILENCE))),
            "{ended:?}"
        );
    }

    #[test]
    fn output_is_no_sign_of_life_of_all_cpus() {
        let ended = with_guest(|say| {
            say(ToHost::Started);
            for _ in 0..30 {
                sleep(SILENCE / 20);
                say(ToHost::Output(b"x".to_vec()));
            }
        });
        assert!(
            matches!(ended, Err(SessionError::Still(SILENCE))),
            "{ended:?}"
        );
    }
}
