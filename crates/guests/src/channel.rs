//! The host's end of the channel to a guest.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::wire::{FromGuest, Hello, Report, Request};

/// Longest line that is read: both ends' reports of a socket test.
const LONGEST_LINE: usize = 16 << 20;
/// How often a wait looks whether it is still wanted.
const STEP: Duration = Duration::from_millis(200);

/// Why nothing came.
#[derive(Debug)]
pub enum Missed {
    /// The guest is gone.
    Gone(io::Error),
    /// Not in time.
    Late,
    /// Nobody waits any more.
    Stopped,
}

/// The host's end.
#[derive(Debug)]
pub struct Channel {
    stream: BufReader<UnixStream>,
    line: Vec<u8>,
    requests: u64,
}

impl Channel {
    /// The end of a channel whose other end QEMU has.
    ///
    /// # Errors
    /// When the kernel refuses time limits.
    pub fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(STEP))?;
        stream.set_write_timeout(Some(Duration::from_secs(5)))?;
        Ok(Self {
            stream: BufReader::new(stream),
            line: Vec::new(),
            requests: 0,
        })
    }

    /// Waits for the guest's hello; `stopped` says when nobody wants it any more.
    ///
    /// # Errors
    /// Why none came.
    pub fn hello(&mut self, limit: Duration, stopped: &dyn Fn() -> bool) -> Result<Hello, Missed> {
        let end = Instant::now() + limit;
        loop {
            if let FromGuest::Hello(hello) = self.next(end, stopped)? {
                return Ok(hello);
            }
        }
    }

    /// Asks for the guest's counters, after it has done some work.
    ///
    /// # Errors
    /// Why none came.
    pub fn after(
        &mut self,
        work: Option<Value>,
        limit: Duration,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Report, Missed> {
        self.requests += 1;
        let request = Request {
            number: self.requests,
            work,
        };
        let mut text = serde_json::to_string(&request).map_err(|e| Missed::Gone(e.into()))?;
        text.push('\n');
        let stream = self.stream.get_mut();
        stream.write_all(text.as_bytes()).map_err(Missed::Gone)?;
        let end = Instant::now() + limit;
        loop {
            // One that was given up on may still come in.
            if let FromGuest::Report(report) = self.next(end, stopped)?
                && report.number == self.requests
            {
                return Ok(report);
            }
        }
    }

    /// The next line that is understood; the console's noise is not on this port, but a guest
    /// that goes mad may write anything.
    fn next(&mut self, end: Instant, stopped: &dyn Fn() -> bool) -> Result<FromGuest, Missed> {
        loop {
            // A guest that never ends its line is not read for ever.
            let room = (LONGEST_LINE + 1).saturating_sub(self.line.len()) as u64;
            let mut stream = self.stream.by_ref().take(room);
            match stream.read_until(b'\n', &mut self.line) {
                Ok(0) => return Err(Missed::Gone(io::ErrorKind::UnexpectedEof.into())),
                Ok(_) => {
                    let line = std::mem::take(&mut self.line);
                    if line.ends_with(b"\n")
                        && let Ok(message) = serde_json::from_slice(&line)
                    {
                        return Ok(message);
                    }
                }
                // What was read so far stays in `line`.
                Err(e) if is_timeout(&e) => {}
                Err(e) => return Err(Missed::Gone(e)),
            }
            if stopped() {
                return Err(Missed::Stopped);
            }
            if Instant::now() >= end {
                return Err(Missed::Late);
            }
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    fn pair() -> (Channel, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Channel::new(ours).unwrap(), theirs)
    }

    #[test]
    fn other_lines_and_late_answers_are_passed_over() {
        let (mut channel, mut guest) = pair();
        guest
            .write_all(b"noise\n\xff\n{\"hello\":{\"release\":\"6.12\",\"cpus\":2,\"nics\":[],\"notes\":[]}}\n")
            .unwrap();
        let hello = channel.hello(LIMIT, &|| false).unwrap();
        assert_eq!((hello.release.as_str(), hello.cpus), ("6.12", 2));
        for number in [0, 7, 1] {
            let report = Report {
                number,
                ..Report::default()
            };
            let text = serde_json::to_string(&FromGuest::Report(report)).unwrap();
            writeln!(guest, "{text}").unwrap();
        }
        assert_eq!(channel.after(None, LIMIT, &|| false).unwrap().number, 1);
    }

    #[test]
    fn a_line_without_an_end_is_not_read_for_ever() {
        let (mut channel, mut guest) = pair();
        let writer = std::thread::spawn(move || {
            let piece = vec![b'x'; 1 << 20];
            while guest.write_all(&piece).is_ok() {}
        });
        let late = channel.hello(Duration::ZERO, &|| false);
        assert!(matches!(late, Err(Missed::Late)), "{late:?}");
        drop(channel);
        writer.join().unwrap();
    }

    #[test]
    fn waiting_ends() {
        let (mut channel, guest) = pair();
        assert!(matches!(
            channel.hello(Duration::ZERO, &|| false),
            Err(Missed::Late)
        ));
        assert!(matches!(
            channel.hello(LIMIT, &|| true),
            Err(Missed::Stopped)
        ));
        drop(guest);
        assert!(matches!(
            channel.hello(LIMIT, &|| false),
            Err(Missed::Gone(_))
        ));
        assert!(matches!(
            channel.after(None, LIMIT, &|| false),
            Err(Missed::Gone(_))
        ));
    }
}
