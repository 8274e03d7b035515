//! The channel that a host gives a guest: a socket in a container, a virtio port or vsock in a virtual
//! machine. Lines go both ways.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::vsock;

/// Longest answer in bytes.
const LONGEST: usize = 16 << 10;

/// A channel, opened.
#[derive(Debug)]
pub struct GuestChannel {
    /// A socket or a port; both are read and written alike.
    file: File,
    end: Instant,
    held: Vec<u8>,
}

impl GuestChannel {
    /// Opens the channel at `path`, or `vsock:CID` with that port. All that follows has to be over within
    /// `patience`.
    ///
    /// # Errors
    /// What the kernel says, or that `CID` is none.
    pub fn open(path: &Path, vsock_port: u32, patience: Duration) -> io::Result<Self> {
        Ok(Self {
            end: Instant::now() + patience,
            file: open(path, vsock_port)?,
            held: Vec::new(),
        })
    }

    /// Writes all of `text`.
    ///
    /// # Errors
    /// What the kernel says, or that it takes too long.
    pub fn write(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            self.wait(PollFlags::OUT)?;
            match self.file.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The next line, with its end.
    ///
    /// # Errors
    /// What the kernel says; that it takes too long, is too long, or nobody is there.
    pub fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut buffer = [0; 1024];
        loop {
            if let Some(end) = self.held.iter().position(|byte| *byte == b'\n') {
                return Ok(self.held.drain(..=end).collect());
            }
            if self.held.len() > LONGEST {
                return Err(io::Error::other("its answer is too long"));
            }
            self.wait(PollFlags::IN)?;
            match self.file.read(&mut buffer) {
                Ok(0) => return Err(io::Error::other("it has closed the channel")),
                Ok(count) => self.held.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn wait(&self, flags: PollFlags) -> io::Result<()> {
        let mut fds = [PollFd::from_borrowed_fd(self.file.as_fd(), flags)];
        let left = self.end.saturating_duration_since(Instant::now());
        let time = Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(&mut fds, Some(&time)) {
            Ok(0) => Err(ErrorKind::TimedOut.into()),
            // A port hangs up while nobody is at the host's end of it.
            Ok(_) if fds[0].revents() == PollFlags::HUP => {
                Err(io::Error::other("nobody is at its other end"))
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn open(path: &Path, vsock_port: u32) -> io::Result<File> {
    let stream = match path.to_str().and_then(|path| path.strip_prefix("vsock:")) {
        Some(cid) => {
            let no = |_| io::Error::other("no number of a machine; write vsock:2 for the host");
            // Setting it up is the same for all stream sockets.
            UnixStream::from(vsock::connect(cid.parse().map_err(no)?, vsock_port)?)
        }
        None if fs::metadata(path)?.file_type().is_socket() => UnixStream::connect(path)?,
        None => {
            let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
            let mut options = OpenOptions::new();
            options.read(true).write(true).custom_flags(nonblocking);
            return options.open(path);
        }
    };
    stream.set_nonblocking(true)?;
    Ok(OwnedFd::from(stream).into())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn lines_go_both_ways_and_silence_ends() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("guest.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let patience = Duration::from_millis(1);
        let mut channel = GuestChannel::open(&path, 0, patience).unwrap();
        let (mut host, _) = listener.accept().unwrap();
        channel.write("status\n").unwrap();
        let mut line = String::new();
        BufReader::new(&host).read_line(&mut line).unwrap();
        assert_eq!(line, "status\n");
        host.write_all(b"one\ntwo\n").unwrap();
        assert_eq!(channel.line().unwrap(), b"one\n");
        assert_eq!(channel.line().unwrap(), b"two\n");
        assert_eq!(channel.line().unwrap_err().kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn a_machine_without_a_number_is_refused() {
        let patience = Duration::from_millis(1);
        let error = GuestChannel::open(Path::new("vsock:host"), 1, patience).unwrap_err();
        assert!(error.to_string().starts_with("no number of a machine"));
    }
}
